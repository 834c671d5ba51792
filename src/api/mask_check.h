// Checks of the masks that softmax and attention share.
#ifndef VKF_API_MASK_CHECK_H
#define VKF_API_MASK_CHECK_H

#include "api/check.h"

// What masks are applied to: scores (batch, heads, q_len, k_len). `out` must not overlap a mask.
typedef struct vkf__mask_target {
    uint32_t batch, heads, q_len, k_len;
    const vkf_tensor *out;
} vkf__mask_target;

// Strides of a mask in elements; 0 where it broadcasts.
typedef struct vkf__mask_strides {
    uint32_t batch, head, row;
} vkf__mask_strides;

// A tensor's dimension, counted from the last one; 1 where it has fewer dimensions.
uint32_t vkf__dim_from_end(const vkf_tensor *tensor, uint32_t from_end);

VKF_MUST_CHECK vkf_status vkf__check_mask(const vkf__checker *check, vkf_mask_kind kind, const vkf_tensor *mask,
                                          const vkf__mask_target *target, vkf__mask_strides *out_strides);
// *out_stride is the stride from one batch entry to the next.
VKF_MUST_CHECK vkf_status vkf__check_key_mask(const vkf__checker *check, vkf_mask_kind kind, const vkf_tensor *mask,
                                              const vkf__mask_target *target, uint32_t *out_stride);

#endif
