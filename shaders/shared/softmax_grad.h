// dx = scale * y * (dout - sum(y * dout)) over the last dimension of (rows, cols): the gradient of softmax(scale * x),
// whose result is y. Where y is 0, as behind a mask, dout counts for nothing and dx is 0. A workgroup or a subgroup
// takes a row. dx may alias dout or y.
#ifndef VKF_SHARED_SOFTMAX_GRAD_H
#define VKF_SHARED_SOFTMAX_GRAD_H

#include "types.h"

#define VKF_SOFTMAX_GRAD_BINDING_Y 1
#define VKF_SOFTMAX_GRAD_BINDING_DX 2
#define VKF_SOFTMAX_GRAD_BINDING_DOUT 3

#define VKF_SOFTMAX_GRAD_SPEC_COUNT 1

struct vkf_softmax_grad_params {
    vkf_u32 rows;
    vkf_u32 cols;
    vkf_f32 scale;
};
VKF_SHARED_SIZE(vkf_softmax_grad_params, 3)

#endif
