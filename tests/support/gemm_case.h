// One matrix product on the device and by the reference.
#ifndef VKF_TESTS_GEMM_CASE_H
#define VKF_TESTS_GEMM_CASE_H

#include "support/op_fixture.h"

typedef struct vkf_test_gemm_case {
    uint32_t m, n, k;
    uint32_t batch; // 0: matrices of rank 2
    bool b_shared;  // b of rank 2 for the whole batch
    bool transpose_a, transpose_b;
    float alpha, beta;
    bool c, c_in_place; // c is the output itself
    bool bias;
    vkf_dtype bias_dtype; // where b is in blocks; else the bias is of b's type
    bool residual, residual_in_place;
    vkf_activation activation;
    // a is what blocks of signed bytes hold exactly: products by integer dot products round nothing more. So it is in
    // any case where b is in blocks and the device prefers these.
    bool bytes;
    bool packed; // b, a shared weight (n, k), is put into panels first; one in blocks lies so in any case
} vkf_test_gemm_case;

typedef struct vkf_test_gemm_types {
    vkf_dtype a, b, d;
} vkf_test_gemm_types;

// Runs the case on integers, or on uniform values of -1 .. 1, and compares it with the reference. What matrices round
// to 16 bits on their way comes on top of the tolerances. vkf_test_taken_kernel() tells the kernel afterwards.
void vkf_test_gemm_run(vkf_test_ops *ops, const vkf_test_gemm_types *types, const vkf_test_gemm_case *gemm,
                       bool integers, double atol, double rtol);

#endif
