// Small devices: storage buffer ranges that cut weights and embedding tables into slices, grids folded into two
// dimensions, and the smallest workgroups. Each result equals that of the device as it is; slices and grids change no
// bit of it.
#include <stdlib.h>

#include "support/gemm_case.h"

static const char *const SMALL_RANGE[] = {"maxStorageBufferRange=65536"};
static const char *const SMALL_GRID[] = {"maxComputeWorkGroupCount[0]=8", "maxComputeWorkGroupCount[2]=3"};
static const char *const SMALL_WORKGROUP[] = {"maxComputeWorkGroupInvocations=64",
                                              "maxPerStageDescriptorStorageBuffers=4", "storageBuffer16BitAccess"};
static const char *const TINY_GRID[] = {"maxComputeWorkGroupCount[0]=2", "maxComputeWorkGroupCount[1]=2"};

// The same operand in another context.
static vkf_test_operand *twin(vkf_test_ops *ops, const vkf_test_operand *operand)
{
    const vkf_tensor *tensor = &operand->tensor;
    if (!operand->ids)
        return vkf_test_values(ops, tensor->dtype, operand->values, tensor->rank, tensor->shape);
    return vkf_test_ids(ops, operand->ids, tensor->rank, tensor->shape);
}

// Both contexts of a test: the device as it is and the small one.
static vkf_test_ops *open_small(void **state, vkf_test_ops *small, const char *const *masks, uint32_t mask_count)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    assert_true(vkf_test_ops_open(small, masks, mask_count));
    return ops;
}

static void linear(vkf_test_ops *ops, const vkf_test_operand *x, const vkf_test_operand *weight,
                   const vkf_test_operand *bias, vkf_test_operand *out)
{
    const vkf_gemm_desc desc = {.a = x->tensor,
                                .b = weight->tensor,
                                .bias = vkf_test_tensor_of(bias),
                                .out = out->tensor,
                                .transpose_b = true,
                                .alpha = 1};
    vkf_test_assert_ok(ops, vkf_gemm(ops->gpu.context, &desc), "vkf_gemm");
    vkf_test_download(ops, out);
}

// x (m, k) times a weight (n, k) of several bindings' size.
static void run_sliced_weight(vkf_test_ops *ops, vkf_test_ops *small, vkf_dtype dtype, uint32_t m, uint32_t n,
                              uint32_t k)
{
    vkf_test_operand *x = vkf_test_uniform(ops, dtype, -1, 1, SHAPE(m, k));
    vkf_test_operand *weight = vkf_test_uniform(ops, dtype, -1, 1, SHAPE(n, k));
    vkf_test_operand *bias = vkf_test_uniform(ops, dtype, -1, 1, SHAPE(n));
    vkf_test_operand *expected = vkf_test_output(ops, dtype, SHAPE(m, n));
    vkf_test_operand *out = vkf_test_output(small, dtype, SHAPE(m, n));
    linear(ops, x, weight, bias, expected);
    linear(small, twin(small, x), twin(small, weight), twin(small, bias), out);
    // A weight in parts may get another kernel than the whole, with another order of sums.
    double tolerance = dtype == VKF_DTYPE_F32 ? 1e-5 : 2e-3;
    assert_close(out->values, expected->values, out->count, 5 * tolerance, tolerance,
                 vkf_test_label(&ops->gpu, "sliced weight %s (%u, %u)", vkf_dtype_name(dtype), n, k));
    vkf_test_ops_reset(ops);
    vkf_test_ops_reset(small);
}

// The last two have rows so long that a slice holds one of them, at an odd element in half storage.
static void test_gemm_weight_in_slices_gives_the_same(void **state)
{
    static const uint32_t sizes[][3] = {{3, 999, 37}, {9, 700, 101}, {50, 300, 130}, {1, 5, 10001}, {1, 5, 20001}};
    vkf_test_ops small;
    vkf_test_ops *ops = open_small(state, &small, SMALL_RANGE, 1);
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        run_sliced_weight(ops, &small, VKF_DTYPE_F16, sizes[i][0], sizes[i][1], sizes[i][2]);
        if (sizes[i][2] < 16000) // a row fits
            run_sliced_weight(ops, &small, VKF_DTYPE_F32, sizes[i][0], sizes[i][1], sizes[i][2]);
    }
    vkf_test_ops_close(&small);
}

