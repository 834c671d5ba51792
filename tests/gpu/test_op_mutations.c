// Whether the comparisons of these tests notice anything: every kernel runs once as it should and must agree with the
// reference, then with one wrong stride, size, offset or tile at a time, and must not.
#include <stdlib.h>
#include <string.h>

#include "op/additive.h"
#include "op/argmax.h"
#include "op/copy.h"
#include "op/embed.h"
#include "op/gate.h"
#include "op/gemm.h"
#include "op/layer_norm.h"
#include "op/permute.h"
#include "op/quantize_rows.h"
#include "op/rotary.h"
#include "op/run_once.h"
#include "op/sample.h"
#include "op/softmax.h"
#include "reference/reference.h"
#include "shared/gemm.h"
#include "support/block_weight.h"
#include "support/op_fixture.h"

#define ATOL 5e-5
#define RTOL 1e-4

#define SPAN(operand) vkf__span_of(&(operand)->tensor)

#define MAX_ARGS_BYTES 1024

typedef struct experiment {
    vkf_test_ops *ops;
    const char *kernel;
    vkf__emit_fn emit;
    const void *args;
    size_t args_bytes;
    vkf_test_operand *out;
    float *expected; // freed by experiment_run()
} experiment;

static size_t mismatches_with(const experiment *e, const void *args)
{
    vkf_test_operand *out = e->out;
    float *actual = vkf_test_floats(out->count);
    for (size_t i = 0; i < out->count; i++) {
        if (out->ids)
            out->ids[i] = (int32_t)VKF_TEST_UNTOUCHED;
        else
            out->values[i] = VKF_TEST_UNTOUCHED;
    }
    vkf_test_upload(e->ops, out);
    vkf_test_assert_ok(e->ops, vkf__run_once(e->ops->gpu.context, e->kernel, e->emit, args), e->kernel);
    vkf_test_download(e->ops, out);
    for (size_t i = 0; i < out->count; i++)
        actual[i] = out->ids ? (float)out->ids[i] : out->values[i];
    size_t mismatches = vkf_test_mismatches(actual, e->expected, out->count, ATOL, RTOL);
    free(actual);
    return mismatches;
}

static void experiment_run(const experiment *e, const vkf_test_plant *mutations, size_t count)
{
    _Alignas(16) unsigned char args[MAX_ARGS_BYTES];
    size_t mismatches = mismatches_with(e, e->args);
    if (mismatches > 0)
        fail_msg("%s is wrong without any mutation: %zu mismatches", e->kernel, mismatches);
    assert_true(e->args_bytes <= sizeof args);
    for (size_t i = 0; i < count; i++) {
        memcpy(args, e->args, e->args_bytes);
        vkf_test_plant_into(&mutations[i], args);
        if (mismatches_with(e, args) == 0)
            fail_msg("%s with a wrong %s was not noticed", e->kernel, mutations[i].field);
    }
    free(e->expected);
    vkf_test_ops_reset(e->ops);
}

// The reference's values, and behind them what the output held before.
static float *expectation(const vkf_test_operand *out)
{
    float *expected = vkf_test_floats(out->count);
    for (size_t i = 0; i < out->count; i++)
        expected[i] = VKF_TEST_UNTOUCHED;
    return expected;
}

#define RUN(kernel_name, emitter, arguments, output, reference, mutations)                                       \
    experiment_run(&(experiment){ops, kernel_name, emitter, &(arguments), sizeof(arguments), output, reference}, \
                   mutations, COUNT_OF(mutations))

enum { M = 34, N = 35, K = 37, BATCH = 2 }; // of the products

static vkf_status emit_gemm(vkf__work *work, const void *args)
{
    return vkf__emit_gemm(work, args);
}

static const vkf_test_plant GEMM_MUTATIONS[] = {
    VKF_PLANT(vkf__gemm_args, lda, K - 1),
    VKF_PLANT(vkf__gemm_args, ldb, N - 1),
    VKF_PLANT(vkf__gemm_args, ldd, N - 1),
    VKF_PLANT(vkf__gemm_args, m, M - 1),
    VKF_PLANT(vkf__gemm_args, n, N - 1),
    VKF_PLANT(vkf__gemm_args, k, K - 1),
    VKF_PLANT(vkf__gemm_args, batch, BATCH - 1),
    VKF_PLANT(vkf__gemm_args, batch_inner, BATCH),
    VKF_PLANT(vkf__gemm_args, a_outer, 0),
    VKF_PLANT(vkf__gemm_args, b_outer, 0),
    VKF_PLANT(vkf__gemm_args, d_outer, M *N - 1),
    VKF_PLANT(vkf__gemm_args, d_first, 1),
    VKF_PLANT(vkf__gemm_args, a_first, 1),
    VKF_PLANT(vkf__gemm_args, transpose_b, 1),
    VKF_PLANT(vkf__gemm_args, alpha, VKF_TEST_HALF_BITS),
    VKF_PLANT(vkf__gemm_args, beta, VKF_TEST_HALF_BITS),
    VKF_PLANT(vkf__gemm_args, transpose_a, 1),
    VKF_PLANT(vkf__gemm_args, activation, VKF_ACTIVATION_RELU),
};

