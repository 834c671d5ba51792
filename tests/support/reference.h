// A second statement of some operators and of attention, as the public functions describe them, against which tests of
// operators, layers and models compare. It knows nothing of shaders: the references in src/op execute what these are
// told.
//
// They accumulate in double and are clear rather than fast. Every array is contiguous and row-major unless a layout
// says otherwise. Values are float, so a caller with half storage converts first. Sizes and pointers are not checked.
#ifndef VKF_TEST_REFERENCE_H
#define VKF_TEST_REFERENCE_H

#include <vkformer/model.h>

#include "base/host.h"

// Where the matrices of a batch lie, in elements. {0}: contiguous, one after the other.
typedef struct vkf_ref_layout {
    size_t row;   // between rows as stored; 0: contiguous, and outer and inner are ignored
    size_t outer; // between entries e and e + batch_inner; 0 shares one matrix
    size_t inner; // between entries e and e + 1 of one group
} vkf_ref_layout;

// out = activation(alpha * op(a) op(b) + beta * c + bias) + residual for `batch` entries, in groups of batch_inner.
typedef struct vkf_ref_gemm_desc {
    uint32_t m, n, k;
    uint32_t batch;
    uint32_t batch_inner;  // 0: 1
    const float *a;        // (m, k), or (k, m) with transpose_a
    const float *b;        // (k, n), or (n, k) with transpose_b
    const float *c;        // optional, (m, n), laid out as out; not read when beta is 0
    const float *bias;     // optional, (n)
    const float *residual; // optional, (m, n), laid out as out
    float *out;            // (m, n); may be c or residual
    vkf_ref_layout a_layout, b_layout, out_layout;
    bool transpose_a, transpose_b;
    float alpha; // 0: a and b are not read
    float beta;
    vkf_activation activation;
} vkf_ref_gemm_desc;
void vkf_ref_gemm(const vkf_ref_gemm_desc *desc);

// out = softmax(scale * x + masks) over the last dimension. A score counts as masked that is -inf in float32; NaN or
// +inf makes its row NaN. Masks are added in float32, as kernels and PyTorch do: beside -1e30 a score is nothing.
typedef struct vkf_ref_softmax_desc {
    uint32_t batch, heads, q_len;
    uint32_t k_len;     // columns
    uint32_t mask_cols; // columns that the masks cover; those after them are always visible
    const float *x;     // (batch, heads, q_len, k_len)
    float *out;         // the same; may be x
    float scale;
    vkf_mask_kind mask_kind;
    const void *mask; // (.., mask_cols): uint8_t for the boolean kinds, float for the additive one
    size_t mask_batch, mask_head, mask_row; // strides in elements; 0 broadcasts
    vkf_mask_kind key_mask_kind;
    const void *key_mask; // (batch, mask_cols): the same, or int32_t lengths (batch)
    bool causal;          // key s is visible to query l when s <= l + causal_offset
    int32_t causal_offset;
    uint32_t window; // not 0: key s is visible only if s + window > l + causal_offset, too
    vkf_fully_masked fully_masked;
    uint32_t right;      // with causal: keys beyond l + causal_offset that are visible, too
    float soft_cap;      // not 0: the scaled score s becomes soft_cap * tanh(s / soft_cap)
    const float *slopes; // optional, (heads): times an additive mask, or off each score for each key of distance
    const float *sinks;  // optional, (heads): one more score in each row
    bool logarithm;
    bool behind_lengths; // query l stands at l + causal_offset behind as many keys as its batch entry has
} vkf_ref_softmax_desc;
// Sets causal and causal_offset of a mask over mask_cols keys.
void vkf_ref_place_queries(vkf_ref_softmax_desc *desc, vkf_causal causal);
void vkf_ref_softmax(const vkf_ref_softmax_desc *desc);

