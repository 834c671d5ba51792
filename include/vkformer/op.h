// Operators on device tensors. Each call records, submits and waits; layers compose the same kernels without waiting.
//
// All activations are stored in f32, or all in f16; arithmetic and accumulation are always in f32. An absent optional
// tensor is {0}. Outputs are tensors that exist already; they may not overlap inputs unless the function says so.
// Dimensions may be 0: an output without elements is done with at once, and a sum over nothing is 0. A tensor without
// elements may be without a buffer. Not 0 are the width of a head, the n of vkf_argmax() where there are rows, the rows
// of a table in which ids are looked up, and the sizes of weights that are packed or quantised.
// Statuses of every function here: INVALID_ARGUMENT (shapes, types), OUT_OF_HOST_MEMORY, OUT_OF_DEVICE_MEMORY,
// UNSUPPORTED, TOO_LARGE, DEVICE_LOST, VULKAN, SHADER.
#ifndef VKFORMER_OP_H
#define VKFORMER_OP_H

#include <vkformer/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

// A float of a descriptor in which 0 stands for a default gets 0 itself by this: a scale, an eps, an alpha. It is a
// negative zero, which -0.0 writes in any language, and counts as the number 0 in all else.
#define VKF_ZERO (-0.0f)

typedef enum vkf_activation {
    VKF_ACTIVATION_DEFAULT = 0, // what it is, the field says
    VKF_ACTIVATION_RELU,
    VKF_ACTIVATION_GELU_ERF,  // torch.nn.GELU()
    VKF_ACTIVATION_GELU_TANH, // torch.nn.GELU(approximate="tanh")
    VKF_ACTIVATION_SILU,
    VKF_ACTIVATION_TANH,
    VKF_ACTIVATION_NONE, // the identity
    VKF_ACTIVATION_SIGMOID,
    VKF_ACTIVATION_MISH,
    VKF_ACTIVATION_HARD_SWISH,   // torch.nn.Hardswish
    VKF_ACTIVATION_LEAKY_RELU,   // with a slope of 0.01 below 0, or that of vkf_activate_desc
    VKF_ACTIVATION_ELU,          // with an alpha of 1, or that of vkf_activate_desc
    VKF_ACTIVATION_HARD_SIGMOID, // torch.nn.Hardsigmoid
    VKF_ACTIVATION_COUNT
} vkf_activation;

// out = activation(alpha * op(a) op(b) + beta * c + bias) + residual, for every batch entry.
typedef struct vkf_gemm_desc {
    vkf_tensor a;        // (batch, m, k), or (batch, k, m) with transpose_a; rank 2 means batch = 1
    vkf_tensor b;        // (batch, k, n), or (batch, n, k) with transpose_b; rank 2: shared by all batch entries, and
                         // may be in panels with transpose_b; q8 and q4: only with transpose_b and without
                         // transpose_a, see vkf_quantize_weight()
    vkf_tensor c;        // optional, (batch, m, n); never read when beta is 0; may be the same tensor as out
    vkf_tensor bias;     // optional, (n), of b's type; f32, f16 or bf16 where b is q8 or q4
    vkf_tensor residual; // optional, (batch, m, n); with it, c and an activation exclude each other
    vkf_tensor out;      // (batch, m, n)
    bool transpose_a;
    bool transpose_b;
    float alpha;               // 0: 1; VKF_ZERO: 0, and neither a nor b is read
    float beta;                // 0: c is not read
    vkf_activation activation; // 0: none
} vkf_gemm_desc;
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_gemm(vkf_context *context, const vkf_gemm_desc *desc);

// The layout in which this device multiplies by a weight (n, k) fastest, according to earlier measurements or else its
// traits; the call itself measures nothing. Models and layers pack their own weights; this is for callers of
// vkf_gemm().
VKF_API vkf_layout vkf_context_get_preferred_layout(const vkf_context *context, vkf_dtype activations,
                                                    vkf_dtype weights, uint32_t n, uint32_t k);