static float *gemm_expectation(const vkf_test_operand *a, const vkf_test_operand *b, const vkf_test_operand *out)
{
    float *expected = expectation(out);
    vkf__ref_gemm(&(vkf__ref_gemm_desc){
        .m = M, .n = N, .k = K, .batch = BATCH, .a = a->values, .b = b->values, .out = expected, .alpha = 1});
    return expected;
}

static void test_gemm_mutations_are_noticed(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    vkf_test_operand *a = vkf_test_uniform(ops, VKF_DTYPE_F32, -1, 1, SHAPE(BATCH * M * K + K));
    vkf_test_operand *b = vkf_test_uniform(ops, VKF_DTYPE_F32, -1, 1, SHAPE(BATCH * K * N + N));
    vkf_test_operand *out = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(BATCH * M * N + N));
    const vkf__gemm_args args = {.label = "gemm",
                                 .a = SPAN(a),
                                 .b = SPAN(b),
                                 .d = SPAN(out),
                                 .m = M,
                                 .n = N,
                                 .k = K,
                                 .batch = BATCH,
                                 .lda = K,
                                 .ldb = N,
                                 .ldd = N,
                                 .a_outer = M * K,
                                 .b_outer = K * N,
                                 .d_outer = M * N,
                                 .alpha = 1};
    RUN("gemm", emit_gemm, args, out, gemm_expectation(a, b, out), GEMM_MUTATIONS);
}

enum { BLOCKS_K = 96, WEIGHT_OFFSET = 48 };

static float *blocks_expectation(uint32_t m, const vkf_test_operand *a, const vkf_test_operand *b,
                                 const vkf_test_operand *bias, const vkf_test_operand *out)
{
    float *expected = expectation(out);
    vkf__ref_gemm(&(vkf__ref_gemm_desc){.m = m,
                                        .n = N,
                                        .k = BLOCKS_K,
                                        .batch = BATCH,
                                        .a = a->values,
                                        .b = b->values,
                                        .bias = bias->values,
                                        .out = expected,
                                        .b_layout = {.row = BLOCKS_K},
                                        .transpose_b = true,
                                        .alpha = 1});
    return expected;
}

// Blocks of signed bytes of x's values, which become what those stand for; in words for products with q8.
static vkf_test_operand *in_bytes(vkf_test_ops *ops, vkf_test_operand *x)
{
    const size_t blocks = x->count / 32;
    int32_t *words = calloc((size_t)vkf__quantized_words(x->count), sizeof *words);
    assert_non_null(words);
    for (size_t block = 0; block < blocks; block++) {
        float *values = x->values + block * 32;
        uint32_t made[12];
        int8_t q[32];
        for (size_t i = 0; i < 32; i++) {
            q[i] = (int8_t)(values[i] * 127);
            values[i] = (float)q[i] / 128;
        }
        vkf__quantized_block(VKF_DTYPE_Q8, 1.0f / 128, q, made);
        memcpy(words + vkf__quantized_words(block * 32), made, sizeof made);
    }
    vkf_test_operand *rows = vkf_test_ids(ops, words, SHAPE((uint32_t)vkf__quantized_words(x->count)));
    free(words);
    return rows;
}

// With `dot` by integer dot products, whose rows are whole blocks.
static void run_blocks_mutations(vkf_test_ops *ops, uint32_t m, bool dot)
{
    const uint32_t step = dot ? 32 : 4;
    const vkf_test_plant mutations[] = {
        VKF_PLANT(vkf__gemm_args, b.dtype, VKF_DTYPE_Q4),
        VKF_PLANT(vkf__gemm_args, b.offset_bytes, WEIGHT_OFFSET + 64),
        VKF_PLANT(vkf__gemm_args, bias.dtype, VKF_DTYPE_BF16),
        VKF_PLANT(vkf__gemm_args, lda, BLOCKS_K - step),
        VKF_PLANT(vkf__gemm_args, ldd, N - 1),
        VKF_PLANT(vkf__gemm_args, m, m - 1),
        VKF_PLANT(vkf__gemm_args, n, N - 1),
        VKF_PLANT(vkf__gemm_args, k, BLOCKS_K - 32),
        VKF_PLANT(vkf__gemm_args, batch, BATCH - 1),
        VKF_PLANT(vkf__gemm_args, a_outer, 0),
        VKF_PLANT(vkf__gemm_args, d_first, 1),
        VKF_PLANT(vkf__gemm_args, a_first, step),
        VKF_PLANT(vkf__gemm_args, alpha, VKF_TEST_HALF_BITS),
        VKF_PLANT(vkf__gemm_args, beta, VKF_TEST_HALF_BITS),
    };
    vkf_test_operand *a = vkf_test_uniform(ops, VKF_DTYPE_F32, -1, 1, SHAPE(BATCH * m * BLOCKS_K + BLOCKS_K));
    vkf_test_operand *rows = dot ? in_bytes(ops, a) : a;
    vkf_test_operand *b = vkf_test_block_weight(ops, VKF_DTYPE_Q8, false, N, BLOCKS_K);
    vkf_test_operand *bias = vkf_test_uniform(ops, VKF_DTYPE_F16, -1, 1, SHAPE(N));
    vkf_test_operand *out = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(BATCH * m * N + N));
    const vkf__gemm_args args = {.label = "gemm",
                                 .a = SPAN(rows),
                                 .b = SPAN(b),
                                 .bias = SPAN(bias),
                                 .d = SPAN(out),
                                 .m = m,
                                 .n = N,
                                 .k = BLOCKS_K,
                                 .batch = BATCH,
                                 .lda = BLOCKS_K,
                                 .ldb = BLOCKS_K,
                                 .ldd = N,
                                 .a_outer = m * BLOCKS_K,
                                 .d_outer = m * N,
                                 .transpose_b = true,
                                 .alpha = 1};
    RUN(dot ? "gemm of blocks by integer dot products" : "gemm of blocks", emit_gemm, args, out,
        blocks_expectation(m, a, b, bias, out), mutations);
}

