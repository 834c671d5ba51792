// Masked softmax: out = softmax(scale * x + masks) over rows of (batch, heads, q_len, k_len).
#ifndef VKF_OP_SOFTMAX_H
#define VKF_OP_SOFTMAX_H

#include "op/operand.h"

// The type in which masks of a kind are stored.
vkf_dtype vkf__mask_dtype(vkf_mask_kind kind);

typedef struct vkf__softmax_args {
    const char *label;
    vkf__span x;
    vkf__span out; // may be x
    vkf__span mask;
    vkf__span key_mask;
    vkf_mask_kind mask_kind;
    vkf_mask_kind key_mask_kind;
    uint32_t batch, heads, q_len, k_len;
    uint32_t mask_cols;                       // keys that the masks cover; those after them are always visible
    uint32_t mask_batch, mask_head, mask_row; // strides in elements; 0 broadcasts
    uint32_t key_mask_batch;
    bool causal;
    int32_t causal_offset; // key s is visible to query l when s <= l + causal_offset
    uint32_t window;       // 0: unlimited
    float scale;
    vkf_fully_masked fully_masked;
} vkf__softmax_args;
VKF_MUST_CHECK vkf_status vkf__emit_softmax(vkf__work *work, const vkf__softmax_args *args);

#endif