// Copies a weight (n, k) into panels, for vkf_gemm_desc.b with transpose_b, or for a layer. The caller owns the result
// and destroys it with vkf_tensor_destroy(). `name`, for messages and debuggers, may be NULL.
VKF_API VKF_MUST_CHECK vkf_status vkf_pack_weight(vkf_context *context, const vkf_tensor *weight, const char *name,
                                                  vkf_tensor *out_packed);

// Rounds a weight (n, k) of f32, f16 or bf16 in rows to blocks of VKF_DTYPE_Q8 or VKF_DTYPE_Q4, for vkf_gemm_desc.b
// with transpose_b, or for a layer; k is a multiple of 32. The host rounds, as vkf_f32_to_blocks() does, so that the
// weight makes the way to the host and back. What is no finite number is refused (INVALID_ARGUMENT). Blocks that are on
// the host already need no more than vkf_tensor_create() and vkf_tensor_write(); vkf_tensor_read() and
// vkf_blocks_to_f32() give the values back. The caller owns the result; `name` may be NULL.
VKF_API VKF_MUST_CHECK vkf_status vkf_quantize_weight(vkf_context *context, const vkf_tensor *weight, vkf_dtype dtype,
                                                      const char *name, vkf_tensor *out_quantized);

// Numbers to bytes, by a scale and a zero for all or for each entry of a dimension (ONNX's QuantizeLinear, PyTorch's
// quantize_per_tensor and quantize_per_channel): out = round(x / scale) + zero, ties to even, within the range of out's
// type. A NaN gives the zero. And back (DequantizeLinear): out = (x - zero) * scale.
typedef struct vkf_quantize_linear_desc {
    vkf_tensor x;     // f32; back: i8, u8 or i32
    vkf_tensor scale; // f32: (1), or (x.shape[axis])
    vkf_tensor zero;  // optional, the same shape, of the type of out; back: of x. Absent: 0
    vkf_tensor out;   // the shape of x, i8 or u8; back: f32
    uint32_t axis;    // where scale has more than one element
} vkf_quantize_linear_desc;
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_quantize_linear(vkf_context *context, const vkf_quantize_linear_desc *desc);
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_dequantize_linear(vkf_context *context, const vkf_quantize_linear_desc *desc);

// Matrix products of bytes (ONNX's MatMulInteger and QLinearMatMul): the sum over l of (a[i, l] - a_zero[i]) *
// (b[l, j] - b_zero[j]). An out of i32 has the sums, which are exact. An out of f32 has each of them times
// (a_scale[i] * b_scale[j]), in f32. An out of bytes has that as vkf_quantize_linear() makes it of out_scale and
// out_zero. By integer dot products where the device has fast ones.
// Status TOO_LARGE where a sum might not fit 32 bits: where k times the largest magnitudes of a - a_zero and b - b_zero
// is 2^31 or more. These are 255, and 128 of i8 without a zero, so that a k of up to 33,025 is always taken.
typedef struct vkf_gemm_int8_desc {
    vkf_tensor a;         // (batch, m, k) i8 or u8; rank 2 means batch = 1
    vkf_tensor b;         // (batch, k, n), or (batch, n, k) with transpose_b; i8 or u8; rank 2: shared by all entries
    vkf_tensor a_zero;    // optional, of a's type: (1), or (m) for each row; absent: 0
    vkf_tensor b_zero;    // optional, of b's type: (1), or (n) for each column; absent: 0
    vkf_tensor a_scale;   // optional, f32: (1) or (m); absent: 1. None of the scales goes with an out of i32
    vkf_tensor b_scale;   // optional, f32: (1) or (n); absent: 1
    vkf_tensor out_scale; // f32 (1), for an out of bytes alone
    vkf_tensor out_zero;  // optional, of out's type, (1), for an out of bytes alone; absent: 0
    vkf_tensor out;       // (batch, m, n): i32, f32, i8 or u8
    bool transpose_b;
} vkf_gemm_int8_desc;
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_gemm_int8(vkf_context *context, const vkf_gemm_int8_desc *desc);