// By the kernel for many rows and by the one for few, unaligned and aligned.
static void test_gemm_blocks_mutations_are_noticed(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    for (int i = 0; i < 4; i++) {
        ops->aligned = i % 2 == 1;
        run_blocks_mutations(ops, i < 2 ? M : 3, false);
    }
    ops->aligned = false;
}

static vkf_status emit_quantize(vkf__work *work, const void *args)
{
    return vkf__emit_quantize_rows(work, args);
}

static void run_quantize_mutations(vkf_test_ops *ops)
{
    enum { ROWS = 3, DEPTH = 96, LD = 97, WORDS = 12 };
    static const vkf_test_plant mutations[] = {
        VKF_PLANT(vkf__quantize_rows_args, weight, VKF_DTYPE_Q4),
        VKF_PLANT(vkf__quantize_rows_args, m, ROWS - 1),
        VKF_PLANT(vkf__quantize_rows_args, k, DEPTH - 32),
        VKF_PLANT(vkf__quantize_rows_args, batch, BATCH - 1),
        VKF_PLANT(vkf__quantize_rows_args, batch_inner, BATCH),
        VKF_PLANT(vkf__quantize_rows_args, ld, LD - 1),
        VKF_PLANT(vkf__quantize_rows_args, outer, LD),
        VKF_PLANT(vkf__quantize_rows_args, first, 1),
    };
    vkf_test_operand *x = vkf_test_uniform(ops, VKF_DTYPE_F32, -1, 1, SHAPE(BATCH, ROWS, LD));
    vkf_test_operand *out = vkf_test_output(ops, VKF_DTYPE_I32, SHAPE(BATCH * ROWS * DEPTH / 32 * WORDS));
    float *expected = expectation(out);
    for (uint32_t block = 0; block < BATCH * ROWS * DEPTH / 32; block++) {
        float *values = x->values + block / (DEPTH / 32) * LD + block % (DEPTH / 32) * 32;
        uint32_t words[WORDS];
        int8_t q[32];
        for (uint32_t i = 0; i < 32; i++)
            q[i] = i == 7 ? 127 : (int8_t)(values[i] * 127);
        for (uint32_t i = 0; i < 32; i++)
            values[i] = (float)q[i] / 128;
        vkf__quantized_block(VKF_DTYPE_Q8, 1.0f / 128, q, words);
        for (uint32_t i = 0; i < WORDS - 2; i++)
            expected[block * WORDS + i] = (float)(int32_t)words[i];
    }
    vkf_test_upload(ops, x);
    const vkf__quantize_rows_args args = {.label = "rows",
                                          .x = SPAN(x),
                                          .out = SPAN(out),
                                          .weight = VKF_DTYPE_Q8,
                                          .m = ROWS,
                                          .k = DEPTH,
                                          .batch = BATCH,
                                          .ld = LD,
                                          .outer = ROWS * LD};
    RUN("rows in blocks", emit_quantize, args, out, expected, mutations);
}

static void test_integer_dot_mutations_are_noticed(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    run_quantize_mutations(ops);
    if (!ops->gpu.context->device.plan.caps.integer_dot)
        return;
    ops->aligned = true;
    run_blocks_mutations(ops, M, true);
    run_blocks_mutations(ops, 3, true);
    ops->aligned = false;
}

// A product by a kernel of the registry with tile parameters and a grid of the test's own.
typedef struct tile_args {
    vkf__span a, b, d;
    vkf__config config;
    uint32_t grid_m, grid_n; // rows and columns of d that the grid takes a workgroup to cover
} tile_args;

