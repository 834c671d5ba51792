// Operators on tensors without elements, and the floats of descriptors in which 0 itself has a name.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/op_fixture.h"

// A tensor without elements, and without a buffer.
static vkf_tensor empty(vkf_dtype dtype, uint32_t rank, const uint32_t *shape)
{
    vkf_tensor tensor = {.dtype = dtype, .rank = rank};
    memcpy(tensor.shape, shape, rank * sizeof *shape);
    return tensor;
}

#define EMPTY(...) empty(VKF_DTYPE_F32, SHAPE(__VA_ARGS__))
#define EMPTY_IDS(...) empty(VKF_DTYPE_I32, SHAPE(__VA_ARGS__))

static vkf_tensor floats(vkf_test_ops *ops, uint32_t rank, const uint32_t *shape)
{
    return vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, rank, shape)->tensor;
}

static void test_tensors_without_elements_are_made_and_read(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    const uint32_t shape[] = {2, 0, 3};
    vkf_tensor tensor;
    uint64_t bytes = 1;
    vkf_test_assert_ok(ops, vkf_tensor_create(ops->gpu.context, VKF_DTYPE_F16, 3, shape, "none", &tensor), "create");
    assert_true(vkf_tensor_bytes(&tensor, &bytes) && bytes == 0);
    vkf_test_assert_ok(ops, vkf_tensor_write(&tensor, shape, 0), "write");
    vkf_test_assert_ok(ops, vkf_tensor_read(&tensor, &bytes, 0), "read");
    vkf_test_assert_ok(ops, vkf_copy(ops->gpu.context, &tensor, &tensor), "copy");
    vkf_tensor_destroy(&tensor);
}

// Wherever in another tensor it begins.
static void test_tensors_without_elements_overlap_nothing(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    vkf_test_operand *out = vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(4, 3));
    const vkf_tensor rest = vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(4, 3))->tensor;
    vkf_tensor inputs[] = {out->tensor, rest};
    inputs[0].shape[0] = 0;
    inputs[0].offset_bytes += 3 * sizeof(float);
    const vkf_concat_desc desc = {.inputs = inputs, .input_count = 2, .out = out->tensor};
    vkf_test_assert_ok(ops, vkf_concat(ops->gpu.context, &desc), "vkf_concat");
}

// With a size of 0 in each place that leaves the output empty.
static void test_empty_products(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    vkf_context *context = ops->gpu.context;
    const vkf_gemm_desc descs[] = {
        {.a = EMPTY(0, 4), .b = floats(ops, SHAPE(4, 3)), .out = EMPTY(0, 3), .alpha = 1},
        {.a = floats(ops, SHAPE(2, 4)), .b = EMPTY(4, 0), .bias = EMPTY(0), .out = EMPTY(2, 0), .alpha = 1},
        {.a = EMPTY(0, 2, 4), .b = EMPTY(0, 4, 3), .out = EMPTY(0, 2, 3), .alpha = 1},
        {.a = EMPTY(0, 0), .b = EMPTY(0, 0), .out = EMPTY(0, 0), .alpha = 1},
    };
    for (size_t i = 0; i < COUNT_OF(descs); i++)
        vkf_test_assert_ok(ops, vkf_gemm(context, &descs[i]), "vkf_gemm");
    vkf_gemm_desc wrong = descs[0];
    wrong.b = EMPTY(5, 3);
    vkf_test_assert_refused(ops, vkf_gemm(context, &wrong), VKF_ERROR_INVALID_ARGUMENT, "k of 4 and 5");
    wrong = descs[0];
    wrong.b.buffer = NULL;
    vkf_test_assert_refused(ops, vkf_gemm(context, &wrong), VKF_ERROR_INVALID_ARGUMENT, "elements without a buffer");
}

