// Masked softmax: out = softmax(scale * x + masks) over rows of (batch, heads, q_len, k_len).
#ifndef VKF_OP_SOFTMAX_H
#define VKF_OP_SOFTMAX_H

#include "op/operand.h"
#include "shared/types.h"

// The type in which masks of a kind are stored.
vkf_dtype vkf__mask_dtype(vkf_mask_kind kind);

// What becomes of scores (batch, heads, q_len, k_len) between the products that they are and their softmax.
typedef struct vkf__masks {
    vkf__span mask;
    vkf__span key_mask;
    vkf__span slopes; // optional, (heads) f32: see vkf_sdpa_desc
    vkf__span sinks;  // the same
    vkf_mask_kind kind;
    vkf_mask_kind key_kind;
    uint32_t cols;             // keys that the masks cover; those after them are always visible
    uint32_t batch, head, row; // strides of the mask in elements; 0 broadcasts
    uint32_t key_batch;        // of the key mask
    uint32_t causal;           // VKF_SHADER_CAUSAL_*, or 0
    int32_t causal_offset;     // key s is visible to query l when s <= l + causal_offset
    uint32_t window;           // and s + window > l + causal_offset; 0: unlimited
    int32_t distance_offset;   // slopes, without an additive mask, take |s - l - distance_offset|
    float soft_cap;            // 0: none
    float scale;
    vkf_fully_masked fully_masked;
} vkf__masks;

// What the masks make of the constants and the parameters of softmax, attention and its gradients, OP.
#define VKF_MASK_FLAGS(OP, masks)                                                                              \
    [VKF_##OP##_SPEC_MASK_KIND] = (uint32_t)(masks)->kind,                                                     \
    [VKF_##OP##_SPEC_KEY_MASK_KIND] = (uint32_t)(masks)->key_kind, [VKF_##OP##_SPEC_CAUSAL] = (masks)->causal, \
    [VKF_##OP##_SPEC_WINDOW] = (masks)->window > 0, [VKF_##OP##_SPEC_SCORE_FORM] = vkf__score_form(masks)
// Without a causal mask and a window every key is visible, and this offset says so to the account.
#define VKF_MASK_PARAMS(masks, k_len)                                                                               \
    .mask_cols = (masks)->cols, .mask_batch = (masks)->batch, .mask_head = (masks)->head, .mask_row = (masks)->row, \
    .key_mask_batch = (masks)->key_batch,                                                                           \
    .causal_offset = (masks)->causal || (masks)->window > 0 ? (masks)->causal_offset : (int32_t)(k_len),            \
    .window = (masks)->window, .distance_offset = (masks)->distance_offset, .soft_cap = (masks)->soft_cap,          \
    .scale = (masks)->scale
// As they are bound.
#define VKF_MASK_BINDINGS(masks)                                                  \
    {(masks)->mask, false}, {(masks)->key_mask, false}, {(masks)->slopes, false}, \
    {                                                                             \
        (masks)->sinks, false                                                     \
    }

// Where queries stand among the keys: query l at key `first` + l, or at so much more as its batch entry has keys.
typedef struct vkf__own_positions {
    int64_t first;
    uint32_t q_len, k_len;
    bool behind_lengths;
} vkf__own_positions;

// Those of a mask over all keys, whose queries would begin at key `first` by themselves.
vkf__own_positions vkf__own_positions_of(vkf_causal causal, uint32_t first, uint32_t q_len, uint32_t k_len);

// Sets `causal` and offsets to a window: a query sees keys up to `right` beyond its own position, with `window` only so
// many of them up to there, and with neither, unless it is causal, all of them.
void vkf__place_window(const vkf__own_positions *own, bool causal, uint32_t window, uint32_t right, vkf__masks *masks);

// VKF_SHADER_SCORE_*
uint32_t vkf__score_form(const vkf__masks *masks);

typedef struct vkf__softmax_args {
    const char *label;
    vkf__span x;
    vkf__span out; // may be x
    uint32_t batch, heads, q_len, k_len;
    vkf__masks masks;
    bool logarithm; // of the softmax
} vkf__softmax_args;
VKF_MUST_CHECK vkf_status vkf__emit_softmax(vkf__work *work, const vkf__softmax_args *args);

#endif