static vkf_status emit_tile(vkf__work *work, const void *args)
{
    const tile_args *tile = args;
    const vkf_dtype types[] = {VKF_DTYPE_F32, VKF_DTYPE_F32, VKF_DTYPE_F32};
    const vkf__problem problem = {.m = M, .n = N, .k = K};
    const uint32_t flags[VKF_KERNEL_MAX_FLAGS] = {0};
    const struct vkf_gemm_params params = {.m = M,
                                           .n = N,
                                           .k = K,
                                           .batch = BATCH,
                                           .batch_inner = 1,
                                           .lda = K,
                                           .ldb = N,
                                           .ldd = N,
                                           .a_outer = M * K,
                                           .b_outer = K * N,
                                           .d_outer = M * N,
                                           .alpha = 1};
    vkf__variant variant;
    vkf_status status = vkf__work_select(work, VKF_OP_GEMM, types, &problem, &variant);
    if (status != VKF_OK)
        return status;
    variant.config = &tile->config;
    const vkf__dispatch dispatch = {
        .label = "tile",
        .variant = variant,
        .flags = flags,
        .bindings = {{tile->a, false}, {tile->b, false}, {tile->d, true}},
        .params = &params,
        .grid = {(N + tile->grid_n - 1) / tile->grid_n, (M + tile->grid_m - 1) / tile->grid_m, BATCH},
    };
    return vkf__work_dispatch(work, &dispatch);
}

// Half the invocations of a tile (or twice the rows or columns per invocation, which leaves some to nobody), and grids
// that take tiles to be larger than they are.
static const vkf_test_plant TILE_MUTATIONS[] = {
    VKF_PLANT(tile_args, config.local_size, 32),
    VKF_PLANT(tile_args, config.tile[0], 16),
    VKF_PLANT(tile_args, config.tile[1], 16),
    VKF_PLANT(tile_args, grid_m, 64),
    VKF_PLANT(tile_args, grid_n, 64),
};

static void test_gemm_tile_mutations_are_noticed(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    vkf_test_operand *a = vkf_test_uniform(ops, VKF_DTYPE_F32, -1, 1, SHAPE(BATCH, M, K));
    vkf_test_operand *b = vkf_test_uniform(ops, VKF_DTYPE_F32, -1, 1, SHAPE(BATCH, K, N));
    vkf_test_operand *out = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(BATCH, M, N));
    const tile_args args = {.a = SPAN(a),
                            .b = SPAN(b),
                            .d = SPAN(out),
                            .grid_m = 32,
                            .grid_n = 32,
                            .config = {.name = "test", .local_size = 64, .tile = {32, 32, 16, 4, 4}}};
    RUN("gemm tile", emit_tile, args, out, gemm_expectation(a, b, out), TILE_MUTATIONS);
}

static vkf_status emit_softmax(vkf__work *work, const void *args)
{
    return vkf__emit_softmax(work, args);
}

static const vkf_test_plant SOFTMAX_MUTATIONS[] = {
    VKF_PLANT(vkf__softmax_args, mask_row, 10),  VKF_PLANT(vkf__softmax_args, mask_head, 0),
    VKF_PLANT(vkf__softmax_args, mask_batch, 0), VKF_PLANT(vkf__softmax_args, key_mask_batch, 0),
    VKF_PLANT(vkf__softmax_args, mask_cols, 5),  VKF_PLANT(vkf__softmax_args, causal_offset, 7),
    VKF_PLANT(vkf__softmax_args, window, 3),     VKF_PLANT(vkf__softmax_args, scale, VKF_TEST_HALF_BITS),
    VKF_PLANT(vkf__softmax_args, k_len, 10),     VKF_PLANT(vkf__softmax_args, heads, 1),
    VKF_PLANT(vkf__softmax_args, q_len, 4),      VKF_PLANT(vkf__softmax_args, batch, 1),
    VKF_PLANT(vkf__softmax_args, mask_kind, 0),  VKF_PLANT(vkf__softmax_args, key_mask_kind, 0),
};

static void test_softmax_mutations_are_noticed(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    enum { B = 2, H = 2, L = 5, S = 11 };
    vkf_test_operand *x = vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(B, H, L, S));
    vkf_test_operand *mask = vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(B, H, L, S));
    vkf_test_operand *key_mask = vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(B, S));
    vkf_test_operand *out = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(B, H, L, S));
    const vkf__softmax_args args = {.label = "softmax",
                                    .x = SPAN(x),
                                    .out = SPAN(out),
                                    .mask = SPAN(mask),
                                    .key_mask = SPAN(key_mask),
                                    .mask_kind = VKF_MASK_ADDITIVE,
                                    .key_mask_kind = VKF_MASK_ADDITIVE,
                                    .batch = B,
                                    .heads = H,
                                    .q_len = L,
                                    .k_len = S,
                                    .mask_cols = S,
                                    .mask_batch = H * L * S,
                                    .mask_head = L * S,
                                    .mask_row = S,
                                    .key_mask_batch = S,
                                    .causal = true,
                                    .causal_offset = 4,
                                    .window = 6,
                                    .scale = 1};
    float *expected = expectation(out);
    vkf__ref_softmax(&(vkf__ref_softmax_desc){.batch = B,
                                              .heads = H,
                                              .q_len = L,
                                              .k_len = S,
                                              .mask_cols = S,
                                              .x = x->values,
                                              .out = expected,
                                              .scale = 1,
                                              .mask_kind = VKF_MASK_ADDITIVE,
                                              .mask = mask->values,
                                              .mask_batch = H * L * S,
                                              .mask_head = L * S,
                                              .mask_row = S,
                                              .key_mask_kind = VKF_MASK_ADDITIVE,
                                              .key_mask = key_mask->values,
                                              .causal = true,
                                              .causal_offset = 4,
                                              .window = 6});
    RUN("softmax", emit_softmax, args, out, expected, SOFTMAX_MUTATIONS);
}

