// out = softmax(scale * x + masks) over the last dimension of (batch, heads, q_len, k_len). A workgroup or a subgroup
// takes a row. out may alias x.
#ifndef VKF_SHARED_SOFTMAX_H
#define VKF_SHARED_SOFTMAX_H

#include "types.h"

#define VKF_SOFTMAX_BINDING_X 1
#define VKF_SOFTMAX_BINDING_OUT 2
#define VKF_SOFTMAX_BINDING_MASK 3     // bytes for the boolean kinds, f32 for the additive one
#define VKF_SOFTMAX_BINDING_KEY_MASK 4 // the same, or i32 lengths

#define VKF_SOFTMAX_SPEC_MASK_KIND 1
#define VKF_SOFTMAX_SPEC_KEY_MASK_KIND 2
#define VKF_SOFTMAX_SPEC_CAUSAL 3 // 1: key s is visible to query l when s <= l + causal_offset
#define VKF_SOFTMAX_SPEC_WINDOW 4 // 1: and when s + window > l + causal_offset
#define VKF_SOFTMAX_SPEC_FULLY_MASKED 5
#define VKF_SOFTMAX_SPEC_COUNT 6

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
    vkf_f32 scale;
};
VKF_SHARED_SIZE(vkf_softmax_params, 12)

#endif