static void test_gemm_operand_beyond_range_is_refused(void **state)
{
    static const uint32_t sizes[][3] = {{129, 1, 129}, {129, 129, 1}, {1, 2, 20000}}; // a; the output; one row of b
    vkf_test_ops small;
    (void)open_small(state, &small, SMALL_RANGE, 1);
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        vkf_test_operand *a = vkf_test_constant(&small, VKF_DTYPE_F32, 1, SHAPE(sizes[i][0], sizes[i][2]));
        vkf_test_operand *b = vkf_test_constant(&small, VKF_DTYPE_F32, 1, SHAPE(sizes[i][1], sizes[i][2]));
        vkf_test_operand *out = vkf_test_output(&small, VKF_DTYPE_F32, SHAPE(sizes[i][0], sizes[i][1]));
        const vkf_gemm_desc desc = {a->tensor, b->tensor, .out = out->tensor, .transpose_b = true, .alpha = 1};
        vkf_test_assert_refused(&small, vkf_gemm(small.gpu.context, &desc), VKF_ERROR_TOO_LARGE, "beyond the range");
        vkf_test_assert_untouched(&small, out);
        vkf_test_ops_reset(&small);
    }
    vkf_test_ops_close(&small);
}

static void embed(vkf_test_ops *ops, const vkf_test_operand *ids, const vkf_test_operand *table,
                  const vkf_test_operand *positions, vkf_test_operand *out)
{
    const vkf_embed_desc desc = {ids->tensor, table->tensor, positions->tensor, out->tensor, 2.5f, 1};
    vkf_test_assert_ok(ops, vkf_embed(ops->gpu.context, &desc), "vkf_embed");
    vkf_test_download(ops, out);
}

// Tokens of every slice, and three outside the table.
static void run_sliced_table(vkf_test_ops *ops, vkf_test_ops *small, vkf_dtype dtype, uint32_t vocab, uint32_t dim)
{
    enum { TOKENS = 40 };
    vkf_test_operand *ids = vkf_test_output(ops, VKF_DTYPE_I32, SHAPE(2, TOKENS));
    for (uint32_t i = 0; i < 2 * TOKENS; i++)
        ids->ids[i] = (int32_t)((uint64_t)i * (vocab - 1) / (2 * TOKENS - 1));
    ids->ids[5] = -1;
    ids->ids[6] = (int32_t)vocab;
    ids->ids[50] = INT32_MIN;
    vkf_test_upload(ops, ids);
    vkf_test_operand *table = vkf_test_normal(ops, dtype, 0, 1, SHAPE(vocab, dim));
    vkf_test_operand *positions = vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(TOKENS + 1, dim));
    vkf_test_operand *expected = vkf_test_output(ops, dtype, SHAPE(2, TOKENS, dim));
    vkf_test_operand *out = vkf_test_output(small, dtype, SHAPE(2, TOKENS, dim));
    embed(ops, ids, table, positions, expected);
    embed(small, twin(small, ids), twin(small, table), twin(small, positions), out);
    assert_close(out->values, expected->values, out->count, 0, 0,
                 vkf_test_label(&ops->gpu, "sliced table %s (%u, %u)", vkf_dtype_name(dtype), vocab, dim));
    vkf_test_ops_reset(ops);
    vkf_test_ops_reset(small);
}

static void test_embed_table_in_slices_gives_the_same(void **state)
{
    static const uint32_t sizes[][2] = {{1000, 37}, {3001, 64}, {70001, 1}, {700, 101}};
    vkf_test_ops small;
    vkf_test_ops *ops = open_small(state, &small, SMALL_RANGE, 1);
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        run_sliced_table(ops, &small, VKF_DTYPE_F32, sizes[i][0], sizes[i][1]);
        run_sliced_table(ops, &small, VKF_DTYPE_F16, sizes[i][0], sizes[i][1]);
    }
    vkf_test_ops_close(&small);
}

