// Matrix products of bytes with zeros and scales; shared/gemm_int8.h says what they are.
#ifndef VKF_OP_GEMM_INT8_H
#define VKF_OP_GEMM_INT8_H

#include "op/operand.h"

// A zero or a scale of each row of a or column of b, or of all of them: words of vkf__gemm_int8_args.vectors.
typedef struct vkf__int8_vector {
    bool present;
    bool each;
    uint32_t first;
} vkf__int8_vector;

typedef struct vkf__gemm_int8_args {
    const char *label;
    vkf__span a;       // (batch, m, k) I8 or U8
    vkf__span b;       // (batch, k, n), or (batch, n, k) with transpose_b; I8 or U8
    vkf__span d;       // (batch, m, n) I32, without scales, or F32
    vkf__span vectors; // I32: zeros as integers, scales as the bits of floats
    vkf__int8_vector a_zero, b_zero, a_scale, b_scale;
    uint32_t m, n, k;
    uint32_t batch; // 0 or m == 0 skips the product in this run
    bool b_shared;  // one b for all
    bool transpose_b;
} vkf__gemm_int8_args;

VKF_MUST_CHECK vkf_status vkf__emit_gemm_int8(vkf__work *work, const vkf__gemm_int8_args *args);

#endif
