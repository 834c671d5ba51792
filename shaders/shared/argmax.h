// out[row * out_stride + out_first] = index of the largest of x[row, :], the lowest or the highest among equals. A
// workgroup takes a row.
#ifndef VKF_SHARED_ARGMAX_H
#define VKF_SHARED_ARGMAX_H

#include "types.h"

#define VKF_ARGMAX_BINDING_X 1
#define VKF_ARGMAX_BINDING_OUT 2 // i32
#define VKF_ARGMAX_SPEC_COUNT 1

struct vkf_argmax_params {
    vkf_u32 rows;
    vkf_u32 cols;
    vkf_u32 out_stride;
    vkf_u32 out_first;
    vkf_u32 last; // the highest index among equals; 0: the lowest
};
VKF_SHARED_SIZE(vkf_argmax_params, 5)

#endif
