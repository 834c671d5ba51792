// out = softmax(masks(cap(scale * query key^T))) value without a matrix of scores: the softmax runs along with the
// sums.
// Masks, what else becomes of scores, and fully masked rows are as in softmax.h. A sink is in the first split.
//
// Query head h reads key and value head h / (heads / kv_heads). Rows are queries of the heads that share a key head:
// row r of key head g is query r / (heads / kv_heads) of head g * (heads / kv_heads) + r % (heads / kv_heads).
//
// With PARTIAL the keys are split: split s of a row writes v_head_dim sums, the maximum and the sum of its weights to
//   partial (batch, heads, q_len, splits, v_head_dim + 2), f32
// at the binding of out, and attention_reduce puts the parts together. attention_decode_joined has them at a binding of
// their own, and the workgroup that is the last to write parts of some rows puts those together itself. It finds that
// out by a counter for each block of rows, in the order of the workgroups, which is 0 before a run and after it.
//
// With FRESH, which attention_decode has, the last q_len keys and values are not among k and v yet. They lie in the
// rows of q, as one product has made them, and are brought to their places in k and v, from row fresh_first on. Queries
// and fresh keys are rotated as rotary.h has it: query and key i of a batch entry have position first_position + i.
#ifndef VKF_SHARED_ATTENTION_H
#define VKF_SHARED_ATTENTION_H

#include "types.h"

#define VKF_ATTENTION_BINDING_Q 1
#define VKF_ATTENTION_BINDING_K 2
#define VKF_ATTENTION_BINDING_V 3
#define VKF_ATTENTION_BINDING_OUT 4
#define VKF_ATTENTION_BINDING_MASK 5     // bytes for the boolean kinds, f32 for the additive one
#define VKF_ATTENTION_BINDING_KEY_MASK 6 // the same, or i32 lengths
#define VKF_ATTENTION_BINDING_SLOPES 7   // (heads) f32, a texel buffer
#define VKF_ATTENTION_BINDING_SINKS 8    // the same
#define VKF_ATTENTION_BINDING_TABLE 9    // with FRESH: VKF_ROTARY_BINDING_TABLE
#define VKF_ATTENTION_BINDING_PARTS 10   // of attention_decode_joined
#define VKF_ATTENTION_BINDING_COUNTERS 11

#define VKF_ATTENTION_SPEC_QUERIES 1     // rows per invocation
#define VKF_ATTENTION_SPEC_KEYS 2        // keys per step of the running softmax
#define VKF_ATTENTION_SPEC_SPLIT_LANES 3 // invocations of a workgroup that share a row, each with a split of its own
#define VKF_ATTENTION_SPEC_FENCE 4       // head dims between compiler fences, a multiple of 4; 0: none
#define VKF_ATTENTION_SPEC_HEAD_DIM 5
#define VKF_ATTENTION_SPEC_V_HEAD_DIM 6
#define VKF_ATTENTION_SPEC_MASK_KIND 7
#define VKF_ATTENTION_SPEC_KEY_MASK_KIND 8
#define VKF_ATTENTION_SPEC_CAUSAL 9 // as in softmax.h
#define VKF_ATTENTION_SPEC_WINDOW 10
#define VKF_ATTENTION_SPEC_FULLY_MASKED 11
#define VKF_ATTENTION_SPEC_PARTIAL 12
#define VKF_ATTENTION_SPEC_SCORE_FORM 13 // VKF_SHADER_SCORE_*
#define VKF_ATTENTION_SPEC_COUNT 14
#define VKF_ATTENTION_SPEC_TEXEL_WIDTH 14 // with SOURCE_TEXEL: elements per texel, 4 or 1
#define VKF_ATTENTION_TEXEL_SPEC_COUNT 15
#define VKF_ATTENTION_DECODE_SPEC_ROWS 14  // of attention_decode: rows of a workgroup
#define VKF_ATTENTION_DECODE_SPEC_FRESH 15 // the most fresh keys that a run has; 0: none
#define VKF_ATTENTION_DECODE_SPEC_COUNT 16
#define VKF_ATTENTION_DECODE_MAX_ROWS 8

// All strides in elements.
struct vkf_attention_params {
    vkf_u32 batch;
    vkf_u32 heads;
    vkf_u32 kv_heads; // divides heads
    vkf_u32 q_len;
    vkf_u32 k_len;
    vkf_u32 splits; // a multiple of SPLIT_LANES; 1 without PARTIAL
    vkf_u32 q_batch;
    vkf_u32 q_row; // between queries of a head
    vkf_u32 q_head;
    vkf_u32 k_batch;
    vkf_u32 k_row;
    vkf_u32 k_head;
    vkf_u32 v_batch;
    vkf_u32 v_row;
    vkf_u32 v_head;
    vkf_u32 out_batch;
    vkf_u32 out_row;
    vkf_u32 out_head;
    vkf_u32 mask_cols; // keys under the masks; those after them (bias_kv, zero_attn) are always visible
    vkf_u32 mask_batch;
    vkf_u32 mask_head;
    vkf_u32 mask_row;
    vkf_u32 key_mask_batch;
    vkf_i32 causal_offset;
    vkf_u32 window;
    vkf_i32 distance_offset;
    vkf_f32 soft_cap;
    vkf_f32 scale;
    // With FRESH:
    vkf_u32 k_fresh; // elements from a position's queries to its keys
    vkf_u32 v_fresh; // to its values
    vkf_u32 fresh_first;
    vkf_u32 first_position;
    vkf_u32 rotary_dim; // a multiple of 8
};
VKF_SHARED_SIZE(vkf_attention_params, 33)

#define VKF_ATTENTION_REDUCE_BINDING_PARTIAL 1
#define VKF_ATTENTION_REDUCE_BINDING_OUT 2

#define VKF_ATTENTION_REDUCE_SPEC_FULLY_MASKED 1
#define VKF_ATTENTION_REDUCE_SPEC_COUNT 2

struct vkf_attention_reduce_params {
    vkf_u32 rows; // batch * heads * q_len
    vkf_u32 heads;
    vkf_u32 q_len;
    vkf_u32 k_len;
    vkf_u32 splits;
    vkf_u32 v_head_dim;
    vkf_u32 out_batch; // strides of out in elements
    vkf_u32 out_row;
    vkf_u32 out_head;
};
VKF_SHARED_SIZE(vkf_attention_reduce_params, 9)

#endif
