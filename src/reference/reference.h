// Scalar reference implementations, against which the on-device self-test and the tests check the kernels.
//
// They accumulate in double and are clear rather than fast. Every array is contiguous and row-major unless a layout
// says otherwise. Values are float, so a caller with half storage converts first. Sizes and pointers are not checked.
#ifndef VKF_REFERENCE_REFERENCE_H
#define VKF_REFERENCE_REFERENCE_H

#include <vkformer/model.h>

#include "base/host.h"

double vkf__ref_activation(vkf_activation activation, double x);

// Where the matrices of a batch lie, in elements. {0}: contiguous, one after the other.
typedef struct vkf__ref_layout {
    size_t row;   // between rows as stored; 0: contiguous, and outer and inner are ignored
    size_t outer; // between entries e and e + batch_inner; 0 shares one matrix
    size_t inner; // between entries e and e + 1 of one group
} vkf__ref_layout;

// out = activation(alpha * op(a) op(b) + beta * c + bias) + residual for `batch` entries, in groups of batch_inner.
typedef struct vkf__ref_gemm_desc {
    uint32_t m, n, k;
    uint32_t batch;
    uint32_t batch_inner;  // 0: 1
    const float *a;        // (m, k), or (k, m) with transpose_a
    const float *b;        // (k, n), or (n, k) with transpose_b
    const float *c;        // optional, (m, n), laid out as out; not read when beta is 0
    const float *bias;     // optional, (n)
    const float *residual; // optional, (m, n), laid out as out
    float *out;            // (m, n); may be c or residual
    vkf__ref_layout a_layout, b_layout, out_layout;
    bool transpose_a, transpose_b;
    float alpha; // 0: a and b are not read
    float beta;
    vkf_activation activation;
} vkf__ref_gemm_desc;
void vkf__ref_gemm(const vkf__ref_gemm_desc *desc);

// out = softmax(scale * x + masks) over the last dimension. A score counts as masked that is -inf in float32; NaN or
// +inf makes its row NaN. Masks are added in float32, as kernels and PyTorch do: beside -1e30 a score is nothing.
typedef struct vkf__ref_softmax_desc {
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
} vkf__ref_softmax_desc;
void vkf__ref_softmax(const vkf__ref_softmax_desc *desc);

// The scaled and masked score of key `s` for a query; -infinity where it is masked. Only scale and masks are read.
double vkf__ref_masked_score(const vkf__ref_softmax_desc *desc, uint32_t b, uint32_t h, uint32_t l, uint32_t s,
                             double x);

// out = softmax(scale * query key^T + masks) value for every head. Query head h reads key head h / (heads / kv_heads).
typedef struct vkf__ref_sdpa_desc {
    // Sizes, scale and masks. `x` is not read; `out` (batch, heads, q_len, k_len) ends as the weights.
    vkf__ref_softmax_desc softmax;
    uint32_t kv_heads; // divides softmax.heads
    uint32_t head_dim, v_head_dim;
    const float *query; // (batch, heads, q_len, head_dim)
    const float *key;   // (batch, kv_heads, k_len, head_dim)
    const float *value; // (batch, kv_heads, k_len, v_head_dim)
    float *out;         // (batch, heads, q_len, v_head_dim)
    // Where they lie: `outer` between batch entries, `inner` between heads, `row` between rows. All three must be
    // given.
    vkf__ref_layout q_layout, k_layout, v_layout, out_layout;
} vkf__ref_sdpa_desc;
void vkf__ref_sdpa(const vkf__ref_sdpa_desc *desc);

// Dropout of weights as shaders/shared/attention_grad.h has it; p 0: none.
typedef struct vkf__ref_weight_dropout {
    double p;
    uint64_t seed;
    uint32_t stream, step;
} vkf__ref_weight_dropout;
// Whether the weight of a key is kept, where `row` counts (batch, heads, q_len).
bool vkf__ref_keeps_weight(const vkf__ref_weight_dropout *dropout, uint32_t row, uint32_t key);

