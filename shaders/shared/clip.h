// By what gradients are multiplied in an optimiser's step, from the sums of squares of their tensors, x (count). These
// gradients are `scale` times too large (loss scaling), and inverse_scale is 1 / scale:
//   out[1] = norm = sqrt(sum of x) * inverse_scale
//   out[0] = min(1, max_norm / (norm + 1e-6)) * inverse_scale, as torch.nn.utils.clip_grad_norm_ has it
// max_norm 0 clips nothing. out[0] is 0 where the sum is not finite: optimisers then leave all as it is. One workgroup.
#ifndef VKF_SHARED_CLIP_H
#define VKF_SHARED_CLIP_H

#include "types.h"

#define VKF_CLIP_BINDING_X 1
#define VKF_CLIP_BINDING_OUT 2
#define VKF_CLIP_SPEC_COUNT 1

struct vkf_clip_params {
    vkf_u32 count;
    vkf_f32 max_norm;
    vkf_f32 inverse_scale;
};
VKF_SHARED_SIZE(vkf_clip_params, 3)

#endif
