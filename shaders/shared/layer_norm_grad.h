// The gradient of layer and RMS normalisation (shared/layer_norm.h) over the last dimension. With g = dout * weight and
// the normalised row n = (x - mean) / sqrt(variance + eps):
//   dx = (g - mean(g) - n * mean(g * n)) / sqrt(variance + eps)     (+ dx)
// and with RMS, where the mean of x is taken as 0, without mean(g). A row whose dout is all 0 gives 0, whatever x has.
// A workgroup or a subgroup takes a row. dx may alias dout or x.
//
// One build gives what a later pass needs for the gradient of the weight: the mean (0 with RMS) and
// 1 / sqrt(variance + eps) of every row. With these as well, the other would have five storage buffers.
#ifndef VKF_SHARED_LAYER_NORM_GRAD_H
#define VKF_SHARED_LAYER_NORM_GRAD_H

#include "types.h"

#define VKF_LAYER_NORM_GRAD_BINDING_X 1
#define VKF_LAYER_NORM_GRAD_BINDING_DX 2
#define VKF_LAYER_NORM_GRAD_BINDING_WEIGHT 3
#define VKF_LAYER_NORM_GRAD_BINDING_DOUT 4
#define VKF_NORM_STATS_BINDING_STATS 2 // (rows, 2), with NORM_STATS defined, after x

#define VKF_LAYER_NORM_GRAD_SPEC_RMS 1
#define VKF_NORM_STATS_SPEC_COUNT 2
#define VKF_LAYER_NORM_GRAD_SPEC_HAS_WEIGHT 2 // without NORM_STATS
#define VKF_LAYER_NORM_GRAD_SPEC_COUNT 3

struct vkf_layer_norm_grad_params {
    vkf_u32 rows;
    vkf_u32 dim;
    vkf_f32 eps;
    vkf_u32 accumulate; // 0: dx is not read
};
VKF_SHARED_SIZE(vkf_layer_norm_grad_params, 4)

#endif
