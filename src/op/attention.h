// Attention: out = softmax(scale * query key^T + masks) value. It is fused, with no matrix of scores in memory,
// wherever a kernel serves it. Where none does, or where the caller asks for the weights, it takes three steps.
#ifndef VKF_OP_ATTENTION_H
#define VKF_OP_ATTENTION_H

#include "op/softmax.h"

// An operand of shape (batch, length, heads, width); strides are in elements.
typedef struct vkf__heads_span {
    vkf__span span;
    uint32_t batch_stride;
    uint32_t row_stride;
    uint32_t head_stride;
} vkf__heads_span;

// Keys and values of the last q_len positions that are not among k and v yet. They lie in the rows of q, behind the
// queries, heads side by side, and with the queries they are still to be rotated, see op/rotary.h. Masks cover all keys
// then.
typedef struct vkf__fresh_keys {
    bool present;
    uint32_t k_first, v_first; // elements from a position's queries to its keys, and to its values
    uint32_t past;             // their first place in k and v
    vkf__span table;           // (positions, rotary_dim)
    uint32_t rotary_dim, first_position;
} vkf__fresh_keys;

typedef struct vkf__attention_args {
    const char *label;
    vkf__heads_span q, k, v, out;
    vkf__fresh_keys fresh;           // only where vkf__attention_takes_fresh() says so; k and v are written then
    vkf__span weights;               // optional, (batch, heads, q_len, k_len) f32: gets softmax(...)
    uint32_t batch, heads, kv_heads; // kv_heads divides heads: query head h reads key head h / (heads / kv_heads)
    uint32_t q_len, k_len, head_dim, v_head_dim;
    vkf__masks masks;
} vkf__attention_args;

VKF_MUST_CHECK vkf_status vkf__emit_attention(vkf__work *work, const vkf__attention_args *args);

// Whether the kernel that attention gets without args->fresh does with it what rotary embedding and the way to the
// cache would do before. To be asked at maximum sizes.
bool vkf__attention_takes_fresh(const vkf__work *work, const vkf__attention_args *args);

// The problem that a kernel is chosen for and measured on, at maximum sizes: m queries, n keys, heads of width k.
// `out_types` gets the types of q, of k and v, and of the output. Where the keys are divided among workgroups the
// output is parts of sums, in f32.
vkf__problem vkf__attention_problem(const vkf_context *context, const vkf__attention_args *args,
                                    vkf_dtype out_types[VKF_KERNEL_MAX_TYPES]);

// Into how many parts the keys are divided, at maximum sizes. Each part of a shorter run has so much fewer keys; parts
// without any have no weight in the sum.
uint32_t vkf__attention_splits(const vkf_context *context, const vkf__attention_args *args);

// The number of keys that a query sees under a causal mask (VKF_SHADER_CAUSAL_*) and a window, summed over the queries
// of one head. Lengths are not known, and count as k_len.
double vkf__visible_keys(uint32_t q_len, uint32_t k_len, uint32_t causal, int32_t causal_offset, uint32_t window);

// Emits scores, softmax and context as dispatches of their own. Scores and context are as many products each as query
// heads share a key head.
VKF_MUST_CHECK vkf_status vkf__emit_unfused_attention(vkf__work *work, const vkf__attention_args *args);

#endif
