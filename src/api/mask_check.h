// Checks of what softmax and attention make of scores.
#ifndef VKF_API_MASK_CHECK_H
#define VKF_API_MASK_CHECK_H

#include "api/check.h"
#include "op/softmax.h"

// What masks are applied to: scores (batch, heads, q_len, k_len). `out` must not overlap an operand.
typedef struct vkf__mask_target {
    uint32_t batch, heads, q_len, k_len;
    const vkf_tensor *out;
} vkf__mask_target;

// A tensor's dimension, counted from the last one; 1 where it has fewer dimensions.
uint32_t vkf__dim_from_end(const vkf_tensor *tensor, uint32_t from_end);

// The members that vkf_softmax_desc and vkf_sdpa_desc have in common.
typedef struct vkf__mask_members {
    vkf_mask_kind kind, key_kind;
    const vkf_tensor *mask, *key_mask, *slopes, *sinks;
    vkf_causal causal;
    uint32_t window, window_right, first_position;
    float soft_cap, scale;
    vkf_fully_masked fully_masked;
} vkf__mask_members;

#define VKF_MASK_MEMBERS(desc)                                                                                       \
    {                                                                                                                \
        (desc)->mask_kind, (desc)->key_mask_kind, &(desc)->mask, &(desc)->key_mask, &(desc)->slopes, &(desc)->sinks, \
            (desc)->causal, (desc)->window, (desc)->window_right, (desc)->first_position, (desc)->soft_cap,          \
            (desc)->scale, (desc)->fully_masked                                                                      \
    }

// Checks them, and says what they make of scores; a scale of 0 becomes `default_scale`.
VKF_MUST_CHECK vkf_status vkf__check_masks(const vkf__checker *check, const vkf__mask_members *members,
                                           const vkf__mask_target *target, float default_scale, vkf__masks *out);

#endif