typedef enum vkf_mask_kind {
    VKF_MASK_NONE = 0,
    VKF_MASK_BOOL_EXCLUDE, // true = not attended: nn.MultiheadAttention
    VKF_MASK_BOOL_ATTEND,  // true = attended: scaled_dot_product_attention
    VKF_MASK_ADDITIVE,     // f32, added to the scaled score: -inf masks, finite values of any size do not
    VKF_MASK_LENGTHS,      // key masks only: i32 (B), keys at and beyond the length are not attended
    VKF_MASK_KIND_COUNT
} vkf_mask_kind;

typedef enum vkf_causal {
    VKF_CAUSAL_NONE = 0,
    VKF_CAUSAL_TOP_LEFT,     // query i sees keys 0..i
    VKF_CAUSAL_BOTTOM_RIGHT, // query i sees keys 0..i + (S - L)
    VKF_CAUSAL_LENGTHS,      // query i of b sees keys 0..i + (lengths[b] - L), with key_mask_kind LENGTHS
    VKF_CAUSAL_COUNT
} vkf_causal;

// The result of a row in which every key is masked, by -inf or a boolean.
typedef enum vkf_fully_masked {
    VKF_FULLY_MASKED_ZERO = 0, // scaled_dot_product_attention since PyTorch 2.5
    VKF_FULLY_MASKED_NAN,      // nn.MultiheadAttention
    VKF_FULLY_MASKED_UNIFORM,  // as filling with a finite -1e9 does
    VKF_FULLY_MASKED_COUNT
} vkf_fully_masked;

// out = softmax(masks(cap(scale * x))) over the last dimension, or its logarithm. out may be x itself. vkf_sdpa_desc
// says what slopes, sinks, soft_cap, window_right and first_position are.
typedef struct vkf_softmax_desc {
    vkf_tensor x;   // (B, H, L, S); lower ranks are read as if leading dimensions were 1
    vkf_tensor out; // the same shape and type
    float scale;    // 0: 1
    vkf_mask_kind mask_kind;
    vkf_tensor mask; // (B|1, H|1, L|1, S), or lower rank: missing leading dimensions broadcast
    vkf_mask_kind key_mask_kind;
    vkf_tensor key_mask; // (B, S), or (B) for lengths
    vkf_causal causal;
    uint32_t window; // sliding window: a query sees the last `window` keys up to its own position; 0 = unlimited
    vkf_fully_masked fully_masked;
    bool logarithm;        // torch.nn.functional.log_softmax: -inf where a key is masked
    uint32_t window_right; // 0: none
    float soft_cap;        // 0: none
    vkf_tensor slopes;     // optional, (H) f32
    vkf_tensor sinks;      // optional, (H) f32
    uint32_t first_position;
} vkf_softmax_desc;
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_softmax(vkf_context *context, const vkf_softmax_desc *desc);

