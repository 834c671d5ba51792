// A step of stochastic gradient descent in place, as torch.optim.SGD has it without dampening, of an element w with
// gradient g and momentum b:
//   g = factor * gradient + penalty * w
//   b = momentum * b + g
//   w = w - rate * (nesterov ? g + momentum * b : b)
// Without HAS_MOMENTUM b is g. A factor of 0 leaves w and b as they are. The gradient is 0 afterwards, in either case:
// the next step's terms are added to it. One invocation per element.
#ifndef VKF_SHARED_SGD_H
#define VKF_SHARED_SGD_H

#include "types.h"

#define VKF_SGD_BINDING_PARAMETER 1
#define VKF_SGD_BINDING_GRADIENT 2
#define VKF_SGD_BINDING_MOMENTUM 3
#define VKF_SGD_BINDING_FACTOR 4 // (1)

#define VKF_SGD_SPEC_HAS_MOMENTUM 1
#define VKF_SGD_SPEC_COUNT 2

struct vkf_sgd_params {
    vkf_u32 count;
    vkf_f32 rate;
    vkf_f32 penalty; // the weight decay
    vkf_f32 momentum;
    vkf_u32 nesterov;
};
VKF_SHARED_SIZE(vkf_sgd_params, 5)

#endif
