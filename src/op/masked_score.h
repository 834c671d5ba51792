// The scores of softmax and attention under their masks: as references have them, and as cases draw them.
// shared/softmax.h says which keys a query sees.
#ifndef VKF_OP_MASKED_SCORE_H
#define VKF_OP_MASKED_SCORE_H

#include <vkformer/op.h>

#include "op/cases.h"
#include "op/execution.h"

// Masks of a dispatch. The bindings are those of the operator.
typedef struct vkf__score_masks {
    uint32_t binding, key_binding;
    uint32_t kind, key_kind;                    // VKF_SHADER_MASK_*
    uint32_t cols, batch, head, row, key_batch; // as in vkf_softmax_params
    bool causal, windowed;
    int32_t causal_offset;
    uint32_t window;
    float scale;
} vkf__score_masks;

// The scaled and masked score of key s for a query; -infinity where it is masked. Masks are added in float32, as
// kernels and PyTorch do: beside -1e30 a score is nothing.
double vkf__masked_score(const vkf__execution *e, const vkf__score_masks *masks, uint64_t b, uint64_t h, uint64_t l,
                         uint64_t s, double x);

// The weight of each key in a row that sees none; `rule` is a VKF_SHADER_FULLY_MASKED_*.
double vkf__fully_masked_weight(uint32_t rule, uint32_t k_len);

// The masks of a case, as emitters take them.
typedef struct vkf__case_masks {
    vkf__span mask, key_mask;
    vkf_mask_kind mask_kind, key_mask_kind;
    uint32_t mask_cols, mask_batch, mask_head, mask_row, key_mask_batch;
    bool causal;
    int32_t causal_offset;
    uint32_t window;
    vkf_fully_masked fully_masked;
} vkf__case_masks;

// The specialisation constants that say of which kind masks are.
typedef struct vkf__mask_constants {
    uint32_t kind, key_kind, causal, window, fully_masked;
} vkf__mask_constants;

// Masks for scores (batch, heads, q_len, k_len): of the edge shapes, lengths and a causal one with this offset. `all`:
// they cover all keys, where drawn ones may leave out the last.
void vkf__case_draw_masks(vkf__cases *cases, const vkf__mask_constants *ids, const uint32_t scores[4], bool all,
                          int32_t causal_offset, vkf__case_masks *out);

#endif