static vkf_status emit_layer_norm(vkf__work *work, const void *args)
{
    return vkf__emit_layer_norm(work, args);
}

static const vkf_test_plant LAYER_NORM_MUTATIONS[] = {
    VKF_PLANT(vkf__layer_norm_args, dim, 18),
    VKF_PLANT(vkf__layer_norm_args, rows, 3),
    VKF_PLANT(vkf__layer_norm_args, eps, VKF_TEST_HALF_BITS),
    VKF_PLANT(vkf__layer_norm_args, weight.size_bytes, 0),
    VKF_PLANT(vkf__layer_norm_args, bias.size_bytes, 0),
    VKF_PLANT(vkf__layer_norm_args, weight.offset_bytes, 0),
    VKF_PLANT(vkf__layer_norm_args, rms, 1),
};
static const vkf_test_plant RESIDUAL_MUTATIONS[] = {
    VKF_PLANT(vkf__layer_norm_args, dim, 18),
    VKF_PLANT(vkf__layer_norm_args, rows, 3),
    VKF_PLANT(vkf__layer_norm_args, residual_order, VKF_RESIDUAL_NONE),
    VKF_PLANT(vkf__layer_norm_args, residual_order, VKF_RESIDUAL_AFTER),
    VKF_PLANT(vkf__layer_norm_args, residual.offset_bytes, 0),
};

static void run_layer_norm(void **state, vkf_residual_order order)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    vkf_test_operand *x = vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(4, 19));
    vkf_test_operand *weight = vkf_test_uniform(ops, VKF_DTYPE_F32, 0.5f, 1.5f, SHAPE(19));
    vkf_test_operand *bias = vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(19));
    vkf_test_operand *residual = vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(4, 19));
    vkf_test_operand *out = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(4, 19));
    const vkf__layer_norm_args args = {.label = "layer_norm",
                                       .x = SPAN(x),
                                       .out = SPAN(out),
                                       .weight = SPAN(weight),
                                       .bias = SPAN(bias),
                                       .residual = SPAN(residual),
                                       .residual_order = order,
                                       .rows = 4,
                                       .dim = 19,
                                       .eps = 1e-5f};
    float *expected = expectation(out);
    vkf__ref_layer_norm(&(vkf__ref_layer_norm_desc){.rows = 4,
                                                    .dim = 19,
                                                    .x = x->values,
                                                    .weight = weight->values,
                                                    .bias = bias->values,
                                                    .residual = residual->values,
                                                    .out = expected,
                                                    .eps = 1e-5f,
                                                    .residual_order = order});
    if (order == VKF_RESIDUAL_NONE)
        RUN("layer_norm", emit_layer_norm, args, out, expected, LAYER_NORM_MUTATIONS);
    else
        RUN("layer_norm_residual", emit_layer_norm, args, out, expected, RESIDUAL_MUTATIONS);
}

static void test_layer_norm_mutations_are_noticed(void **state)
{
    run_layer_norm(state, VKF_RESIDUAL_NONE);
}

static void test_layer_norm_residual_mutations_are_noticed(void **state)
{
    run_layer_norm(state, VKF_RESIDUAL_BEFORE);
}

static vkf_status emit_permute(vkf__work *work, const void *args)
{
    return vkf__emit_permute(work, args);
}

static const vkf_test_plant PERMUTE_MUTATIONS[] = {
    VKF_PLANT(vkf__permute_args, rows, 3),
    VKF_PLANT(vkf__permute_args, cols, 5),
    VKF_PLANT(vkf__permute_args, depth, 6),
    VKF_PLANT(vkf__permute_args, batch, 1),
};

static void test_permute_mutations_are_noticed(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    vkf_test_operand *x = vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(2, 5, 3, 7));
    vkf_test_operand *out =
        vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(3, 5, 5, 7)); // with room for a wrong number of columns
    const vkf__permute_args args = {
        .label = "permute", .x = SPAN(x), .out = SPAN(out), .batch = 2, .rows = 5, .cols = 3, .depth = 7};
    float *expected = expectation(out);
    vkf__ref_permute(2, 5, 3, 7, x->values, expected);
    RUN("permute", emit_permute, args, out, expected, PERMUTE_MUTATIONS);
}

static vkf_status emit_copy(vkf__work *work, const void *args)
{
    return vkf__emit_copy(work, args);
}

