// out[i] = factor * (sum of part i of x) + beta * out[i], or the sum of its squares. A part has `part` elements, the
// last one what is left; a workgroup takes a part. beta 0 does not read out. The order of the sum depends on the local
// size alone, so that the same numbers have the same sum in every run.
#ifndef VKF_SHARED_TOTAL_H
#define VKF_SHARED_TOTAL_H

#include "types.h"

#define VKF_TOTAL_BINDING_X 1
#define VKF_TOTAL_BINDING_OUT 2

#define VKF_TOTAL_SPEC_SQUARES 1
#define VKF_TOTAL_SPEC_COUNT 2

#define VKF_TOTAL_PART 16384 // elements of a part, where there are several

struct vkf_total_params {
    vkf_u32 count; // of x
    vkf_u32 part;
    vkf_u32 parts;
    vkf_f32 factor;
    vkf_f32 beta;
};
VKF_SHARED_SIZE(vkf_total_params, 5)

#endif