// torch.nn.functional.scaled_dot_product_attention: out = softmax(masks(cap(scale * q k^T))) v for every head. Wherever
// the device has a kernel for the sizes, no matrix of scores is kept in memory, whatever becomes of scores. Query head
// h reads key head h / (H / Hkv): grouped heads, as with enable_gqa.
//
// Slopes are those of ALiBi (Press et al. 2022): the score of a key at the distance d from the query's own position, on
// either side, is lowered by slopes[h] * d. With an additive mask they multiply that instead (ggml's max_bias, whose
// masks hold -d); its -inf masks whatever the slope. A sink (gpt-oss) is a score more in the softmax of every row of
// its head, whose weight goes nowhere: a row in which every key is masked is 0 then, whatever fully_masked says; a sink
// of -inf is none. A buffer of the caller's that slopes or sinks lie in has the usage of uniform texel buffers.
// Without keys (S = 0) out is 0.
typedef struct vkf_sdpa_desc {
    vkf_tensor query; // (B, H, L, D), f32 or f16
    // (B, Hkv, S, D), of query's type, or bf16 or q8 where that is f32; Hkv divides H. Of q8 D and Dv are multiples of
    // 32.
    vkf_tensor key;
    vkf_tensor value; // (B, Hkv, S, Dv), of key's type
    vkf_tensor out;   // (B, H, L, Dv), of query's type
    float scale;      // 0: 1 / sqrt(D)
    vkf_mask_kind mask_kind;
    vkf_tensor mask; // (B|1, H|1, L|1, S), or lower rank: missing leading dimensions broadcast
    vkf_mask_kind key_mask_kind;
    vkf_tensor key_mask; // (B, S), or (B) for lengths
    vkf_causal causal;
    uint32_t window; // as in vkf_softmax_desc
    vkf_fully_masked fully_masked;
    // Keys after its own position that a query sees, too, where `causal` or `window` would end there; without these, of
    // all keys no later ones. 0: none. The own position is the last key that `causal` says, and i with NONE.
    uint32_t window_right;
    float soft_cap;    // cap(s) = soft_cap * tanh(s / soft_cap) (Gemma 2); 0: cap(s) = s
    vkf_tensor slopes; // optional, (H) f32
    vkf_tensor sinks;  // optional, (H) f32
    // How many keys lie before the first query, whose own position this is then with NONE and TOP_LEFT. 0 with others.
    uint32_t first_position;
    // Optional: keys and values that are put into `key` and `value` first, from row first_position on. These are then
    // caches, (B, Hkv, C, D) and (B, Hkv, C, Dv), of whose C rows S = first_position + T count.
    vkf_tensor new_key;   // (B, Hkv, T, D), of query's type
    vkf_tensor new_value; // (B, Hkv, T, Dv), the same
    // Optional, a table as in vkf_rotary_desc that has all positions: queries are turned by their own ones, and so are
    // new keys on their way or, without any, all keys, if these are of query's type. Not with VKF_CAUSAL_LENGTHS:
    // vkf_rotary() takes any positions.
    vkf_tensor rotary;
    bool rotary_interleaved;
} vkf_sdpa_desc;
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_scaled_dot_product_attention(vkf_context *context, const vkf_sdpa_desc *desc);

typedef enum vkf_residual_order {
    VKF_RESIDUAL_NONE = 0,
    VKF_RESIDUAL_BEFORE, // out = norm(x + residual)
    VKF_RESIDUAL_AFTER,  // out = norm(x) + residual
    VKF_RESIDUAL_ORDER_COUNT
} vkf_residual_order;

// torch.nn.LayerNorm over the last dimension: biased variance, eps inside the root. With rms it is torch.nn.RMSNorm
// (Zhang & Sennrich 2019): x / sqrt(mean(x^2) + eps), weighted, and with a bias if one is given. out may be x itself.
typedef struct vkf_layer_norm_desc {
    vkf_tensor x;        // (..., dim)
    vkf_tensor weight;   // optional, (dim)
    vkf_tensor bias;     // optional, (dim)
    vkf_tensor residual; // with residual_order, the shape of x
    vkf_tensor out;      // the shape of x
    // 0: 1e-5, and with rms 2^-23; these are the defaults of torch.nn.LayerNorm, and of RMSNorm for f32. With VKF_ZERO,
    // as in PyTorch, rows without variance, or with rms of zeros alone, are no numbers.
    float eps;
    vkf_residual_order residual_order;
    bool rms; // false: LayerNorm
} vkf_layer_norm_desc;
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_layer_norm(vkf_context *context, const vkf_layer_norm_desc *desc);

// split: x (B, L, H, D) -> out (B, H, L, D). merge: x (B, H, L, D) -> out (B, L, H, D). Exact.
VKF_API VKF_MUST_CHECK vkf_status vkf_split_heads(vkf_context *context, const vkf_tensor *x, const vkf_tensor *out);
VKF_API VKF_MUST_CHECK vkf_status vkf_merge_heads(vkf_context *context, const vkf_tensor *x, const vkf_tensor *out);

