// Products of bytes: d[e, i, j] = sum over l of (a[e, i, l] - a_zero[i]) * (b[e, l, j] - b_zero[j]), modulo 2^32, which
// is exact where the sum fits 32 bits. It is stored as i32 or, with FLOAT, as f32: times a_scale[i] * b_scale[j], each
// of them 1 where it is absent.
//
// a is (batch, m, k) and b (batch, k, n), or (batch, n, k) with TRANSPOSE_B; their bytes are signed unless the
// constants say otherwise, and begin anywhere. Zeros, i32, and scales, f32, are words of one operand, because devices
// may bind no more than four; steps are 0 where all rows or columns have the same.
#ifndef VKF_SHARED_GEMM_INT8_H
#define VKF_SHARED_GEMM_INT8_H

#include "types.h"

#define VKF_GEMM_INT8_BINDING_A 1
#define VKF_GEMM_INT8_BINDING_B 2
#define VKF_GEMM_INT8_BINDING_D 3
#define VKF_GEMM_INT8_BINDING_VECTORS 4

#define VKF_GEMM_INT8_SPEC_TILE 1 // rows and columns of d that a workgroup computes, VKF_GEMM_INT8_EACH squared each
#define VKF_GEMM_INT8_SPEC_FLOAT 2
#define VKF_GEMM_INT8_SPEC_TRANSPOSE_B 3
#define VKF_GEMM_INT8_SPEC_A_UNSIGNED 4
#define VKF_GEMM_INT8_SPEC_B_UNSIGNED 5
#define VKF_GEMM_INT8_SPEC_A_ZERO 6 // whether there is one; the same below
#define VKF_GEMM_INT8_SPEC_B_ZERO 7
#define VKF_GEMM_INT8_SPEC_A_SCALE 8
#define VKF_GEMM_INT8_SPEC_B_SCALE 9
#define VKF_GEMM_INT8_SPEC_COUNT 10

#define VKF_GEMM_INT8_EACH 4 // rows, and columns, of an invocation

struct vkf_gemm_int8_params {
    vkf_u32 m;
    vkf_u32 n;
    vkf_u32 k;
    vkf_u32 batch;
    vkf_u32 b_batch; // bytes from one matrix of b to the next; 0: all share it
    vkf_u32 a_zero_first;
    vkf_u32 a_zero_step;
    vkf_u32 b_zero_first;
    vkf_u32 b_zero_step;
    vkf_u32 a_scale_first;
    vkf_u32 a_scale_step;
    vkf_u32 b_scale_first;
    vkf_u32 b_scale_step;
};
VKF_SHARED_SIZE(vkf_gemm_int8_params, 13)

#endif