// Gradients of vkf__ref_sdpa(), with dropout, from that of its output. A row that sees no key has no part in them.
typedef struct vkf__ref_sdpa_grad_desc {
    vkf__ref_sdpa_desc forward; // as it was, but nothing of it is written
    vkf__ref_weight_dropout dropout;
    const float *dout;    // laid out as forward.out
    double *dq, *dk, *dv; // laid out as query, key and value; they are added to
    double *dbias;        // optional, of a bias (heads, q_len, mask_cols) of all batch entries' scores; added to
    double *scratch;      // (2, k_len)
} vkf__ref_sdpa_grad_desc;
void vkf__ref_sdpa_grad(const vkf__ref_sdpa_grad_desc *desc);

// The output, in forward.out, and the stats of each row, (2, batch, kv_heads, q_len, heads / kv_heads): its highest
// score, then one over the sum of exp(score - highest); those of a row that sees no key are left as they are. Reads no
// gradient.
void vkf__ref_sdpa_train(const vkf__ref_sdpa_grad_desc *desc, float *row_stats);

// The sum of dout * out in double, of which the gradients above are the derivatives. Reads no gradient.
double vkf__ref_sdpa_product(const vkf__ref_sdpa_grad_desc *desc);

typedef struct vkf__ref_layer_norm_desc {
    uint32_t rows, dim;
    const float *x;        // (rows, dim)
    const float *weight;   // optional, (dim)
    const float *bias;     // optional, (dim)
    const float *residual; // (rows, dim) with a residual_order
    float *out;            // (rows, dim); may be x
    float eps;
    vkf_residual_order residual_order;
    bool rms; // x / sqrt(mean(x^2) + eps) in place of (x - mean) / sqrt(variance + eps)
} vkf__ref_layer_norm_desc;
void vkf__ref_layer_norm(const vkf__ref_layer_norm_desc *desc);

// x (outer, rows, cols, depth) -> out (outer, cols, rows, depth).
void vkf__ref_permute(uint32_t outer, uint32_t rows, uint32_t cols, uint32_t depth, const float *x, float *out);

typedef struct vkf__ref_embed_desc {
    uint32_t batch, len, dim, vocab;
    const int32_t *ids;     // (batch, len); an id outside the table gives zeros in place of its row
    const float *table;     // (vocab, dim)
    const float *positions; // optional, (first_position + len, dim)
    uint32_t first_position;
    float scale;
    float *out; // (batch, len, dim)
} vkf__ref_embed_desc;
void vkf__ref_embed(const vkf__ref_embed_desc *desc);

// out[b, t, s] = sum over a of v[a] * tanh(query[b, t, a] + key[b, s, a]).
void vkf__ref_additive_scores(uint32_t batch, uint32_t q_len, uint32_t k_len, uint32_t dim, const float *query,
                              const float *key, const float *v, float *out);

// out[row] = index of the largest of x[row, :], the lowest among equals; NaN counts as largest.
void vkf__ref_argmax(uint32_t rows, uint32_t cols, const float *x, int32_t *out);

// Rotary position embedding of every head, in the half-split order. With a weight, each head is RMS-normalised first.
typedef struct vkf__ref_rotary_desc {
    uint32_t batch, len, heads, head_dim;
    uint32_t rotary_dim;     // how many elements of a head are rotated, from the first on
    uint32_t first_position; // of t = 0
    const float *x;          // element (b, t, h, i) at x_first + b * x_batch + t * x_row + h * head_dim + i
    const float *table;      // optional, (positions, rotary_dim): rotary_dim / 2 cosines, then as many sines
    const float *weight;     // optional, (head_dim)
    size_t x_first, x_batch, x_row;
    size_t out_first, out_batch, out_row;
    float eps;
    float *out;   // may be x where the strides are the same
    bool inverse; // turns by the negative angles
} vkf__ref_rotary_desc;
void vkf__ref_rotary(const vkf__ref_rotary_desc *desc);

// out (rows, dim) = activation(x[:, :dim]) * x[:, dim:].
void vkf__ref_gate(uint32_t rows, uint32_t dim, vkf_activation activation, const float *x, float *out);