// Every operator whose grid is folded, against the device as it is.
static void run_flat(vkf_test_ops *ops, const vkf_test_operand *x, vkf_test_operand *permuted, vkf_test_operand *copied,
                     vkf_test_operand *softmax, vkf_test_operand *norm, vkf_test_operand *indices)
{
    vkf_context *context = ops->gpu.context;
    const vkf_softmax_desc softmax_desc = {.x = x->tensor, .out = softmax->tensor, .causal = VKF_CAUSAL_TOP_LEFT};
    const vkf_layer_norm_desc norm_desc = {.x = x->tensor,
                                           .residual = permuted->tensor,
                                           .out = norm->tensor,
                                           .eps = 1e-5f,
                                           .residual_order = VKF_RESIDUAL_AFTER};
    const vkf_argmax_desc argmax_desc = {.x = x->tensor, .out = indices->tensor};
    vkf_test_assert_ok(ops, vkf_split_heads(context, &x->tensor, &permuted->tensor), "vkf_split_heads");
    vkf_test_assert_ok(ops, vkf_copy(context, &x->tensor, &copied->tensor), "vkf_copy");
    vkf_test_assert_ok(ops, vkf_softmax(context, &softmax_desc), "vkf_softmax");
    vkf_test_assert_ok(ops, vkf_layer_norm(context, &norm_desc), "vkf_layer_norm");
    vkf_test_assert_ok(ops, vkf_argmax(context, &argmax_desc), "vkf_argmax");
}

// 2 * 17 * 17 rows of 9, shaped so that the permuted tensor has the same shape.
static void run_folded(void **state, const char *const *masks, uint32_t mask_count, double atol)
{
    vkf_test_ops small;
    vkf_test_ops *both[] = {open_small(state, &small, masks, mask_count), &small};
    vkf_test_operand *x = vkf_test_normal(both[0], VKF_DTYPE_F32, 0, 1, SHAPE(2, 17, 17, 9));
    vkf_test_operand *inputs[] = {x, twin(&small, x)}, *out[2][4], *indices[2];
    for (int i = 0; i < 2; i++) {
        for (int j = 0; j < 4; j++)
            out[i][j] = vkf_test_output(both[i], j == 1 ? VKF_DTYPE_F16 : VKF_DTYPE_F32, SHAPE(2, 17, 17, 9));
        indices[i] = vkf_test_output(both[i], VKF_DTYPE_I32, SHAPE(2, 17, 17));
        run_flat(both[i], inputs[i], out[i][0], out[i][1], out[i][2], out[i][3], indices[i]);
        for (int j = 0; j < 4; j++)
            vkf_test_download(both[i], out[i][j]);
        vkf_test_download(both[i], indices[i]);
    }
    for (int j = 0; j < 4; j++)
        assert_close(out[1][j]->values, out[0][j]->values, x->count, atol, 0,
                     vkf_test_label(&small.gpu, "output %d", j));
    assert_memory_equal(indices[1]->ids, indices[0]->ids, indices[0]->count * sizeof(int32_t));
    vkf_test_ops_close(&small);
}

static void test_folded_grids_give_the_same(void **state)
{
    run_folded(state, SMALL_GRID, COUNT_OF(SMALL_GRID), 0);
}

// Other workgroups sum in another order: 1e-5; and without 16-bit storage halves are rounded by the shader's own code.
static void test_small_workgroups_give_the_same(void **state)
{
    run_folded(state, SMALL_WORKGROUP, COUNT_OF(SMALL_WORKGROUP), 1e-5);
}

static void test_gemm_small_workgroups(void **state)
{
    static const vkf_test_gemm_types types = {VKF_DTYPE_F32, VKF_DTYPE_F32, VKF_DTYPE_F32};
    vkf_test_ops small;
    (void)open_small(state, &small, SMALL_WORKGROUP, COUNT_OF(SMALL_WORKGROUP));
    vkf_test_gemm_run(&small, &types, &(vkf_test_gemm_case){.m = 65, .n = 66, .k = 67, .alpha = 1}, false, 2e-5, 1e-5);
    vkf_test_ops_close(&small);
}

// More batch entries than the third dimension of a grid has workgroups.
static void test_gemm_batch_beyond_grid(void **state)
{
    static const vkf_test_gemm_types types = {VKF_DTYPE_F32, VKF_DTYPE_F32, VKF_DTYPE_F32};
    vkf_test_ops small;
    (void)open_small(state, &small, SMALL_GRID, COUNT_OF(SMALL_GRID));
    for (uint32_t batch = 3; batch <= 10; batch++)
        vkf_test_gemm_run(&small, &types, &(vkf_test_gemm_case){.batch = batch, .m = 9, .n = 5, .k = 33, .alpha = 1},
                          false, 2e-5, 1e-5);
    vkf_test_ops_close(&small);
}

