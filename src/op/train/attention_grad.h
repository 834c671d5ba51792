// Attention (attention.h) for training, with dropout of its weights, and its gradients with respect to queries, keys,
// values and a bias of scores. All is fused: memory grows with the lengths, not with their product. What the masks hide
// has no part in any gradient, and neither has a row that sees no key, whatever the rule for such rows.
#ifndef VKF_OP_ATTENTION_GRAD_H
#define VKF_OP_ATTENTION_GRAD_H

#include "op/attention.h"

// Dropout of the weights that are summed, once softmax has made them: out = sum of keep * weight / (1 - p) * value, as
// in PyTorch. What is kept follows from seed, stream, step and the weight's place in (batch, heads, q_len, k_len), see
// shared/attention_grad.h, so that it is drawn again on the way back.
typedef struct vkf__attention_dropout {
    float p; // 0 .. 1; 0: none
    uint64_t seed;
    uint32_t stream, step;
} vkf__attention_dropout;

typedef struct vkf__attention_train_args {
    vkf__attention_args forward; // without `weights` and `fresh`
    vkf__attention_dropout dropout;
    vkf__span row_stats; // gets what vkf__attention_grad_args takes; where the row is NaN, so is its maximum
} vkf__attention_train_args;

// Everything is f32. Takes heads of up to 256 elements. Statuses as of vkf__emit_attention_grad().
VKF_MUST_CHECK vkf_status vkf__emit_attention_train(vkf__work *work, const vkf__attention_train_args *args);

// Whether the row stats had better be left to the way back, which packs the operands that they are of anyway: of short
// sequences, where they go by themselves. The forward pass is then vkf__emit_attention(), and vkf__attention_grad_args
// has no row stats.
VKF_MUST_CHECK vkf_status vkf__attention_sums_later(vkf__work *work, const vkf__attention_train_args *args,
                                                    bool *out_later);

typedef struct vkf__attention_grad_args {
    const char *label;
    // As the forward pass took them, with `out` as it left it. `label`, `weights` and `fully_masked` do not matter, and
    // `fresh` is absent.
    vkf__attention_args forward;
    vkf__attention_dropout dropout; // as the forward pass took it
    vkf__heads_span dout;           // (batch, q_len, heads, v_head_dim)
    // Optional, each of its own: the gradients of q, k and v, shaped like these. They overlap no operand.
    vkf__heads_span dq, dk, dv;
    // Optional, f32, with a batch_stride of 0: what a bias gets that is added to the scores of every batch entry, as an
    // additive mask is. Rows are queries, of masks.cols keys.
    vkf__heads_span dbias;
    vkf__span dsinks; // optional, (heads) f32: the gradient of forward.masks.sinks
    // (2, batch, kv_heads, q_len, heads / kv_heads) f32: the highest score of each row, the maximum, then one over the
    // sum of exp(score - maximum), as the forward pass left them; any number and 0 for one that sees no key. Absent:
    // they are taken here.
    vkf__span row_stats;
    // Add to what the gradient holds; else that is not read.
    bool accumulate_q, accumulate_k, accumulate_v, accumulate_bias, accumulate_sinks;
} vkf__attention_grad_args;

// Everything is f32, but for keys and values, which may be bf16. Takes heads of up to 256 elements. Statuses:
// UNSUPPORTED for wider ones; TOO_LARGE where q, k, v and dout together have more than 2^32 - 1 elements, or of one
// head more bytes than one operand.
VKF_MUST_CHECK vkf_status vkf__emit_attention_grad(vkf__work *work, const vkf__attention_grad_args *args);

#endif
