// out[b, c, r, d] = x[b, r, c, d]: heads split (r = L, c = H) and merged (r = H, c = L). One invocation per element.
#ifndef VKF_SHARED_PERMUTE_H
#define VKF_SHARED_PERMUTE_H

#include "types.h"

#define VKF_PERMUTE_BINDING_X 1
#define VKF_PERMUTE_BINDING_OUT 2
#define VKF_PERMUTE_SPEC_COUNT 1

struct vkf_permute_params {
    vkf_u32 count; // elements in all
    vkf_u32 rows;
    vkf_u32 cols;
    vkf_u32 depth;
};
VKF_SHARED_SIZE(vkf_permute_params, 4)

#endif