static const vkf_test_plant COPY_MUTATIONS[] = {
    VKF_PLANT(vkf__copy_args, x_row, 6),
    VKF_PLANT(vkf__copy_args, x_outer, 20),
    VKF_PLANT(vkf__copy_args, out_row, 5),
    VKF_PLANT(vkf__copy_args, out_outer, 17),
    VKF_PLANT(vkf__copy_args, out_first, 3),
    VKF_PLANT(vkf__copy_args, cols, 4),
    VKF_PLANT(vkf__copy_args, rows, 2),
    VKF_PLANT(vkf__copy_args, outer, 1),
    VKF_PLANT(vkf__copy_args, alpha, VKF_TEST_HALF_BITS),
    VKF_PLANT(vkf__copy_args, beta, VKF_TEST_HALF_BITS),
};

static void test_copy_mutations_are_noticed(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    vkf_test_operand *x = vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(2, 3, 7));
    vkf_test_operand *out = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(4 + 2 * 3 * 6));
    const vkf__copy_args args = {.label = "copy",
                                 .x = SPAN(x),
                                 .out = SPAN(out),
                                 .outer = 2,
                                 .rows = 3,
                                 .cols = 5,
                                 .x_outer = 21,
                                 .x_row = 7,
                                 .out_first = 4,
                                 .out_outer = 18,
                                 .out_row = 6,
                                 .alpha = 1};
    float *expected = expectation(out);
    for (uint32_t i = 0; i < 2 * 3 * 5; i++)
        expected[4 + i / 15 * 18 + i / 5 % 3 * 6 + i % 5] = x->values[i / 15 * 21 + i / 5 % 3 * 7 + i % 5];
    RUN("copy", emit_copy, args, out, expected, COPY_MUTATIONS);
}

static vkf_status emit_head_mean(vkf__work *work, const void *args)
{
    return vkf__emit_head_mean(work, args);
}

static const vkf_test_plant HEAD_MEAN_MUTATIONS[] = {
    VKF_PLANT(vkf__head_mean_args, heads, 2),
    VKF_PLANT(vkf__head_mean_args, plane, 4),
    VKF_PLANT(vkf__head_mean_args, batch, 1),
};

static void test_head_mean_mutations_are_noticed(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    vkf_test_operand *x = vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(2, 3, 5));
    vkf_test_operand *out = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(2, 5));
    const vkf__head_mean_args args = {
        .label = "mean", .x = SPAN(x), .out = SPAN(out), .batch = 2, .heads = 3, .plane = 5};
    float *expected = expectation(out);
    for (uint32_t i = 0; i < 10; i++) {
        const float *first = x->values + i / 5 * 15 + i % 5;
        expected[i] = (first[0] + first[5] + first[10]) / 3;
    }
    RUN("head_mean", emit_head_mean, args, out, expected, HEAD_MEAN_MUTATIONS);
}

static vkf_status emit_embed(vkf__work *work, const void *args)
{
    return vkf__emit_embed(work, args);
}

static const vkf_test_plant EMBED_MUTATIONS[] = {
    VKF_PLANT(vkf__embed_args, dim, 6),
    VKF_PLANT(vkf__embed_args, len, 3),
    VKF_PLANT(vkf__embed_args, batch, 1),
    VKF_PLANT(vkf__embed_args, vocab, 4),
    VKF_PLANT(vkf__embed_args, ids_stride, 5),
    VKF_PLANT(vkf__embed_args, ids_first, 1),
    VKF_PLANT(vkf__embed_args, first_position, 1),
    VKF_PLANT(vkf__embed_args, scale, VKF_TEST_HALF_BITS),
    VKF_PLANT(vkf__embed_args, positions.size_bytes, 0),
};

static void test_embed_mutations_are_noticed(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    static const int32_t tokens[] = {8, 0, 3, 5, 7, 2, 6, 1, 8};
    vkf_test_operand *ids = vkf_test_ids(ops, tokens, SHAPE(9)); // two rows of four, and one more for wrong strides
    vkf_test_operand *table = vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(9, 7));
    vkf_test_operand *positions = vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(6, 7));
    vkf_test_operand *out = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(2, 4, 7));
    const vkf__embed_args args = {.label = "embed",
                                  .ids = SPAN(ids),
                                  .table = SPAN(table),
                                  .positions = SPAN(positions),
                                  .out = SPAN(out),
                                  .batch = 2,
                                  .len = 4,
                                  .dim = 7,
                                  .vocab = 9,
                                  .ids_stride = 4,
                                  .first_position = 2,
                                  .scale = 3};
    float *expected = expectation(out);
    vkf__ref_embed(&(vkf__ref_embed_desc){.batch = 2,
                                          .len = 4,
                                          .dim = 7,
                                          .vocab = 9,
                                          .ids = tokens,
                                          .table = table->values,
                                          .positions = positions->values,
                                          .first_position = 2,
                                          .scale = 3,
                                          .out = expected});
    RUN("embed", emit_embed, args, out, expected, EMBED_MUTATIONS);
}

static vkf_status emit_argmax(vkf__work *work, const void *args)
{
    return vkf__emit_argmax(work, args);
}

static const vkf_test_plant ARGMAX_MUTATIONS[] = {
    VKF_PLANT(vkf__argmax_args, cols, 70),
    VKF_PLANT(vkf__argmax_args, rows, 4),
    VKF_PLANT(vkf__argmax_args, out_stride, 1),
    VKF_PLANT(vkf__argmax_args, out_first, 0),
};

