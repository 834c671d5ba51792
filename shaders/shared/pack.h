// out = x in panels: (ceil(cols / panel), depth, panel), the columns beyond cols being zeros. x[col, d] lies at
// col * x_col + d * x_depth, so that a Linear's weight (n, k), a matrix (k, n) and activations (m, k) all pack.
// There is one invocation per VKF_PACK_RUN elements of out; further ones do nothing. VKF_PACK_RUN divides panel, and
// out begins at an even element of its buffer.
#ifndef VKF_SHARED_PACK_H
#define VKF_SHARED_PACK_H

#include "types.h"

#define VKF_PACK_BINDING_X 1
#define VKF_PACK_BINDING_OUT 2
#define VKF_PACK_SPEC_COUNT 1

#define VKF_PACK_RUN 8u

struct vkf_pack_params {
    vkf_u32 count; // elements of out
    vkf_u32 cols;
    vkf_u32 depth;
    vkf_u32 panel;
    vkf_u32 x_col; // strides in elements
    vkf_u32 x_depth;
};
VKF_SHARED_SIZE(vkf_pack_params, 6)

#endif
