// Whether the comparisons of products notice anything: as test_op_mutations.c, with wrong tiles, too.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "op/gemm.h"
#include "op/quantize_rows.h"
#include "reference/reference.h"
#include "shared/gemm.h"
#include "support/block_weight.h"
#include "support/mutations.h"

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
    float *expected = vkf_test_expectation(out);
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
    float *expected = vkf_test_expectation(out);
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

// By the kernel for many rows and by the one for few, unaligned and aligned; none of which rounds its rows.
static void test_gemm_blocks_mutations_are_noticed(void **state)
{
    static const char *const masks[] = {VKF_TEST_NO_INTEGER_DOT_UNITS};
    vkf_test_ops ops;
    (void)vkf_test_ops_of(state);
    for (int i = 0; i < 4 && vkf_test_ops_open(&ops, masks, 1); i++) {
        ops.aligned = i % 2 == 1;
        run_blocks_mutations(&ops, i < 2 ? M : 3, false);
        vkf_test_ops_close(&ops);
    }
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
    float *expected = vkf_test_expectation(out);
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
    if (!ops->gpu.context->device.plan.caps.integer_dot) {
        printf("skipped: the device has no integer dot products\n");
        skip();
    }
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
    const uint32_t flags[VKF_KERNEL_MAX_SPEC] = {0};
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
    VKF_PLANT(tile_args, config.tile.gemm.m, 16),
    VKF_PLANT(tile_args, config.tile.gemm.n, 16),
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
                            .config = {.name = "test", .local_size = 64, .tile.gemm = {32, 32, 16, 4, 4}}};
    RUN("gemm tile", emit_tile, args, out, gemm_expectation(a, b, out), TILE_MUTATIONS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        VKF_OPS_TEST(test_gemm_mutations_are_noticed),
        VKF_OPS_TEST(test_gemm_blocks_mutations_are_noticed),
        VKF_OPS_TEST(test_integer_dot_mutations_are_noticed),
        VKF_OPS_TEST(test_gemm_tile_mutations_are_noticed),
    };
    return cmocka_run_group_tests_name("op_mutations_gemm", tests, vkf_test_ops_setup, vkf_test_ops_teardown);
}
