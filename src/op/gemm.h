// Matrix products: d = activation(alpha * op(a) op(b) + beta * d + bias), batched, with free strides.
#ifndef VKF_OP_GEMM_H
#define VKF_OP_GEMM_H

#include "op/operand.h"
#include "shared/gemm.h"

// A norm on the way into a product: an RMSNorm, a / sqrt(mean(a^2) + eps) * weight, or with a bias a LayerNorm,
// (a - mean(a)) / sqrt(variance(a) + eps) * weight + bias.
typedef struct vkf__input_norm {
    vkf__span weight; // (k); absent: none
    vkf__span bias;   // (k), of the weight's type
    float eps;
} vkf__input_norm;

// A gate on the way into a product: its rows are activation(a[:, :k]) * a[:, k:].
typedef struct vkf__input_gate {
    bool wanted;
    vkf_activation activation;
} vkf__input_gate;

// The value of VKF_GEMM_SPEC_NORM for it.
uint32_t vkf__input_norm_flag(const vkf__input_norm *norm);

// A norm's weight and bias and the bias of a product, any of which may be absent, as one operand.
typedef struct vkf__gemm_vectors {
    vkf__span all;                                           // whatever lies between them
    uint32_t norm_weight_first, norm_bias_first, bias_first; // elements of `all` ahead of each
} vkf__gemm_vectors;

// False where one operand cannot hold them: they lie in several buffers, too far apart, or have several types.
bool vkf__gemm_join_vectors(const vkf__work *work, const vkf__input_norm *norm, const vkf__span *bias,
                            vkf__gemm_vectors *out_vectors);

// Strides in elements. Batch entry e is (e / batch_inner, e % batch_inner).
typedef struct vkf__gemm_args {
    const char *label;
    vkf__span a;    // (batch, m, k), or (batch, k, m) with transpose_a; type I32 means blocks, see op/quantize_rows.h
    vkf__span b;    // (batch, k, n), or (batch, n, k) with transpose_b; or one in panels for all, whatever transpose_b
    vkf__span d;    // (batch, m, n), read when beta is not 0, and written
    vkf__span bias; // optional, (n), in b's storage type; f32, f16 or bf16 where b is in blocks
    uint32_t m, n, k;
    uint32_t batch;       // 0 or m == 0 skips the product in this run
    uint32_t batch_inner; // 0: 1
    uint32_t lda, ldb, ldd;
    uint32_t a_outer, a_inner, b_outer, b_inner, d_outer, d_inner;
    uint64_t a_first, d_first;
    bool transpose_a, transpose_b;
    float alpha, beta;
    vkf_activation activation;
    bool add_after;   // beta * d is added after the activation
    bool keep_layout; // b is read as it lies, and never packed into panels first
    bool fixed_rows;  // n and ldb are those of every run, and worth a kernel compiled for them
    // Only where vkf__gemm_fuses() says so, see op/gemm_fused.h:
    vkf__input_norm norm; // of each row of a
    bool gate; // d is (batch, m, n / 2): activation(alpha a b1 + bias1) * (alpha a b2 + bias2), b having both matrices
    // Only where vkf__gemm_dot_gates() says so, see op/gemm_dot.h:
    vkf__input_gate input_gate; // a is (batch, m, 2 k)
} vkf__gemm_args;

// A shared b with transpose_b (a Linear's weight) that exceeds what the device binds is cut into slices of rows.
VKF_MUST_CHECK vkf_status vkf__emit_gemm(vkf__work *work, const vkf__gemm_args *args);

// Whether neither the depth of a product nor what the device binds at once cuts it. What the grid's limits allow
// depends on the kernel, and is not asked here.
bool vkf__gemm_is_one_dispatch(const vkf__work *work, const vkf__gemm_args *args);

// The product as kernel selection sees it.
vkf__problem vkf__gemm_problem(const vkf__work *work, const vkf__gemm_args *args);

// The layout in which b is stored, VKF_GEMM_B_*.
uint32_t vkf__gemm_b_layout(const vkf__gemm_args *args);

// The parameters that say what is multiplied: a whole product, of which nothing goes to d yet.
struct vkf_gemm_params vkf__gemm_factors(const vkf__gemm_args *args);

// The values of VKF_GEMM_SPEC_B_LAYOUT and VKF_GEMM_SPEC_HAS_BIAS for a b of this type; b_layout is VKF_GEMM_B_*.
uint32_t vkf__gemm_layout_flag(vkf_dtype b, uint32_t b_layout);
uint32_t vkf__gemm_bias_flag(vkf_dtype b, const vkf__span *bias);

// Activations, the a of a product, with `row` elements from one row to the next, and the norm that is still to be taken
// of them, if any.
typedef struct vkf__rows {
    vkf__span span;
    uint32_t row;
    vkf__input_norm norm;
} vkf__rows;

// How many elements apart the rows of a product's a should begin: `width`, or on a processor a cache line more where
// the rows of a tile would otherwise fall into one or two sets of its caches.
uint32_t vkf__gemm_row(const vkf_context *context, uint32_t width, vkf_dtype dtype);

// torch.nn.Linear over `rows` rows: d (rows, out) = activation(x (rows, in) weight^T + beta * d + bias). Operands are
// compact unless they have a row stride here.
typedef struct vkf__linear_args {
    const char *label;
    vkf__span x;
    uint32_t x_row;   // elements from one row of x to the next; 0: in
    uint32_t d_row;   // 0: out
    vkf__span weight; // (out, in)
    vkf__span bias;   // optional, (out)
    vkf__span d;
    uint32_t rows, in, out;
    float beta;
    vkf_activation activation;
    vkf__input_norm norm; // as in vkf__gemm_args
    bool gate;
    vkf__input_gate input_gate; // x is (rows, 2 in)
} vkf__linear_args;

// The same as a product.
vkf__gemm_args vkf__linear_product(const vkf__linear_args *args);
VKF_MUST_CHECK vkf_status vkf__emit_linear(vkf__work *work, const vkf__linear_args *args);

#endif
