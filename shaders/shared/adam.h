// A step of Adam (Kingma, Ba 2015) or AdamW (Loshchilov, Hutter 2019) in place, as torch.optim has them, of an element
// w with gradient g and moments (m, v):
//   g = factor * gradient + penalty * w
//   w = w - decay * w
//   m = beta1 * m + rest1 * g
//   v = beta2 * v + rest2 * g^2
//   w = w - rate * m / (sqrt(v) * root + eps)
// A factor of 0 leaves w, m and v as they are. The gradient is 0 afterwards, in either case: the next step's terms are
// added to it. One invocation per element.
#ifndef VKF_SHARED_ADAM_H
#define VKF_SHARED_ADAM_H

#include "types.h"

#define VKF_ADAM_BINDING_PARAMETER 1
#define VKF_ADAM_BINDING_GRADIENT 2
#define VKF_ADAM_BINDING_MOMENTS 3 // (count, 2)
#define VKF_ADAM_BINDING_FACTOR 4  // (1)
#define VKF_ADAM_SPEC_COUNT 1

struct vkf_adam_params {
    vkf_u32 count;
    vkf_f32 penalty; // of Adam: the weight decay
    vkf_f32 decay;   // of AdamW: the learning rate times the weight decay
    vkf_f32 beta1;
    vkf_f32 rest1; // 1 - beta1, which float arithmetic would get wrong in the fifth digit
    vkf_f32 beta2;
    vkf_f32 rest2; // 1 - beta2
    vkf_f32 rate;  // the learning rate / (1 - beta1^step)
    vkf_f32 root;  // 1 / sqrt(1 - beta2^step)
    vkf_f32 eps;
};
VKF_SHARED_SIZE(vkf_adam_params, 10)

#endif
