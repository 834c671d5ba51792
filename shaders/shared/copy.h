// out[o, r, c] = alpha * x[o, r, c] + beta * out[o, r, c] with strides for o and r on both sides; converts between the
// storage types. alpha 0 does not read x, beta 0 does not read out, alpha 1 and beta 0 move values unchanged.
// One invocation per element, or per block of out.
#ifndef VKF_SHARED_COPY_H
#define VKF_SHARED_COPY_H

#include "types.h"

#define VKF_COPY_BINDING_X 1
#define VKF_COPY_BINDING_OUT 2
#define VKF_COPY_SPEC_COUNT 1

struct vkf_copy_params {
    vkf_u32 count; // outer * rows * cols; where out is in blocks, as many as that is
    vkf_u32 rows;
    vkf_u32 cols;
    vkf_u32 x_first;
    vkf_u32 x_outer; // strides in elements; 0 broadcasts
    vkf_u32 x_row;
    vkf_u32 out_first;
    vkf_u32 out_outer;
    vkf_u32 out_row;
    vkf_f32 alpha;
    vkf_f32 beta;
};
VKF_SHARED_SIZE(vkf_copy_params, 11)

#endif
