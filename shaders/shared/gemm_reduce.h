// d = activation(alpha * sum over s of x[s] + beta * d + bias), or with beta * d after the activation: the second step
// of a matrix product whose k was cut (VKF_GEMM_SPEC_SPLIT). x is f32 (splits, batch, m, n). One invocation per element
// of d.
#ifndef VKF_SHARED_GEMM_REDUCE_H
#define VKF_SHARED_GEMM_REDUCE_H

#include "types.h"

#define VKF_GEMM_REDUCE_BINDING_X 1
#define VKF_GEMM_REDUCE_BINDING_D 2 // read when beta is not 0, then written
#define VKF_GEMM_REDUCE_BINDING_BIAS 3

#define VKF_GEMM_REDUCE_SPEC_ACTIVATION 1
#define VKF_GEMM_REDUCE_SPEC_HAS_BIAS 2
#define VKF_GEMM_REDUCE_SPEC_ADD_AFTER 3 // 1: beta * d is a residual, added after the activation
#define VKF_GEMM_REDUCE_SPEC_COUNT 4

struct vkf_gemm_reduce_params {
    vkf_u32 count; // batch * m * n
    vkf_u32 splits;
    vkf_u32 m;
    vkf_u32 n;
    vkf_u32 batch_inner; // >= 1
    vkf_u32 ldd;         // strides of d in elements, as in vkf_gemm_params
    vkf_u32 d_first;
    vkf_u32 d_outer;
    vkf_u32 d_inner;
    vkf_f32 alpha;
    vkf_f32 beta; // 0: d is not read
};
VKF_SHARED_SIZE(vkf_gemm_reduce_params, 11)

#endif