// More columns than the first dimension of a grid has tiles: workgroups go on to other columns, or the weight is cut.
static void test_gemm_columns_beyond_grid(void **state)
{
    static const vkf_test_gemm_types types[] = {{VKF_DTYPE_F32, VKF_DTYPE_F32, VKF_DTYPE_F32},
                                                {VKF_DTYPE_F32, VKF_DTYPE_Q8, VKF_DTYPE_F32},
                                                {VKF_DTYPE_F32, VKF_DTYPE_Q4, VKF_DTYPE_F32}};
    static const uint32_t rows[] = {1, 3, 8, 9, 70};
    vkf_test_ops small;
    (void)open_small(state, &small, SMALL_GRID, COUNT_OF(SMALL_GRID));
    for (size_t i = 0; i < 2 * COUNT_OF(rows) * COUNT_OF(types); i++) {
        const vkf_test_gemm_case gemm = {.m = rows[i / 2 % COUNT_OF(rows)],
                                         .n = 1061,
                                         .k = 32,
                                         .transpose_b = true,
                                         .packed = i % 2 == 1 && i / 2 < COUNT_OF(rows),
                                         .alpha = 1,
                                         .bias = true};
        small.aligned = i % 2 == 1;
        vkf_test_gemm_run(&small, &types[i / 2 / COUNT_OF(rows)], &gemm, false, 2e-5, 2e-5);
    }
    vkf_test_ops_close(&small);
}

// The limit of many devices, with a vocabulary of 2^18 tokens and a kernel whose workgroups compute four of its
// columns.
static void test_gemm_vocabulary_beyond_grid(void **state)
{
    static const vkf_test_gemm_types types = {VKF_DTYPE_F32, VKF_DTYPE_F32, VKF_DTYPE_F32};
    const vkf_test_gemm_case gemm = {.m = 1, .n = 262144, .k = 8, .transpose_b = true, .alpha = 1, .bias = true};
    vkf_test_ops ops;
    (void)vkf_test_ops_of(state);
    if (vkf_test_ops_open_variant(&ops, "gemv."))
        vkf_test_gemm_run(&ops, &types, &gemm, false, 2e-5, 2e-5);
    vkf_test_ops_close(&ops);
}

static void test_grid_beyond_both_dimensions_is_refused(void **state)
{
    vkf_test_ops small;
    (void)open_small(state, &small, TINY_GRID, COUNT_OF(TINY_GRID));
    vkf_test_operand *x = vkf_test_constant(&small, VKF_DTYPE_F32, 1, SHAPE(129, 5));
    vkf_test_operand *out = vkf_test_output(&small, VKF_DTYPE_F32, SHAPE(129, 5));
    const vkf_softmax_desc softmax = {.x = x->tensor, .out = out->tensor};
    vkf_test_assert_refused(&small, vkf_copy(small.gpu.context, &x->tensor, &out->tensor), VKF_ERROR_TOO_LARGE, "copy");
    vkf_test_assert_refused(&small, vkf_softmax(small.gpu.context, &softmax), VKF_ERROR_TOO_LARGE, "softmax");
    vkf_test_assert_untouched(&small, out);
    vkf_test_ops_close(&small);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        VKF_OPS_TEST(test_gemm_weight_in_slices_gives_the_same),
        VKF_OPS_TEST(test_gemm_operand_beyond_range_is_refused),
        VKF_OPS_TEST(test_embed_table_in_slices_gives_the_same),
        VKF_OPS_TEST(test_folded_grids_give_the_same),
        VKF_OPS_TEST(test_small_workgroups_give_the_same),
        VKF_OPS_TEST(test_gemm_small_workgroups),
        VKF_OPS_TEST(test_gemm_batch_beyond_grid),
        VKF_OPS_TEST(test_gemm_columns_beyond_grid),
        VKF_OPS_TEST(test_gemm_vocabulary_beyond_grid),
        VKF_OPS_TEST(test_grid_beyond_both_dimensions_is_refused),
    };
    return cmocka_run_group_tests_name("op_limits", tests, vkf_test_ops_setup, vkf_test_ops_teardown);
}
