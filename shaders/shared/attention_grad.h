// Attention (attention.h) for training, and its gradients, without a matrix of scores, after FlashAttention-2 (Dao
// 2023), algorithms 1 and 2. With weights p = softmax(scale * query key^T + masks), m of dropout, which is 0 or 1 over
// the probability of being kept, and g the gradient of the output:
//   out = (m * p) value,   delta = sum of g * out over a row,   ds = p * (m * (g value^T) - delta),
//   grad of query = scale * ds key,   grad of key = scale * ds^T query,   grad of value = (m * p)^T g,
//   grad of a bias of scores that batch entries share = the sum of ds over them.
// Delta is what softmax needs, the sum of p * m * (g value^T) over a row, as sums over keys and over elements change
// places. Weights are computed again from a row's stats, which the way forward leaves: its highest score, the maximum,
// and as its factor one over the sum of exp(score - maximum), or 0 where it sees no key. One number, the logarithm of
// both, would not do: of a row of -1e9 it is -1e9 whatever the sum. And m is drawn again. A row that sees
// no key has no part in any gradient, and its output is not dropped.
//
// The weight of key s for query l of head h in batch entry b is kept when word s % 4 of Philox4x32-10, of the counter
// (s / 4, (b * heads + h) * q_len + l, stream, step) under the seed as its key, is not below threshold. So a weight has
// a number of 64 bits, and a row does not depend on how many keys there are. The rest is as in dropout.h.
//
// Key heads are counted through the batch: b * kv_heads + head. attention_grad_pack first puts the operands of some of
// them, or of all, and of the query heads that share them side by side, which four storage buffers then suffice for:
//   rows of queries: (key_heads, q_len, heads / kv_heads, query then g)
//   rows of keys:    (key_heads, k_len, key then value)
//   maxima:          (batch, kv_heads, q_len, heads / kv_heads), factors and deltas: the same
// Query and key, and g and value, are filled up with zeros to a multiple of 4 each. All are f32 in one buffer. Rows of
// one key head lie one after the other, as the query heads that share it go through the same keys.
//
// A workgroup of attention_grad has a block of rows of its own, of queries or of keys, and walks over the others; for a
// bias it has a block of queries and a step of keys, and walks over the batch.
#ifndef VKF_SHARED_ATTENTION_GRAD_H
#define VKF_SHARED_ATTENTION_GRAD_H

#include "types.h"

#define VKF_ATTENTION_GRAD_BINDING_ROWS 1
#define VKF_ATTENTION_GRAD_BINDING_OUT 2
#define VKF_ATTENTION_GRAD_BINDING_MASK 3
#define VKF_ATTENTION_GRAD_BINDING_KEY_MASK 4
#define VKF_ATTENTION_GRAD_BINDING_SLOPES 5    // (heads) f32, a texel buffer
#define VKF_ATTENTION_GRAD_BINDING_SINKS 6     // the same
#define VKF_ATTENTION_GRAD_BINDING_VALUE_OUT 7 // of attention_grad_pair

#define VKF_ATTENTION_GRAD_SPEC_EACH 1  // own rows per invocation
#define VKF_ATTENTION_GRAD_SPEC_STEP 2  // other rows per step
#define VKF_ATTENTION_GRAD_SPEC_LANES 3 // invocations that share own rows
#define VKF_ATTENTION_GRAD_SPEC_DEPTH 4 // elements of rows in shared memory, a multiple of 4
#define VKF_ATTENTION_GRAD_SPEC_HEAD_DIM 5
#define VKF_ATTENTION_GRAD_SPEC_V_HEAD_DIM 6
#define VKF_ATTENTION_GRAD_SPEC_MASK_KIND 7
#define VKF_ATTENTION_GRAD_SPEC_KEY_MASK_KIND 8
#define VKF_ATTENTION_GRAD_SPEC_CAUSAL 9
#define VKF_ATTENTION_GRAD_SPEC_WINDOW 10
#define VKF_ATTENTION_GRAD_SPEC_GIVES 11
#define VKF_ATTENTION_GRAD_SPEC_DROPOUT 12
#define VKF_ATTENTION_GRAD_SPEC_SCORE_FORM 13 // VKF_SHADER_SCORE_*
#define VKF_ATTENTION_GRAD_SPEC_COUNT 14