// out[b, t, :] = table[ids[b, t], :] * scale + positions[first_position + t, :]. An id outside the table counts as a
// row of zeros.
typedef struct vkf_embed_desc {
    vkf_tensor ids;       // (B, T) i32
    vkf_tensor table;     // (vocab, dim)
    vkf_tensor positions; // optional, (max_len, dim) f32: sinusoidal or learned
    vkf_tensor out;       // (B, T, dim)
    float scale;          // sqrt(dim) in "Attention Is All You Need"; 0: 1
    uint32_t first_position;
} vkf_embed_desc;
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_embed(vkf_context *context, const vkf_embed_desc *desc);

// The paper's positional encoding, computed on the host in double precision:
// PE[p, 2i] = sin(p * 10000^(-2i/dim)), PE[p, 2i+1] = cos(the same). out_values holds len * dim floats.
VKF_API void vkf_sinusoidal_positions(uint32_t len, uint32_t dim, float *out_values);

#define VKF_ROTARY_MAX_SECTIONS 4

// Rotary position embedding (RoFormer, Su et al. 2021; ONNX's RotaryEmbedding, ggml's ROPE): the pair i of a head's
// elements (a, b) becomes (a cos - b sin, b cos + a sin), by the cosine and the sine i of the position's row of the
// table. One of `positions` that the table has not counts as one of zeros; without positions the table has all. Of
// pairs a half apart this is transformers' rotate_half and ggml's "neox"; interleaved it is GPT-J's order and ggml's
// "normal".
typedef struct vkf_rotary_desc {
    vkf_tensor x;   // (B, H, L, D), or (B, L, H, D) with merged
    vkf_tensor out; // the shape and type of x; may be x itself
    // (positions, rotary_dim) f32, as vkf_rotary_table() makes it: rotary_dim / 2 cosines, then as many sines.
    // rotary_dim is even and at most D; the elements of a head from there on pass unchanged.
    vkf_tensor table;
    // Optional, i32: (B|1, L), or (S, B|1, L) with sections. Absent: l stands at first_position + l.
    vkf_tensor positions;
    // The numbers of pairs that read positions s = 0, 1, ... one after the other, over and over until the pairs end:
    // M-RoPE (Qwen2-VL, Wang et al. 2024). Zeros: positions has no S.
    uint32_t sections[VKF_ROTARY_MAX_SECTIONS];
    bool sections_in_turns;  // pair i reads positions i % 3, as far as 3 * sections[i % 3] pairs go, and those beyond
                             // the last positions of four or the first of three: Qwen3-VL's order
    uint32_t first_position; // without positions; 0 with them
    bool interleaved;        // pairs are the elements 2 i and 2 i + 1, else i and i + rotary_dim / 2
    bool merged;             // heads lie as vkf_merge_heads() leaves them
    bool inverse;            // turns by the negative angles: the gradient with regard to x
} vkf_rotary_desc;
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_rotary(vkf_context *context, const vkf_rotary_desc *desc);

// Fills vkf_rotary_desc.table for positions 0 .. len - 1, on the host in double precision: the angles of position p are
// p * base^(-2 i / rotary_dim) / factors[i], and their cosines and sines are multiplied by `magnitude`. out_values
// holds len * rotary_dim floats. base 0: 10000; magnitude 0: 1; factors, rotary_dim / 2 of them, may be NULL: 1.
// Positions are stretched by factors, and in YaRN (Peng et al. 2023) by a magnitude, too.
VKF_API void vkf_rotary_table(uint32_t len, uint32_t rotary_dim, double base, const double *factors, double magnitude,
                              float *out_values);

// Additive (Bahdanau) attention scores: out[b, t, s] = sum_a v[a] * tanh(query[b, t, a] + key[b, s, a]).
typedef struct vkf_additive_scores_desc {
    vkf_tensor query; // (B, T, A), projected
    vkf_tensor key;   // (B, S, A), projected
    vkf_tensor v;     // (A)
    vkf_tensor out;   // (B, T, S)
} vkf_additive_scores_desc;
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_additive_scores(vkf_context *context, const vkf_additive_scores_desc *desc);

