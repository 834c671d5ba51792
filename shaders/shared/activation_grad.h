// dx = dout * activation'(x), element by element; with accumulate, dx += that. The derivative of ReLU at 0 is 0. The
// elements count as one row, of which a workgroup takes VKF_PART_EACH for each of its invocations. dx may be x or dout
// unless it accumulates.
#ifndef VKF_SHARED_ACTIVATION_GRAD_H
#define VKF_SHARED_ACTIVATION_GRAD_H

#include "types.h"

#define VKF_ACTIVATION_GRAD_BINDING_X 1
#define VKF_ACTIVATION_GRAD_BINDING_DOUT 2
#define VKF_ACTIVATION_GRAD_BINDING_DX 3

#define VKF_ACTIVATION_GRAD_SPEC_ACTIVATION 1 // a VKF_SHADER_ACTIVATION_*
#define VKF_ACTIVATION_GRAD_SPEC_COUNT 2

struct vkf_activation_grad_params {
    vkf_u32 count;
    vkf_u32 accumulate; // 0: what dx held is not read
};
VKF_SHARED_SIZE(vkf_activation_grad_params, 2)

#endif
