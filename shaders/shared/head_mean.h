// out[b, i] = mean over h of x[b, h, i]: attention weights averaged over heads. One invocation per output element.
#ifndef VKF_SHARED_HEAD_MEAN_H
#define VKF_SHARED_HEAD_MEAN_H

#include "types.h"

#define VKF_HEAD_MEAN_BINDING_X 1
#define VKF_HEAD_MEAN_BINDING_OUT 2
#define VKF_HEAD_MEAN_SPEC_COUNT 1

struct vkf_head_mean_params {
    vkf_u32 count; // batch * plane
    vkf_u32 heads;
    vkf_u32 plane; // q_len * k_len
};
VKF_SHARED_SIZE(vkf_head_mean_params, 3)

#endif