// out = activation(x), element by element, as PyTorch's classes of these names say: what is no number stays so, and
// numbers of any size, infinities too, give what the formula gives. out may be x itself.
typedef struct vkf_activate_desc {
    vkf_tensor x;
    vkf_tensor out;            // the shape and type of x
    vkf_activation activation; // 0: none
    float alpha; // of LEAKY_RELU the slope below 0, 0: 0.01; of ELU the factor below 0, 0: 1; no other has one
} vkf_activate_desc;
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_activate(vkf_context *context, const vkf_activate_desc *desc);

// torch.argmax over the last dimension, and ONNX ArgMax: out[row] = index of the largest of x[row, :], of equals the
// first or the last. NaN is the largest there is, as in PyTorch, and both zeros are equal.
typedef struct vkf_argmax_desc {
    vkf_tensor x;   // (..., n)
    vkf_tensor out; // (...) i32; (1) for an x of rank 1
    bool last;      // of equals, select_last_index of ONNX; false: the first
} vkf_argmax_desc;
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_argmax(vkf_context *context, const vkf_argmax_desc *desc);

#define VKF_MAX_CONCAT 64

// torch.cat, ONNX Concat: the inputs side by side along one dimension. Exact.
typedef struct vkf_concat_desc {
    const vkf_tensor *inputs; // input_count of them, all f32 or all f16, which differ in size along `dim` alone
    uint32_t input_count;     // 1 to VKF_MAX_CONCAT
    int32_t dim;              // below 0 it counts from the end: -1 is the last
    vkf_tensor out;           // of their type
} vkf_concat_desc;
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_concat(vkf_context *context, const vkf_concat_desc *desc);

// torch.gather along one dimension, ONNX GatherElements: out[.., i, ..] = x[.., index[.., i, ..], ..]. With an index
// that has a size but 1 along `dim` alone it is torch.index_select and ONNX Gather. Indices below 0 count from the end;
// where one is outside of x there is 0. Exact.
typedef struct vkf_gather_desc {
    vkf_tensor x;     // f32 or f16
    vkf_tensor index; // i32, of x's rank; every size is that of out or 1, for which all of out take the same
    vkf_tensor out;   // of x's type, and of its sizes but along `dim`
    int32_t dim;      // below 0 it counts from the end: -1 is the last
} vkf_gather_desc;
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_gather(vkf_context *context, const vkf_gather_desc *desc);

typedef enum vkf_reduction {
    VKF_REDUCTION_NONE = 0, // the new element takes the place of the old one
    VKF_REDUCTION_ADD,
    VKF_REDUCTION_MULTIPLY,
    VKF_REDUCTION_MAX, // NaN if one of the two is
    VKF_REDUCTION_MIN, // likewise
    VKF_REDUCTION_COUNT
} vkf_reduction;

// torch.Tensor.scatter and scatter_reduce along one dimension, ONNX ScatterElements: out is x but for
// out[.., index[.., i, ..], ..] = source[.., i, ..]. With an index of size 1 in other dimensions whole rows go to where
// they belong, as into a cache of keys (ONNX TensorScatter): source (B, H, T, D), index (B, 1, T, 1), dim 2. Indices
// below 0 count from the end; what belongs outside of out is left out.
// Of elements for one place that are not reduced one stays, whichever; those that are come in their order along `dim`.
typedef struct vkf_scatter_desc {
    vkf_tensor x;      // f32 or f16; may be out itself
    vkf_tensor index;  // i32, of x's rank; every size is that of source or 1, for which all of source take the same
    vkf_tensor source; // of x's type, and of its sizes but along `dim`
    vkf_tensor out;    // of x's type and shape
    int32_t dim;       // below 0 it counts from the end: -1 is the last
    vkf_reduction reduction;
} vkf_scatter_desc;
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_scatter(vkf_context *context, const vkf_scatter_desc *desc);

// out = x, converting between f32 and f16 where the types differ. Shapes have equal element counts.
VKF_API VKF_MUST_CHECK vkf_status vkf_copy(vkf_context *context, const vkf_tensor *x, const vkf_tensor *out);

#ifdef __cplusplus
}
#endif

#include <vkformer/sized/op.h>

#endif