static void test_empty_results(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    vkf_context *context = ops->gpu.context;
    const vkf_layer_norm_desc norms[] = {
        {.x = EMPTY(0, 7), .weight = floats(ops, SHAPE(7)), .out = EMPTY(0, 7)},
        {.x = EMPTY(3, 0), .weight = EMPTY(0), .bias = EMPTY(0), .out = EMPTY(3, 0), .rms = true},
    };
    const vkf_embed_desc embed = {.ids = EMPTY_IDS(2, 0), .table = EMPTY(0, 4), .out = EMPTY(2, 0, 4)};
    const vkf_additive_scores_desc scores = {
        .query = EMPTY(2, 0, 3), .key = floats(ops, SHAPE(2, 4, 3)), .v = floats(ops, SHAPE(3)), .out = EMPTY(2, 0, 4)};
    const vkf_argmax_desc argmax = {.x = EMPTY(0, 4), .out = EMPTY_IDS(0)};
    const vkf_activate_desc activate = {.x = EMPTY(0), .out = EMPTY(0), .activation = VKF_ACTIVATION_ELU};
    const vkf_tensor inputs[] = {EMPTY(0, 3), EMPTY(0, 3)};
    const vkf_concat_desc concat = {.inputs = inputs, .input_count = 2, .out = EMPTY(0, 3)};
    const vkf_gather_desc gather = {.x = floats(ops, SHAPE(4, 3)), .index = EMPTY_IDS(0, 3), .out = EMPTY(0, 3)};
    const vkf_rotary_desc rotary = {
        .x = EMPTY(2, 0, 3, 4), .out = EMPTY(2, 0, 3, 4), .table = floats(ops, SHAPE(3, 4))};
    const vkf_tensor x = EMPTY(2, 0, 3, 4), permuted = EMPTY(2, 3, 0, 4);
    for (size_t i = 0; i < COUNT_OF(norms); i++)
        vkf_test_assert_ok(ops, vkf_layer_norm(context, &norms[i]), "vkf_layer_norm");
    vkf_test_assert_ok(ops, vkf_embed(context, &embed), "vkf_embed");
    vkf_test_assert_ok(ops, vkf_additive_scores(context, &scores), "vkf_additive_scores");
    vkf_test_assert_ok(ops, vkf_argmax(context, &argmax), "vkf_argmax");
    vkf_test_assert_ok(ops, vkf_activate(context, &activate), "vkf_activate");
    vkf_test_assert_ok(ops, vkf_concat(context, &concat), "vkf_concat");
    vkf_test_assert_ok(ops, vkf_gather(context, &gather), "vkf_gather");
    vkf_test_assert_ok(ops, vkf_rotary(context, &rotary), "vkf_rotary");
    vkf_test_assert_ok(ops, vkf_split_heads(context, &x, &permuted), "vkf_split_heads");
    vkf_test_assert_ok(ops, vkf_merge_heads(context, &x, &permuted), "vkf_merge_heads");
    vkf_test_assert_ok(ops, vkf_copy(context, &x, &permuted), "vkf_copy");
}

static void test_attention_of_nothing(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    vkf_context *context = ops->gpu.context;
    vkf_test_operand *out = vkf_test_normal(ops, VKF_DTYPE_F32, 1, 1, SHAPE(2, 2, 3, 5));
    const vkf_sdpa_desc descs[] = {
        {.query = EMPTY(0, 2, 3, 4), .key = EMPTY(0, 2, 7, 4), .value = EMPTY(0, 2, 7, 5), .out = EMPTY(0, 2, 3, 5)},
        {.query = EMPTY(2, 0, 3, 4), .key = EMPTY(2, 0, 7, 4), .value = EMPTY(2, 0, 7, 5), .out = EMPTY(2, 0, 3, 5)},
        {.query = EMPTY(2, 2, 0, 4),
         .key = floats(ops, SHAPE(2, 1, 7, 4)),
         .value = floats(ops, SHAPE(2, 1, 7, 5)),
         .out = EMPTY(2, 2, 0, 5)},
        {.query = floats(ops, SHAPE(2, 2, 3, 4)),
         .key = EMPTY(2, 1, 0, 4),
         .value = EMPTY(2, 1, 0, 5),
         .out = out->tensor},
    };
    for (size_t i = 0; i < COUNT_OF(descs); i++)
        vkf_test_assert_ok(ops, vkf_scaled_dot_product_attention(context, &descs[i]), "attention");
    vkf_test_download(ops, out);
    for (size_t i = 0; i < out->count; i++)
        assert_true(out->values[i] == 0);
    vkf_sdpa_desc wrong = descs[0];
    wrong.query = wrong.key = EMPTY(0, 2, 3, 0);
    vkf_test_assert_refused(ops, vkf_scaled_dot_product_attention(context, &wrong), VKF_ERROR_INVALID_ARGUMENT,
                            "heads without elements");
    const vkf_softmax_desc rows = {.x = EMPTY(2, 0, 3), .out = EMPTY(2, 0, 3)};
    const vkf_softmax_desc columns = {.x = EMPTY(2, 3, 0), .out = EMPTY(2, 3, 0)};
    vkf_test_assert_ok(ops, vkf_softmax(context, &rows), "no rows");
    vkf_test_assert_ok(ops, vkf_softmax(context, &columns), "no columns");
}