// The gradient of vkf__ref_layer_norm() without a residual. A row whose dout is all 0 gives 0, whatever x holds.
typedef struct vkf__ref_layer_norm_grad_desc {
    uint32_t rows, dim;
    const float *x;      // (rows, dim)
    const float *weight; // optional, (dim)
    const float *dout;   // (rows, dim)
    float *dx;           // (rows, dim)
    float *stats;        // optional, (rows, 2): the mean, 0 with rms, and 1 / sqrt(variance + eps)
    float eps;
    bool rms;
    bool accumulate; // the gradient is added to dx
} vkf__ref_layer_norm_grad_desc;
void vkf__ref_layer_norm_grad(const vkf__ref_layer_norm_grad_desc *desc);

// out (cols) = the sum over the rows of x (+ out). With stats x is multiplied by (normed - mean) / deviation, unless it
// is 0.
typedef struct vkf__ref_column_sum_desc {
    uint32_t rows, cols;
    const float *x;      // (rows, cols)
    const float *normed; // (rows, cols); with stats
    const float *stats;  // optional, (rows, 2)
    float *out;
    bool accumulate;
} vkf__ref_column_sum_desc;
void vkf__ref_column_sum(const vkf__ref_column_sum_desc *desc);

// dx = scale * y * (dout - sum(y * dout)) over rows of (rows, cols); 0 where y is 0. dx may be y or dout.
void vkf__ref_softmax_grad(uint32_t rows, uint32_t cols, float scale, const float *y, const float *dout, float *dx);
// The derivative of vkf__ref_activation(); of ReLU at 0, it is 0.
double vkf__ref_activation_slope(vkf_activation activation, double x);

// dx (rows, 2 * dim): the backward pass of vkf__ref_gate(), from dout (rows, dim). dx may be x.
void vkf__ref_gate_grad(uint32_t rows, uint32_t dim, vkf_activation activation, const float *x, const float *dout,
                        float *dx);

// out = [residual +] keep(i) * x / (1 - p), as shared/dropout.h says.
typedef struct vkf__ref_dropout_desc {
    size_t count;
    double p;
    uint64_t seed;
    uint32_t stream, step;
    const float *x;
    const float *residual; // optional
    float *out;            // may be x or residual
} vkf__ref_dropout_desc;
void vkf__ref_dropout(const vkf__ref_dropout_desc *desc);

// dtable (vocab, dim) += scale * sum of dout (tokens, dim) over the tokens of each id; those with an id outside of the
// table count for nothing. Sums are kept in `sums`, (vocab, dim).
void vkf__ref_embed_grad(uint32_t tokens, uint32_t dim, uint32_t vocab, const int32_t *ids, const float *dout,
                         float scale, double *sums, float *dtable);

// What one row of logits is sampled with; shared/sample.h says how.
typedef struct vkf__ref_sample_desc {
    uint32_t cols;
    const float *x;
    const uint32_t *seen; // optional, (ceil(cols / 32)); not changed
    float temperature;
    uint32_t top_k;
    float top_p, min_p;
    float repetition_penalty;
    uint64_t seed;
    uint32_t step;
} vkf__ref_sample_desc;

// The index of the largest penalised logit, by the rules of vkf__ref_argmax().
uint32_t vkf__ref_sample_largest(const vkf__ref_sample_desc *desc);

// Gives every token its probability, which is 0 for those that the thresholds exclude. `sorted` is scratch; both are
// (cols).
void vkf__ref_sample_probabilities(const vkf__ref_sample_desc *desc, double *out, double *sorted);

// The token that is drawn. *out_margin is the probability between the draw and the nearer border of the token. Where it
// is below some 1e-5, another rounding might draw another token.
uint32_t vkf__ref_sample(const vkf__ref_sample_desc *desc, uint32_t row, double *probabilities, double *sorted,
                         double *out_margin);

// The k most probable tokens of one row of logits, as shared/top.h says: out (k, 2). `seen` is optional.
void vkf__ref_top(uint32_t cols, const float *x, const uint32_t *seen, float repetition_penalty, uint32_t k,
                  float *out);

