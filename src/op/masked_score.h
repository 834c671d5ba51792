// The scores of softmax and attention under their masks: as references have them, and as cases draw them.
// shared/softmax.h says which keys a query sees.
#ifndef VKF_OP_MASKED_SCORE_H
#define VKF_OP_MASKED_SCORE_H

#include "op/cases.h"
#include "op/execution.h"
#include "op/softmax.h"

// Masks of a dispatch. The bindings are those of the operator.
typedef struct vkf__score_masks {
    uint32_t binding, key_binding;
    uint32_t kind, key_kind;                    // VKF_SHADER_MASK_*
    uint32_t cols, batch, head, row, key_batch; // as in vkf_softmax_params
    uint32_t slopes_binding, sinks_binding;
    uint32_t causal; // VKF_SHADER_CAUSAL_*
    bool windowed;
    uint32_t form; // VKF_SHADER_SCORE_*
    int32_t causal_offset, distance_offset;
    uint32_t window;
    float soft_cap, scale;
} vkf__score_masks;

// Those of an operator, OP, whose dispatch is executed with the parameters p.
#define VKF_SCORE_MASKS(OP, e, p)                                                                            \
    (vkf__score_masks)                                                                                       \
    {                                                                                                        \
        .binding = VKF_##OP##_BINDING_MASK, .key_binding = VKF_##OP##_BINDING_KEY_MASK,                      \
        .slopes_binding = VKF_##OP##_BINDING_SLOPES, .sinks_binding = VKF_##OP##_BINDING_SINKS,              \
        .kind = (e)->spec[VKF_##OP##_SPEC_MASK_KIND], .key_kind = (e)->spec[VKF_##OP##_SPEC_KEY_MASK_KIND],  \
        .form = (e)->spec[VKF_##OP##_SPEC_SCORE_FORM], .causal = (e)->spec[VKF_##OP##_SPEC_CAUSAL],          \
        .windowed = (e)->spec[VKF_##OP##_SPEC_WINDOW], .cols = (p)->mask_cols, .batch = (p)->mask_batch,     \
        .head = (p)->mask_head, .row = (p)->mask_row, .key_batch = (p)->key_mask_batch,                      \
        .causal_offset = (p)->causal_offset, .distance_offset = (p)->distance_offset, .window = (p)->window, \
        .soft_cap = (p)->soft_cap, .scale = (p)->scale,                                                      \
    }

// The scaled, capped and masked score of key s for a query; -infinity where it is masked. Masks are added in float32,
// as kernels and PyTorch do: beside -1e30 a score is nothing.
double vkf__masked_score(const vkf__execution *e, const vkf__score_masks *masks, uint64_t b, uint64_t h, uint64_t l,
                         uint64_t s, double x);

// The score of a head's sink; -infinity without one.
double vkf__sink(const vkf__execution *e, const vkf__score_masks *masks, uint64_t h);

// What the cap multiplies the gradient of a product by, whose score it is.
double vkf__cap_slope(const vkf__score_masks *masks, double x);

// What a gradient of an additive mask is multiplied by.
double vkf__mask_slope(const vkf__execution *e, const vkf__score_masks *masks, uint64_t h);

// The weight of each key in a row that sees none; `rule` is a VKF_SHADER_FULLY_MASKED_*.
double vkf__fully_masked_weight(uint32_t rule, uint32_t k_len);

// The specialisation constants that say of which kind masks are.
typedef struct vkf__mask_constants {
    uint32_t kind, key_kind, causal, window, form, fully_masked;
} vkf__mask_constants;

// Masks, caps, slopes and sinks for scores (batch, heads, q_len, k_len): of the edge shapes, lengths and a causal one
// with this offset. `all`: they cover all keys, where drawn ones may leave out the last.
void vkf__case_draw_masks(vkf__cases *cases, const vkf__mask_constants *ids, const uint32_t scores[4], bool all,
                          int32_t causal_offset, vkf__masks *out);

#endif