// What a dispatch gives: of attention_train row stats, which go behind the rows, with or without the output, and of the
// others gradients. The last one takes the binding VALUE_OUT, too.
#define VKF_ATTENTION_GRAD_ROW_STATS 0
#define VKF_ATTENTION_GRAD_OUTPUT 1
#define VKF_ATTENTION_GRAD_QUERY 2
#define VKF_ATTENTION_GRAD_BIAS 3
#define VKF_ATTENTION_GRAD_KEY 4
#define VKF_ATTENTION_GRAD_VALUE 5
#define VKF_ATTENTION_GRAD_KEY_AND_VALUE 6

// All strides in elements. Other rows, or for a bias the batch, may be divided among several dispatches, which add to
// each other's results.
struct vkf_attention_grad_params {
    vkf_u32 batch;
    vkf_u32 heads;
    vkf_u32 kv_heads; // divides heads
    vkf_u32 q_len;
    vkf_u32 k_len;
    vkf_u32 first_key_head; // of those that are packed
    vkf_u32 key_heads;      // that are packed
    vkf_u32 keys_first;     // row of the first key
    vkf_u32 maxima_first;   // element
    vkf_u32 factors_first;  // element
    vkf_u32 deltas_first;   // element
    vkf_u32 slice;          // of slices of the other rows, or of the batch
    vkf_u32 slices;
    vkf_u32 adds; // to what out holds; else that is not read
    vkf_u32 value_adds;
    vkf_u32 out_batch;
    vkf_u32 out_row;
    vkf_u32 out_head;
    vkf_u32 value_out_batch;
    vkf_u32 value_out_row;
    vkf_u32 value_out_head;
    vkf_u32 mask_cols; // the masks: as in attention.h
    vkf_u32 mask_batch;
    vkf_u32 mask_head;
    vkf_u32 mask_row;
    vkf_u32 key_mask_batch;
    vkf_i32 causal_offset;
    vkf_u32 window;
    vkf_i32 distance_offset;
    vkf_f32 soft_cap;
    vkf_f32 scale;
    vkf_u32 fully_masked; // VKF_SHADER_FULLY_MASKED_*, of the output
    vkf_u32 threshold;    // with DROPOUT, as in dropout.h
    vkf_u32 stream;
    vkf_u32 step;
    vkf_u32 seed_low;
    vkf_u32 seed_high;
    vkf_f32 keep_scale;
};
VKF_SHARED_SIZE(vkf_attention_grad_params, 38)

#define VKF_ATTENTION_GRAD_PACK_BINDING_X 1
#define VKF_ATTENTION_GRAD_PACK_BINDING_ROWS 2
#define VKF_ATTENTION_GRAD_PACK_BINDING_OUT 3    // with DELTAS: the output of attention, laid out like x
#define VKF_ATTENTION_GRAD_PACK_BINDING_DELTAS 4 // with DELTAS: one element per row of all key heads

#define VKF_ATTENTION_GRAD_PACK_SPEC_LANES 1 // invocations that share a row, and a power of two
#define VKF_ATTENTION_GRAD_PACK_SPEC_DELTAS 2
#define VKF_ATTENTION_GRAD_PACK_SPEC_COUNT 3

struct vkf_attention_grad_pack_params {
    vkf_u32 rows; // key_heads * len * group
    vkf_u32 len;
    vkf_u32 kv_heads;
    vkf_u32 group; // heads that share rows of keys; 1 for keys
    vkf_u32 first_key_head;
    vkf_u32 width;
    vkf_u32 first_quad; // of x in a row
    vkf_u32 row_quads;
    vkf_u32 x_batch;
    vkf_u32 x_row;
    vkf_u32 x_head;
    vkf_u32 out_batch;
    vkf_u32 out_row;
    vkf_u32 out_head;
};
VKF_SHARED_SIZE(vkf_attention_grad_pack_params, 14)

#endif