// Multi-head attention, as vkf_attention_desc describes it.
typedef struct vkf__ref_attention_desc {
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
    vkf_attention_mask mask;
    const void *mask_values;     // (L, S), or (B * H, L, S)
    const void *key_mask_values; // (B, S), or (B) for lengths
    vkf_fully_masked fully_masked;
    float *out;              // (B, L, embed_dim)
    float *weights;          // optional, (B, L, S'): mean over heads; S' = S + bias_k + add_zero_attn
    float *weights_per_head; // optional, (B, H, L, S')
} vkf__ref_attention_desc;

// Status OUT_OF_HOST_MEMORY; then the outputs are unspecified.
VKF_MUST_CHECK vkf_status vkf__ref_attention(const vkf__host *host, const vkf__ref_attention_desc *desc);

// out[b, :] = pooled x[b, first .. lengths[b], :]. With normalise it is divided by its Euclidean length, or by 1e-12
// where that is less. A length is clamped to 0 .. len. Where no position is left the output is 0, except that FIRST
// gives position 0 of a length above 0.
typedef struct vkf__ref_pool_desc {
    uint32_t batch, len, dim;
    const float *x; // (batch, len, dim)
    const int32_t *lengths;
    vkf_pooling pooling;
    bool normalise;
    float *out;     // (batch, dim)
    uint32_t first; // positions before it do not count
} vkf__ref_pool_desc;
void vkf__ref_pool(const vkf__ref_pool_desc *desc);

// Training: losses, norms of gradients, and optimisers ----------------------------------------------------------------

// shared/cross_entropy.h says what is computed.
typedef struct vkf__ref_cross_entropy_desc {
    uint32_t rows, cols;
    const float *logits; // (rows, cols)
    const int32_t *labels;
    int32_t ignored;
    float smoothing, factor;
    float *loss;     // (rows)
    float *gradient; // optional, (rows, cols); may be logits
} vkf__ref_cross_entropy_desc;
void vkf__ref_cross_entropy(const vkf__ref_cross_entropy_desc *desc);

// The sum of all elements, or of their squares.
double vkf__ref_total(size_t count, const float *x, bool squares);

// out = (factor, norm) of gradients that are `loss_scale` times too large, from the sums of their squares.
void vkf__ref_clip(uint32_t count, const float *squares, float max_norm, float loss_scale, float out[2]);

// A step of Adam, or of AdamW where decoupled, in place. Nothing changes with factor 0.
typedef struct vkf__ref_adam_desc {
    size_t count;
    float *parameter;      // (count)
    const float *gradient; // (count)
    float *moments;        // (count, 2)
    double factor;         // of the gradient
    uint32_t step;         // from 1
    double rate, beta1, beta2, eps, weight_decay;
    bool decoupled;
} vkf__ref_adam_desc;
void vkf__ref_adam(const vkf__ref_adam_desc *desc);

// The same of stochastic gradient descent.
typedef struct vkf__ref_sgd_desc {
    size_t count;
    float *parameter;       // (count)
    const float *gradient;  // (count)
    float *momentum_buffer; // (count); NULL: without momentum
    double factor;
    double rate, momentum, weight_decay;
    bool nesterov;
} vkf__ref_sgd_desc;
void vkf__ref_sgd(const vkf__ref_sgd_desc *desc);
// The backward pass of vkf__ref_additive_scores(), from dscores (batch, q_len, k_len).
typedef struct vkf__ref_additive_grad_desc {
    uint32_t batch, q_len, k_len, dim;
    const float *query, *key, *v, *dscores;
    float *dquery, *dkey, *dv;
} vkf__ref_additive_grad_desc;
void vkf__ref_additive_grad(const vkf__ref_additive_grad_desc *desc);

// dx (batch, len, dim): the backward pass of vkf__ref_pool(), from dout (batch, dim). desc->out and `grads`
// (dim) are scratch. Of equal maxima the first has the gradient.
void vkf__ref_pool_grad(const vkf__ref_pool_desc *desc, const float *dout, double *grads, float *dx);

#endif
