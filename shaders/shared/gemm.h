// d = activation(alpha * op(a) op(b) + beta * d + bias), or activation(alpha * op(a) op(b) + bias) + beta * d, over a
// batch of outer * inner matrices: entry e is (e / batch_inner, e % batch_inner), and outer and inner each have a
// stride. So heads are read and written where they lie in (B, L, H * D), without a pass that permutes them.
//
// Kernels for a few rows also do what a decoder layer has before and after such a product:
//   with NORM   each row of a is normalised first, as layer_norm.h has it, with RMS or without. Weight and bias of the
//               norm, (k) each, lie in one operand with the bias. RMS only has a weight, and the factor of a row is
//               applied to its sums.
//   with GATE   b has the columns of two matrices, n / 2 each, and d has n / 2 columns:
//               activation(alpha * op(a) b1 + bias1) * (alpha * op(a) b2 + bias2); beta is 0.
#ifndef VKF_SHARED_GEMM_H
#define VKF_SHARED_GEMM_H

#include "types.h"

#define VKF_GEMM_BINDING_A 1
#define VKF_GEMM_BINDING_B 2
#define VKF_GEMM_BINDING_D 3    // read when beta is not 0, then written
#define VKF_GEMM_BINDING_BIAS 4 // with NORM also what the norm multiplies by and adds

#define VKF_GEMM_SPEC_TILE_M 1      // rows of d per workgroup
#define VKF_GEMM_SPEC_TILE_N 2      // columns of d per workgroup
#define VKF_GEMM_SPEC_TILE_K 3      // depth of the shared-memory tiles
#define VKF_GEMM_SPEC_THREAD_M 4    // rows per invocation
#define VKF_GEMM_SPEC_THREAD_N 5    // columns per invocation
#define VKF_GEMM_SPEC_TRANSPOSE_A 6 // 1: a is stored (k, m)
#define VKF_GEMM_SPEC_B_LAYOUT 7    // VKF_GEMM_B_*
#define VKF_GEMM_SPEC_ACTIVATION 8
#define VKF_GEMM_SPEC_HAS_BIAS 9
#define VKF_GEMM_SPEC_ADD_AFTER 10 // 1: beta * d is a residual, added after the activation
#define VKF_GEMM_SPEC_SPLIT 11     // 1: k is cut among workgroups, d gets plain sums
#define VKF_GEMM_SPEC_COUNT 11     // of kernels without SPLIT
#define VKF_GEMM_SPLIT_SPEC_COUNT 12
#define VKF_GEMM_SPEC_GATE 12           // 1: see above
#define VKF_GEMM_SPEC_NORM 13           // VKF_GEMM_NORM_*
#define VKF_GEMM_FEW_ROWS_SPEC_COUNT 14 // of kernels with GATE and NORM, which have no SPLIT

#define VKF_GEMM_B_KN 0     // b is stored (k, n)
#define VKF_GEMM_B_NK 1     // (n, k), as PyTorch keeps Linear weights
#define VKF_GEMM_B_PANELS 2 // (ceil(n / PANEL), k, PANEL), the columns beyond n being zeros
#define VKF_GEMM_PANEL 32u

// The kind of norm, and the type of its weight and bias. Kernels of weights in blocks go by the type, and the others
// read them as b.
#define VKF_GEMM_NORM_NONE 0
#define VKF_GEMM_NORM_RMS_F32 1
#define VKF_GEMM_NORM_RMS_F16 2
#define VKF_GEMM_NORM_LAYER_F32 3
#define VKF_GEMM_NORM_LAYER_F16 4

#define VKF_GEMM_HALF_RUN 64u // products that kernels with sums in f16 add up before these go to sums in f32, at most

#define VKF_GEMM_SPLIT_STEP 32u // divides the depth of a part: whole blocks, and whole tiles of matrices

// All strides in elements.
struct vkf_gemm_params {
    vkf_u32 m;
    vkf_u32 n;
    vkf_u32 k;
    vkf_u32 batch;
    vkf_u32 batch_inner; // >= 1
    vkf_u32 lda;         // between rows as stored
    vkf_u32 ldb;
    vkf_u32 ldd;
    vkf_u32 a_outer;
    vkf_u32 a_inner;
    vkf_u32 b_outer;
    vkf_u32 b_inner;
    vkf_u32 d_first; // where d begins: a position in a key/value cache, or a slice
    vkf_u32 d_outer;
    vkf_u32 d_inner;
    vkf_u32 a_first;
    vkf_f32 alpha;
    vkf_f32 beta;    // 0: d is not read
    vkf_u32 splits;  // parts that k is cut into, >= 1
    vkf_u32 split_k; // depth of each, but for the last
    vkf_u32 d_n;     // columns of d: n, or half of it with GATE
    vkf_f32 norm_eps;
    vkf_u32 bias_first; // where in their operand the bias, and the norm's weight and bias begin
    vkf_u32 norm_weight_first;
    vkf_u32 norm_bias_first;
};
VKF_SHARED_SIZE(vkf_gemm_params, 25)

#endif