// out = softmax(scale * query key^T + masks) value for every head. Query head h reads key head h / (heads / kv_heads).
typedef struct vkf_ref_sdpa_desc {
    // Sizes, scale and masks. `x` is not read; `out` (batch, heads, q_len, k_len) ends as the weights.
    vkf_ref_softmax_desc softmax;
    uint32_t kv_heads; // divides softmax.heads
    uint32_t head_dim, v_head_dim;
    const float *query; // (batch, heads, q_len, head_dim)
    const float *key;   // (batch, kv_heads, k_len, head_dim)
    const float *value; // (batch, kv_heads, k_len, v_head_dim)
    float *out;         // (batch, heads, q_len, v_head_dim)
    // Where they lie: `outer` between batch entries, `inner` between heads, `row` between rows. All three must be
    // given.
    vkf_ref_layout q_layout, k_layout, v_layout, out_layout;
} vkf_ref_sdpa_desc;
void vkf_ref_sdpa(const vkf_ref_sdpa_desc *desc);

typedef struct vkf_ref_layer_norm_desc {
    uint32_t rows, dim;
    const float *x;        // (rows, dim)
    const float *weight;   // optional, (dim)
    const float *bias;     // optional, (dim)
    const float *residual; // (rows, dim) with a residual_order
    float *out;            // (rows, dim); may be x
    float eps;
    vkf_residual_order residual_order;
    bool rms; // x / sqrt(mean(x^2) + eps) in place of (x - mean) / sqrt(variance + eps)
} vkf_ref_layer_norm_desc;
void vkf_ref_layer_norm(const vkf_ref_layer_norm_desc *desc);

typedef struct vkf_ref_embed_desc {
    uint32_t batch, len, dim, vocab;
    const int32_t *ids;     // (batch, len); an id outside the table gives zeros in place of its row
    const float *table;     // (vocab, dim)
    const float *positions; // optional, (first_position + len, dim)
    uint32_t first_position;
    float scale;
    float *out; // (batch, len, dim)
} vkf_ref_embed_desc;
void vkf_ref_embed(const vkf_ref_embed_desc *desc);

// Multi-head attention, as vkf_attention_desc describes it.
typedef struct vkf_ref_attention_desc {
    uint32_t batch, q_len, k_len;
    uint32_t embed_dim, num_heads;
    uint32_t head_dim;                           // 0: embed_dim / num_heads
    uint32_t v_head_dim;                         // 0: head_dim
    uint32_t kdim, vdim;                         // 0: embed_dim
    const float *query;                          // (B, L, embed_dim)
    const float *key;                            // (B, S, kdim)
    const float *value;                          // (B, S, vdim)
    const float *q_weight, *k_weight, *v_weight; // (H * head_dim, embed_dim), (.., kdim), (H * v_head_dim, vdim)
    const float *q_bias, *k_bias, *v_bias;       // optional
    const float *bias_k;                         // optional, (H * head_dim): one more key, after the projection
    const float *bias_v;                         // (H * v_head_dim), with bias_k
    bool add_zero_attn;                          // one more key and value of zeros
    const float *out_weight;                     // (embed_dim, H * v_head_dim)
    const float *out_bias;                       // optional
    const float *slopes, *sinks;                 // optional, (H)
    // Optional: of each position rotary_dim / 2 cosines and then as many sines, by which pairs of a head's elements of
    // queries and keys are turned once they are projected.
    const float *rotary;
    uint32_t rotary_dim;
    bool interleaved; // pairs are neighbours, else half of rotary_dim apart
    vkf_attention_mask mask;
    const void *mask_values;     // (L, S), or (B * H, L, S)
    const void *key_mask_values; // (B, S), or (B) for lengths
    vkf_fully_masked fully_masked;
    float *out;              // (B, L, embed_dim)
    float *weights;          // optional, (B, L, S'): mean over heads; S' = S + bias_k + add_zero_attn
    float *weights_per_head; // optional, (B, H, L, S')
} vkf_ref_attention_desc;

// Status OUT_OF_HOST_MEMORY; then the outputs are unspecified.
VKF_MUST_CHECK vkf_status vkf_ref_attention(const vkf__host *host, const vkf_ref_attention_desc *desc);

#endif
