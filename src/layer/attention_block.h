// Multi-head attention as a list of dispatches: projections, scores, softmax, context, output projection.
#ifndef VKF_LAYER_ATTENTION_BLOCK_H
#define VKF_LAYER_ATTENTION_BLOCK_H

#include <vkformer/layer.h>

#include "op/attention.h"
#include "op/gemm.h"

// The parameters of vkf_attention_weights as spans.
typedef struct vkf__attention_spans {
    vkf__span q_weight, k_weight, v_weight; // (heads * head_dim, in)
    vkf__span q_bias, k_bias, v_bias;
    vkf__span bias_k, bias_v;
    vkf__span out_weight, out_bias; // (embed_dim, heads * v_head_dim)
    vkf__span slopes, sinks;        // optional, (heads) f32
    vkf__span rotary;               // optional, (positions, rotary_dim) f32: see op/rotary.h
} vkf__attention_spans;

// With in_proj, k and v lie behind q, whatever offsets their tensors have.
vkf__attention_spans vkf__attention_spans_of(const vkf_attention_weights *weights);

// Whether k lies behind q, and v behind k.
bool vkf__spans_join(const vkf__span *q, const vkf__span *k, const vkf__span *v);

// What does not change between runs.
typedef struct vkf__attention_block {
    uint32_t embed_dim, heads, kv_heads, head_dim, v_head_dim, kdim, vdim; // kv_heads divides heads
    bool add_zero_attn;
    vkf_attention_mask mask;
    float scale; // of scores; 0: 1 / sqrt(head_dim)
    vkf_fully_masked fully_masked;
    vkf_dtype dtype; // of activations
    vkf__attention_spans params;
    bool fused_qkv; // the weights of q, k and v are one operand, in this order, and so are their biases, if any
    // What is done to each head of queries and keys. Self attention only.
    vkf__span q_norm, k_norm; // optional, (head_dim): the weights of an RMSNorm
    float norm_eps;
    uint32_t rotary_dim; // of params.rotary
    bool rotary_interleaved;
} vkf__attention_block;

// Where one run reads and writes.
typedef struct vkf__attention_io {
    vkf__span query;      // (B, L, embed_dim)
    vkf__span key;        // (B, key_new, kdim)
    vkf__span value;      // (B, key_new, vdim)
    bool one_input;       // query, key and value are the same tensor, and so are their rows
    vkf__input_norm norm; // of query and, if it is one, that tensor; only where vkf__projections_normalise() says so
    // Elements from one row to the next, of query, and of key and value. 0: compact.
    uint32_t query_row, key_row;
    vkf__span out;   // (B, L, embed_dim)
    bool accumulate; // out += attention, instead of out =
    vkf__span mask;
    vkf__span key_mask;
    // Optional, for blocks without a mask, f32: added to the scores of every batch entry. The keys of query t of head h
    // begin at element h * bias_head + t * bias_row.
    vkf__span bias;
    uint32_t bias_head, bias_row;
    uint32_t key_mask_row;      // keys that a row of key_mask has room for; 0: as many as there are
    vkf__span weights;          // optional, (B, L, S') f32
    vkf__span weights_per_head; // optional, (B, H, L, S') f32
    vkf__span cache_k;          // optional, (B, cache_len, kv_heads * head_dim): projected keys kept between runs
    vkf__span cache_v;          // optional, (B, cache_len, kv_heads * v_head_dim)
    uint32_t cache_len;
} vkf__attention_io;

typedef struct vkf__attention_sizes {
    uint32_t batch;
    uint32_t query_len;  // L
    uint32_t key_len;    // S: keys attended to, including cached ones, excluding bias_kv and zero_attn
    uint32_t key_new;    // keys projected in this run: S without a cache; 0 when the cache holds all of them
    uint32_t key_past;   // place of the first new key in the cache
    uint32_t query_past; // place of the first query among the keys; self attention only
} vkf__attention_sizes;

// The sizes of a run without a cache.
static inline vkf__attention_sizes vkf__uncached(uint32_t batch, uint32_t query_len, uint32_t key_len)
{
    return (vkf__attention_sizes){.batch = batch, .query_len = query_len, .key_len = key_len, .key_new = key_len};
}

// Attention between the projections, without its operands: sizes, masks and scale.
vkf__attention_args vkf__attention_args_of(const vkf__attention_block *block, const vkf__attention_io *io,
                                           const vkf__attention_sizes *sizes);

VKF_MUST_CHECK vkf_status vkf__emit_attention_block(vkf__work *work, const vkf__attention_block *block,
                                                    const vkf__attention_io *io, const vkf__attention_sizes *sizes);

#endif
