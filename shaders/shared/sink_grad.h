// What each row of attention adds to the gradient of its head's sink (attention_grad.h): a sink is a score whose value
// is zeros, so that ds = -p * delta, with its weight p = exp(sink - maximum) * factor. Rows of stats are ordered
// (batch, kv_heads, q_len, heads / kv_heads), those of out (batch, q_len, heads).
#ifndef VKF_SHARED_SINK_GRAD_H
#define VKF_SHARED_SINK_GRAD_H

#include "types.h"

#define VKF_SINK_GRAD_BINDING_STATS 1 // the maxima, then the factors
#define VKF_SINK_GRAD_BINDING_OUT 2
#define VKF_SINK_GRAD_BINDING_DELTAS 3
#define VKF_SINK_GRAD_BINDING_SINKS 4

#define VKF_SINK_GRAD_SPEC_COUNT 1

struct vkf_sink_grad_params {
    vkf_u32 count; // rows
    vkf_u32 heads;
    vkf_u32 kv_heads;
    vkf_u32 q_len;
};
VKF_SHARED_SIZE(vkf_sink_grad_params, 4)

#endif
