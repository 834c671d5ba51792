// out = softmax(masks(cap(scale * x))) over the last dimension of (batch, heads, q_len, k_len), or its logarithm. A
// workgroup or a subgroup takes a row. out may alias x. With SCORE_FORM
//   CAPPED   cap(s) = soft_cap * tanh(s / soft_cap), else s
//   SLOPED   an additive mask is multiplied by the slope of its head; without one, |key - query - distance_offset|
//            times the slope is taken from the score of each key under the masks
//   SUNK     a row has one score more, the sink of its head, whose weight goes nowhere
#ifndef VKF_SHARED_SOFTMAX_H
#define VKF_SHARED_SOFTMAX_H

#include "types.h"

#define VKF_SOFTMAX_BINDING_X 1
#define VKF_SOFTMAX_BINDING_OUT 2
#define VKF_SOFTMAX_BINDING_MASK 3     // bytes for the boolean kinds, f32 for the additive one
#define VKF_SOFTMAX_BINDING_KEY_MASK 4 // the same, or i32 lengths
#define VKF_SOFTMAX_BINDING_SLOPES 5   // (heads) f32, a texel buffer
#define VKF_SOFTMAX_BINDING_SINKS 6    // the same

#define VKF_SOFTMAX_SPEC_MASK_KIND 1
#define VKF_SOFTMAX_SPEC_KEY_MASK_KIND 2
#define VKF_SOFTMAX_SPEC_CAUSAL 3 // VKF_SHADER_CAUSAL_*; not 0: key s is visible to a query that stands at s or later
#define VKF_SOFTMAX_SPEC_WINDOW 4 // 1: and where it stands before s + window
#define VKF_SOFTMAX_SPEC_FULLY_MASKED 5
#define VKF_SOFTMAX_SPEC_SCORE_FORM 6 // VKF_SHADER_SCORE_*
#define VKF_SOFTMAX_SPEC_LOGARITHM 7
#define VKF_SOFTMAX_SPEC_COUNT 8

struct vkf_softmax_params {
    vkf_u32 heads;
    vkf_u32 q_len;
    vkf_u32 rows;       // batch * heads * q_len
    vkf_u32 k_len;      // columns of x and out
    vkf_u32 mask_cols;  // columns under the masks; those after them (bias_kv, zero_attn) are always visible
    vkf_u32 mask_batch; // strides of the mask in elements; 0 broadcasts
    vkf_u32 mask_head;
    vkf_u32 mask_row;
    vkf_u32 key_mask_batch;
    vkf_i32 causal_offset;
    vkf_u32 window;
    vkf_i32 distance_offset;
    vkf_f32 soft_cap;
    vkf_f32 scale;
};
VKF_SHARED_SIZE(vkf_softmax_params, 14)

#endif
