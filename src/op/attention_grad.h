// Gradients of attention (attention.h) with respect to queries, keys and values, fused as the forward pass is: memory
// grows with the lengths, not with their product. What the masks hide has no part in any gradient, and neither has a
// row that sees no key, whatever the rule for such rows.
#ifndef VKF_OP_ATTENTION_GRAD_H
#define VKF_OP_ATTENTION_GRAD_H

#include "op/attention.h"

typedef struct vkf__attention_grad_args {
    const char *label;
    // As the forward pass took them, with `out` as it left it. `label`, `weights` and `fully_masked` do not matter, and
    // `fresh` is absent.
    vkf__attention_args forward;
    vkf__heads_span dout; // (batch, q_len, heads, v_head_dim)
    // Optional, each of its own: the gradients of q, k and v, shaped like these. They overlap no operand.
    vkf__heads_span dq, dk, dv;
    // Optional, (batch, kv_heads, q_len, heads / kv_heads) f32: log(sum of exp(score)) of each row; any number for one
    // that sees no key. Absent: they are computed again.
    vkf__span log_sums;
    bool accumulate_q, accumulate_k, accumulate_v; // add to what the gradient holds; else that is not read
} vkf__attention_grad_args;

// Everything is f32. Takes heads of up to 256 elements. Statuses: UNSUPPORTED for wider ones; TOO_LARGE where q, k, v
// and dout together have more than 2^32 - 1 elements or more bytes than one operand.
VKF_MUST_CHECK vkf_status vkf__emit_attention_grad(vkf__work *work, const vkf__attention_grad_args *args);

#endif
