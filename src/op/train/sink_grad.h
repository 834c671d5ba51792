// The gradient of attention's sinks, from the row stats and the deltas that the other gradients take; see
// shared/sink_grad.h.
#ifndef VKF_OP_SINK_GRAD_H
#define VKF_OP_SINK_GRAD_H

#include "op/operand.h"

typedef struct vkf__sink_grad_args {
    const char *label;
    vkf__span stats;  // (2, batch, kv_heads, q_len, heads / kv_heads) f32: maxima, then factors
    vkf__span deltas; // (batch, kv_heads, q_len, heads / kv_heads) f32
    vkf__span sinks;  // (heads) f32
    vkf__span out;    // the same
    uint32_t batch, heads, kv_heads, q_len;
    bool accumulate; // out += gradient, instead of out =
} vkf__sink_grad_args;
VKF_MUST_CHECK vkf_status vkf__emit_sink_grad(vkf__work *work, const vkf__sink_grad_args *args);

#endif