static void test_argmax_mutations_are_noticed(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    vkf_test_operand *x = vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(5, 71));
    vkf_test_operand *out = vkf_test_output(ops, VKF_DTYPE_I32, SHAPE(10));
    const vkf__argmax_args args = {
        .label = "argmax", .x = SPAN(x), .out = SPAN(out), .rows = 5, .cols = 71, .out_stride = 2, .out_first = 1};
    int32_t indices[5];
    float *expected = expectation(out);
    vkf__ref_argmax(5, 71, x->values, indices);
    for (uint32_t i = 0; i < 5; i++)
        expected[2 * i + 1] = (float)indices[i];
    RUN("argmax", emit_argmax, args, out, expected, ARGMAX_MUTATIONS);
}

static vkf_status emit_additive(vkf__work *work, const void *args)
{
    return vkf__emit_additive(work, args);
}

static const vkf_test_plant ADDITIVE_MUTATIONS[] = {
    VKF_PLANT(vkf__additive_args, dim, 8),
    VKF_PLANT(vkf__additive_args, q_len, 2),
    VKF_PLANT(vkf__additive_args, k_len, 4),
    VKF_PLANT(vkf__additive_args, batch, 1),
};

static void test_additive_mutations_are_noticed(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    vkf_test_operand *query = vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(2, 3, 9));
    vkf_test_operand *key = vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(2, 5, 9));
    vkf_test_operand *v = vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(9));
    vkf_test_operand *out = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(2, 3, 5));
    const vkf__additive_args args = {.label = "additive",
                                     .query = SPAN(query),
                                     .key = SPAN(key),
                                     .v = SPAN(v),
                                     .out = SPAN(out),
                                     .batch = 2,
                                     .q_len = 3,
                                     .k_len = 5,
                                     .dim = 9};
    float *expected = expectation(out);
    vkf__ref_additive_scores(2, 3, 5, 9, query->values, key->values, v->values, expected);
    RUN("additive_scores", emit_additive, args, out, expected, ADDITIVE_MUTATIONS);
}

static vkf_status emit_rotary(vkf__work *work, const void *args)
{
    return vkf__emit_rotary(work, args);
}

static const vkf_test_plant ROTARY_MUTATIONS[] = {
    VKF_PLANT(vkf__rotary_args, batch, 1),
    VKF_PLANT(vkf__rotary_args, len, 2),
    VKF_PLANT(vkf__rotary_args, heads, 1),
    VKF_PLANT(vkf__rotary_args, head_dim, 8),
    VKF_PLANT(vkf__rotary_args, rotary_dim, 4),
    VKF_PLANT(vkf__rotary_args, first_position, 2),
    VKF_PLANT(vkf__rotary_args, x_first, 1),
    VKF_PLANT(vkf__rotary_args, x_batch, 62),
    VKF_PLANT(vkf__rotary_args, x_row, 20),
    VKF_PLANT(vkf__rotary_args, out_first, 1),
    VKF_PLANT(vkf__rotary_args, out_batch, 62),
    VKF_PLANT(vkf__rotary_args, out_row, 20),
    VKF_PLANT(vkf__rotary_args, eps, VKF_TEST_HALF_BITS),
    VKF_PLANT(vkf__rotary_args, table.size_bytes, 0),
    VKF_PLANT(vkf__rotary_args, weight.size_bytes, 0),
    VKF_PLANT(vkf__rotary_args, weight.offset_bytes, 0),
};

static void test_rotary_mutations_are_noticed(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    vkf_test_operand *x = vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(2, 3, 21));
    vkf_test_operand *table = vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(8, 6));
    vkf_test_operand *weight = vkf_test_uniform(ops, VKF_DTYPE_F32, 0.5f, 1.5f, SHAPE(9));
    vkf_test_operand *out = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(2, 3, 21));
    const vkf__rotary_args args = {.label = "rotary",
                                   .x = SPAN(x),
                                   .out = SPAN(out),
                                   .table = SPAN(table),
                                   .weight = SPAN(weight),
                                   .batch = 2,
                                   .len = 3,
                                   .heads = 2,
                                   .head_dim = 9,
                                   .rotary_dim = 6,
                                   .first_position = 3,
                                   .x_first = 2,
                                   .x_batch = 63,
                                   .x_row = 21,
                                   .out_first = 3,
                                   .out_batch = 63,
                                   .out_row = 21,
                                   .eps = 1e-5f};
    float *expected = expectation(out);
    vkf__ref_rotary(&(vkf__ref_rotary_desc){2, 3, 2, 9, 6, 3, x->values, table->values, weight->values, 2, 63, 21, 3,
                                            63, 21, 1e-5f, expected});
    RUN("rotary", emit_rotary, args, out, expected, ROTARY_MUTATIONS);
}

static vkf_status emit_gate(vkf__work *work, const void *args)
{
    return vkf__emit_gate(work, args);
}

