// out = (x - mean) / sqrt(variance + eps) * weight + bias over the last dimension. A workgroup or a subgroup takes a
// row. With RMS the mean is taken as 0: out = x / sqrt(mean(x^2) + eps) * weight + bias (Zhang & Sennrich 2019). One
// build has a residual, added before or after, which takes a fifth storage buffer; one has none. out may alias x.
#ifndef VKF_SHARED_LAYER_NORM_H
#define VKF_SHARED_LAYER_NORM_H

#include "types.h"

#define VKF_LAYER_NORM_BINDING_X 1
#define VKF_LAYER_NORM_BINDING_OUT 2
#define VKF_LAYER_NORM_BINDING_WEIGHT 3
#define VKF_LAYER_NORM_BINDING_BIAS 4
#define VKF_LAYER_NORM_BINDING_RESIDUAL 5 // with LAYER_NORM_RESIDUAL defined

#define VKF_LAYER_NORM_SPEC_HAS_WEIGHT 1
#define VKF_LAYER_NORM_SPEC_HAS_BIAS 2
#define VKF_LAYER_NORM_SPEC_RMS 3
#define VKF_LAYER_NORM_SPEC_EACH 4 // not 0: an invocation of the smallest subgroup keeps so many columns of a row
#define VKF_LAYER_NORM_SPEC_COUNT 5
#define VKF_LAYER_NORM_SPEC_RESIDUAL_AFTER 5 // with LAYER_NORM_RESIDUAL: 0 = before, 1 = after
#define VKF_LAYER_NORM_RESIDUAL_SPEC_COUNT 6

#define VKF_LAYER_NORM_MOST_EACH 16

struct vkf_layer_norm_params {
    vkf_u32 rows;
    vkf_u32 dim;
    vkf_u32 out_row; // elements from one row of out to the next
    vkf_f32 eps;
};
VKF_SHARED_SIZE(vkf_layer_norm_params, 4)

#endif