// Nothing is the largest of no elements, and no id finds a row of a table without rows.
static void test_what_nothing_has_is_refused(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    const int32_t id = 0;
    vkf_test_operand *out = vkf_test_output(ops, VKF_DTYPE_I32, SHAPE(3));
    vkf_test_operand *rows = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(1, 1, 4));
    const vkf_argmax_desc argmax = {.x = EMPTY(3, 0), .out = out->tensor};
    const vkf_embed_desc embed = {
        .ids = vkf_test_ids(ops, &id, SHAPE(1, 1))->tensor, .table = EMPTY(0, 4), .out = rows->tensor};
    vkf_test_assert_refused(ops, vkf_argmax(ops->gpu.context, &argmax), VKF_ERROR_INVALID_ARGUMENT, "argmax");
    vkf_test_assert_refused(ops, vkf_embed(ops->gpu.context, &embed), VKF_ERROR_INVALID_ARGUMENT, "embed");
    vkf_test_assert_untouched(ops, out);
    vkf_test_assert_untouched(ops, rows);
}

typedef struct sum_case {
    vkf_dtype a, b, d;
    bool c, bias, residual, in_place;
    vkf_activation activation;
} sum_case;

static const sum_case SUMS[] = {
    {VKF_DTYPE_F32, VKF_DTYPE_F32, VKF_DTYPE_F32, false, false, false, false, VKF_ACTIVATION_NONE},
    {VKF_DTYPE_F32, VKF_DTYPE_F32, VKF_DTYPE_F32, true, true, false, true, VKF_ACTIVATION_RELU},
    {VKF_DTYPE_F32, VKF_DTYPE_F16, VKF_DTYPE_F32, false, true, true, true, VKF_ACTIVATION_SIGMOID},
    {VKF_DTYPE_F16, VKF_DTYPE_F16, VKF_DTYPE_F16, true, true, true, false, VKF_ACTIVATION_NONE},
};

// What a product of k 0 leaves: what is added, activated where that is asked for.
static void run_empty_sum(vkf_test_ops *ops, const sum_case *s, uint32_t batch, uint32_t m, uint32_t n)
{
    vkf_test_operand *c = s->c ? vkf_test_integers(ops, s->d, -4, 4, SHAPE(batch, m, n)) : NULL;
    vkf_test_operand *bias = s->bias ? vkf_test_integers(ops, s->b, -4, 4, SHAPE(n)) : NULL;
    vkf_test_operand *residual = s->residual ? vkf_test_integers(ops, s->d, -4, 4, SHAPE(batch, m, n)) : NULL;
    vkf_test_operand *out = !s->in_place ? vkf_test_output(ops, s->d, SHAPE(batch, m, n)) : c ? c : residual;
    float *expected = vkf_test_floats(out->count);
    for (size_t i = 0; i < out->count; i++) {
        float sum = (c ? 2 * c->values[i] : 0) + (bias ? bias->values[i % n] : 0);
        sum = s->activation == VKF_ACTIVATION_RELU      ? fmaxf(sum, 0)
              : s->activation == VKF_ACTIVATION_SIGMOID ? 1 / (1 + expf(-sum))
                                                        : sum;
        expected[i] = sum + (residual ? residual->values[i] : 0);
    }
    const vkf_gemm_desc desc = {.a = empty(s->a, SHAPE(batch, m, 0)),
                                .b = empty(s->b, SHAPE(n, 0)),
                                .c = vkf_test_tensor_of(c),
                                .bias = vkf_test_tensor_of(bias),
                                .residual = vkf_test_tensor_of(residual),
                                .out = out->tensor,
                                .transpose_b = true,
                                .alpha = 3,
                                .beta = c ? 2 : 0,
                                .activation = s->activation};
    vkf_test_assert_ok(ops, vkf_gemm(ops->gpu.context, &desc), "vkf_gemm");
    vkf_test_download(ops, out);
    assert_close(out->values, expected, out->count, 1e-6, 1e-6,
                 vkf_test_label(&ops->gpu, "k 0, (%u, %u, %u), activation %d", batch, m, n, (int)s->activation));
    free(expected);
    vkf_test_ops_reset(ops);
}