static const vkf_test_plant GATE_MUTATIONS[] = {
    VKF_PLANT(vkf__gate_args, rows, 3),
    VKF_PLANT(vkf__gate_args, dim, 4),
    VKF_PLANT(vkf__gate_args, activation, VKF_ACTIVATION_GELU_ERF),
};

static void test_gate_mutations_are_noticed(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    vkf_test_operand *x = vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(4, 10));
    vkf_test_operand *out = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(4, 5));
    const vkf__gate_args args = {
        .label = "gate", .x = SPAN(x), .out = SPAN(out), .rows = 4, .dim = 5, .activation = VKF_ACTIVATION_SILU};
    float *expected = expectation(out);
    vkf__ref_gate(4, 5, VKF_ACTIVATION_SILU, x->values, expected);
    RUN("gate", emit_gate, args, out, expected, GATE_MUTATIONS);
}

static vkf_status emit_sample(vkf__work *work, const void *args)
{
    return vkf__emit_sample(work, args);
}

enum { SAMPLE_ROWS = 40, SAMPLE_COLS = 71 };

static const vkf_test_plant SAMPLE_MUTATIONS[] = {
    VKF_PLANT(vkf__sample_args, cols, SAMPLE_COLS - 1),
    VKF_PLANT(vkf__sample_args, rows, SAMPLE_ROWS - 1),
    VKF_PLANT(vkf__sample_args, out_stride, 1),
    VKF_PLANT(vkf__sample_args, out_first, 0),
    VKF_PLANT(vkf__sample_args, temperature, 0),
    VKF_PLANT(vkf__sample_args, temperature, VKF_TEST_HALF_BITS),
    VKF_PLANT(vkf__sample_args, top_k, 2),
    VKF_PLANT(vkf__sample_args, top_p, VKF_TEST_HALF_BITS),
    VKF_PLANT(vkf__sample_args, min_p, VKF_TEST_HALF_BITS),
    VKF_PLANT(vkf__sample_args, seed, 8),
    VKF_PLANT(vkf__sample_args, seed, UINT64_C(7) << 32),
    VKF_PLANT(vkf__sample_args, step, 2),
};

static void test_sample_mutations_are_noticed(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    vkf_test_operand *x = vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(SAMPLE_ROWS, SAMPLE_COLS));
    vkf_test_operand *out = vkf_test_output(ops, VKF_DTYPE_I32, SHAPE(2 * SAMPLE_ROWS));
    const vkf__sample_args args = {.label = "sample",
                                   .x = SPAN(x),
                                   .out = SPAN(out),
                                   .rows = SAMPLE_ROWS,
                                   .cols = SAMPLE_COLS,
                                   .out_stride = 2,
                                   .out_first = 1,
                                   .temperature = 1,
                                   .top_p = 1,
                                   .repetition_penalty = 1,
                                   .seed = 7,
                                   .step = 1};
    double probabilities[SAMPLE_COLS], sorted[SAMPLE_COLS], margin = 0;
    float *expected = expectation(out);
    for (uint32_t i = 0; i < SAMPLE_ROWS; i++) {
        const vkf__ref_sample_desc row = {.cols = SAMPLE_COLS,
                                          .x = x->values + (size_t)i * SAMPLE_COLS,
                                          .temperature = 1,
                                          .top_p = 1,
                                          .repetition_penalty = 1,
                                          .seed = 7,
                                          .step = 1};
        expected[2 * i + 1] = (float)vkf__ref_sample(&row, i, probabilities, sorted, &margin);
        if (margin < 1e-5)
            fail_msg("row %u is drawn near a border: take another seed", i);
    }
    RUN("sample", emit_sample, args, out, expected, SAMPLE_MUTATIONS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        VKF_OPS_TEST(test_gemm_mutations_are_noticed),
        VKF_OPS_TEST(test_gemm_blocks_mutations_are_noticed),
        VKF_OPS_TEST(test_integer_dot_mutations_are_noticed),
        VKF_OPS_TEST(test_gemm_tile_mutations_are_noticed),
        VKF_OPS_TEST(test_softmax_mutations_are_noticed),
        VKF_OPS_TEST(test_layer_norm_mutations_are_noticed),
        VKF_OPS_TEST(test_layer_norm_residual_mutations_are_noticed),
        VKF_OPS_TEST(test_permute_mutations_are_noticed),
        VKF_OPS_TEST(test_copy_mutations_are_noticed),
        VKF_OPS_TEST(test_head_mean_mutations_are_noticed),
        VKF_OPS_TEST(test_embed_mutations_are_noticed),
        VKF_OPS_TEST(test_argmax_mutations_are_noticed),
        VKF_OPS_TEST(test_additive_mutations_are_noticed),
        VKF_OPS_TEST(test_rotary_mutations_are_noticed),
        VKF_OPS_TEST(test_gate_mutations_are_noticed),
        VKF_OPS_TEST(test_sample_mutations_are_noticed),
    };
    return cmocka_run_group_tests_name("op_mutations", tests, vkf_test_ops_setup, vkf_test_ops_teardown);
}
