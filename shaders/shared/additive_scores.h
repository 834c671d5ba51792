// out[b, t, s] = sum over a of v[a] * tanh(query[b, t, a] + key[b, s, a]); one invocation per score.
#ifndef VKF_SHARED_ADDITIVE_SCORES_H
#define VKF_SHARED_ADDITIVE_SCORES_H

#include "types.h"

#define VKF_ADDITIVE_BINDING_QUERY 1
#define VKF_ADDITIVE_BINDING_KEY 2
#define VKF_ADDITIVE_BINDING_V 3
#define VKF_ADDITIVE_BINDING_OUT 4
#define VKF_ADDITIVE_SPEC_COUNT 1

struct vkf_additive_params {
    vkf_u32 count; // batch * q_len * k_len
    vkf_u32 q_len;
    vkf_u32 k_len;
    vkf_u32 dim;
};
VKF_SHARED_SIZE(vkf_additive_params, 4)

#endif