static void test_sums_over_nothing_are_0(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    for (size_t i = 0; i < COUNT_OF(SUMS); i++) {
        run_empty_sum(ops, &SUMS[i], 1, 1, 1);
        run_empty_sum(ops, &SUMS[i], 3, 5, 7);
        run_empty_sum(ops, &SUMS[i], 2, 70, 129);
    }
    vkf_test_operand *out = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(2, 3, 4));
    const vkf_additive_scores_desc scores = {
        .query = EMPTY(2, 3, 0), .key = EMPTY(2, 4, 0), .v = EMPTY(0), .out = out->tensor};
    vkf_test_assert_ok(ops, vkf_additive_scores(ops->gpu.context, &scores), "vkf_additive_scores");
    vkf_test_download(ops, out);
    for (size_t i = 0; i < out->count; i++)
        assert_true(out->values[i] == 0);
}

static void test_products_of_no_bytes(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    vkf_test_operand *out = vkf_test_output(ops, VKF_DTYPE_I32, SHAPE(3, 4));
    const vkf_gemm_int8_desc sums = {
        .a = empty(VKF_DTYPE_U8, SHAPE(3, 0)), .b = empty(VKF_DTYPE_I8, SHAPE(0, 4)), .out = out->tensor};
    const vkf_gemm_int8_desc none = {.a = empty(VKF_DTYPE_U8, SHAPE(0, 5)),
                                     .b = empty(VKF_DTYPE_I8, SHAPE(5, 0)),
                                     .out = empty(VKF_DTYPE_I32, SHAPE(0, 0))};
    const vkf_quantize_linear_desc quantize = {
        .x = EMPTY(0, 3), .scale = floats(ops, SHAPE(1)), .out = empty(VKF_DTYPE_U8, SHAPE(0, 3))};
    const vkf_quantize_linear_desc back = {.x = quantize.out, .scale = quantize.scale, .out = quantize.x};
    vkf_test_assert_ok(ops, vkf_gemm_int8(ops->gpu.context, &sums), "vkf_gemm_int8");
    vkf_test_assert_ok(ops, vkf_gemm_int8(ops->gpu.context, &none), "vkf_gemm_int8");
    vkf_test_assert_ok(ops, vkf_quantize_linear(ops->gpu.context, &quantize), "vkf_quantize_linear");
    vkf_test_assert_ok(ops, vkf_dequantize_linear(ops->gpu.context, &back), "vkf_dequantize_linear");
    vkf_test_download(ops, out);
    for (size_t i = 0; i < out->count; i++)
        assert_int_equal(out->ids[i], 0);
}

// Nothing is scattered, and nothing there can be gathered.
static void test_indices_of_nothing(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    const int32_t ids[] = {0, -1};
    vkf_test_operand *x = vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(4, 3));
    vkf_test_operand *out = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(4, 3));
    vkf_test_operand *gathered = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(2, 3));
    vkf_scatter_desc scatter = {x->tensor, EMPTY_IDS(0, 3), EMPTY(0, 3), out->tensor, 0, VKF_REDUCTION_ADD};
    const vkf_gather_desc gather = {EMPTY(0, 3), vkf_test_ids(ops, ids, SHAPE(2, 1))->tensor, gathered->tensor, 0};
    vkf_test_assert_ok(ops, vkf_scatter(ops->gpu.context, &scatter), "vkf_scatter");
    vkf_test_download(ops, out);
    assert_close(out->values, x->values, out->count, 0, 0, "scattered");
    scatter.x = scatter.out;
    vkf_test_assert_ok(ops, vkf_scatter(ops->gpu.context, &scatter), "vkf_scatter in place");
    vkf_test_download(ops, out);
    assert_close(out->values, x->values, out->count, 0, 0, "scattered in place");
    vkf_test_assert_ok(ops, vkf_gather(ops->gpu.context, &gather), "vkf_gather");
    vkf_test_download(ops, gathered);
    for (size_t i = 0; i < gathered->count; i++)
        assert_true(gathered->values[i] == 0);
}

