// out = activation(x), element by element. The elements count as one row, of which a workgroup takes VKF_PART_EACH for
// each of its invocations. out may be x.
#ifndef VKF_SHARED_ACTIVATION_H
#define VKF_SHARED_ACTIVATION_H

#include "types.h"

#define VKF_ACTIVATION_BINDING_X 1
#define VKF_ACTIVATION_BINDING_OUT 2

#define VKF_ACTIVATION_SPEC_ACTIVATION 1 // a VKF_SHADER_ACTIVATION_*
#define VKF_ACTIVATION_SPEC_COUNT 2

struct vkf_activation_params {
    vkf_u32 count;
    vkf_f32 alpha; // the slope of LEAKY_RELU, the alpha of ELU
};
VKF_SHARED_SIZE(vkf_activation_params, 2)

#endif