// VKF_ZERO ------------------------------------------------------------------------------------------------------------

// By the formula in double, with an eps that 1e-5 would be seen beside: the deviation is about 1e-3.
static void test_zero_eps_is_0(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    enum { ROWS = 3, DIM = 37 };
    for (int rms = 0; rms < 2; rms++) {
        vkf_test_operand *x = vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1e-3f, SHAPE(ROWS, DIM));
        vkf_test_operand *out = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(ROWS, DIM));
        const vkf_layer_norm_desc desc = {.x = x->tensor, .out = out->tensor, .eps = VKF_ZERO, .rms = rms};
        float expected[ROWS * DIM];
        memset(x->values + DIM, 0, DIM * sizeof(float)); // 0 / 0
        vkf_test_upload(ops, x);
        for (size_t row = 0; row < ROWS; row++) {
            const float *of = x->values + row * DIM;
            double mean = 0, squares = 0;
            for (size_t i = 0; i < DIM && !rms; i++)
                mean += (double)of[i] / DIM;
            for (size_t i = 0; i < DIM; i++)
                squares += ((double)of[i] - mean) * ((double)of[i] - mean) / DIM;
            for (size_t i = 0; i < DIM; i++)
                expected[row * DIM + i] = (float)(((double)of[i] - mean) * (1 / sqrt(squares)));
        }
        vkf_test_assert_ok(ops, vkf_layer_norm(ops->gpu.context, &desc), "vkf_layer_norm");
        vkf_test_download(ops, out);
        assert_close(out->values, expected, ROWS * DIM, 1e-5, 1e-5, vkf_test_label(&ops->gpu, "eps 0, rms %d", rms));
        vkf_test_ops_reset(ops);
    }
}

static void test_zero_scales_and_slopes_are_0(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    const int32_t ids[] = {1, 0, 1};
    const float values[] = {-3, 2, -1, 4};
    vkf_test_operand *x = vkf_test_values(ops, VKF_DTYPE_F32, values, SHAPE(2, 2));
    vkf_test_operand *positions = vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(3, 2));
    vkf_test_operand *embedded = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(1, 3, 2));
    vkf_test_operand *activated = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(2, 2));
    const vkf_embed_desc embed = {.ids = vkf_test_ids(ops, ids, SHAPE(1, 3))->tensor,
                                  .table = x->tensor,
                                  .positions = positions->tensor,
                                  .out = embedded->tensor,
                                  .scale = VKF_ZERO};
    const vkf_activate_desc activate = {x->tensor, activated->tensor, VKF_ACTIVATION_LEAKY_RELU, VKF_ZERO};
    const float relu[] = {0, 2, 0, 4};
    vkf_test_assert_ok(ops, vkf_embed(ops->gpu.context, &embed), "vkf_embed");
    vkf_test_assert_ok(ops, vkf_activate(ops->gpu.context, &activate), "vkf_activate");
    vkf_test_download(ops, embedded);
    vkf_test_download(ops, activated);
    assert_close(embedded->values, positions->values, 6, 0, 0, "positions alone");
    assert_close(activated->values, relu, 4, 0, 0, "a slope of 0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        VKF_OPS_TEST(test_tensors_without_elements_are_made_and_read),
        VKF_OPS_TEST(test_tensors_without_elements_overlap_nothing),
        VKF_OPS_TEST(test_empty_products),
        VKF_OPS_TEST(test_empty_results),
        VKF_OPS_TEST(test_attention_of_nothing),
        VKF_OPS_TEST(test_what_nothing_has_is_refused),
        VKF_OPS_TEST(test_sums_over_nothing_are_0),
        VKF_OPS_TEST(test_products_of_no_bytes),
        VKF_OPS_TEST(test_indices_of_nothing),
        VKF_OPS_TEST(test_zero_eps_is_0),
        VKF_OPS_TEST(test_zero_scales_and_slopes_are_0),
    };
    return cmocka_run_group_tests_name("op_empty", tests, vkf_test_ops_setup, vkf_test_ops_teardown);
}
