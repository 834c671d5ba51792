// Weights in blocks as a caller makes them: from rows of blocks, from a weight on the device, and back; and products
// with them.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/blocks.h"
#include "base/half.h"
#include "support/op_fixture.h"

static const vkf_dtype BLOCK_TYPES[] = {VKF_DTYPE_Q8, VKF_DTYPE_Q4};

// (n, k) about the width of a panel, and one that goes to the device in two parts.
static const uint32_t SHAPES[][2] = {{1, 32}, {31, 96}, {32, 64}, {33, 1056}, {97, 32}, {2081, 512}};

static size_t blocks_bytes(vkf_dtype dtype, uint32_t n, uint32_t k)
{
    return (size_t)n * (k / VKF_BLOCK) * vkf_dtype_block_bytes(dtype);
}

static uint8_t *blocks_of(vkf_dtype dtype, const float *values, uint32_t n, uint32_t k)
{
    uint8_t *blocks = malloc(blocks_bytes(dtype, n, k));
    assert_non_null(blocks);
    vkf_f32_to_blocks(dtype, values, blocks, (size_t)n * k / VKF_BLOCK);
    return blocks;
}

static float *random_values(vkf_test_ops *ops, uint32_t n, uint32_t k)
{
    float *values = vkf_test_floats((size_t)n * k);
    vkf_test_fill_uniform(&ops->gpu.random, values, (size_t)n * k, -1, 1);
    return values;
}

static void assert_blocks(const vkf_tensor *tensor, const uint8_t *expected)
{
    const size_t bytes = blocks_bytes(tensor->dtype, tensor->shape[0], tensor->shape[1]);
    uint8_t *blocks = malloc(bytes);
    assert_non_null(blocks);
    memset(blocks, 0xa5, bytes);
    assert_int_equal(vkf_tensor_read(tensor, blocks, bytes), VKF_OK);
    assert_memory_equal(blocks, expected, bytes);
    free(blocks);
}

// The last panel as it lies on the device: rows that are missing there are zeros.
static void assert_last_panel(const vkf_tensor *tensor, const uint8_t *blocks)
{
    const uint32_t n = tensor->shape[0], k = tensor->shape[1], first = (n - 1) / VKF_BLOCK_PANEL * VKF_BLOCK_PANEL;
    const size_t size = blocks_bytes(tensor->dtype, VKF_BLOCK_PANEL, k), at = blocks_bytes(tensor->dtype, first, k);
    uint8_t *panel = malloc(size), *expected = malloc(size);
    assert_true(panel && expected);
    vkf__blocks_to_panels(tensor->dtype, blocks + at, n - first, k, expected);
    assert_int_equal(vkf_buffer_read(tensor->buffer, at, panel, size), VKF_OK);
    assert_memory_equal(panel, expected, size);
    free(panel);
    free(expected);
}

static void test_rows_of_blocks_come_back_as_written(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    for (size_t i = 0; i < 2 * COUNT_OF(SHAPES); i++) {
        const vkf_dtype dtype = BLOCK_TYPES[i % 2];
        const uint32_t *shape = SHAPES[i / 2];
        float *values = random_values(ops, shape[0], shape[1]);
        uint8_t *blocks = blocks_of(dtype, values, shape[0], shape[1]);
        vkf_tensor tensor = {0};
        vkf_test_assert_ok(ops, vkf_tensor_create(ops->gpu.context, dtype, 2, shape, NULL, &tensor), "create");
        assert_int_equal(tensor.layout, VKF_LAYOUT_PANELS);
        vkf_test_assert_ok(ops, vkf_tensor_write(&tensor, blocks, blocks_bytes(dtype, shape[0], shape[1])), "write");
        assert_blocks(&tensor, blocks);
        assert_last_panel(&tensor, blocks);
        vkf_tensor_destroy(&tensor);
        free(blocks);
        free(values);
    }
}

// Keys and values: rows of blocks lie on the device as on the host.
static void test_keys_in_blocks_lie_in_rows(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    const uint32_t shape[] = {2, 3, 5, 96}, rows = 2 * 3 * 5;
    float *values = random_values(ops, rows, 96);
    uint8_t *blocks = blocks_of(VKF_DTYPE_Q8, values, rows, 96), *read = malloc(blocks_bytes(VKF_DTYPE_Q8, rows, 96));
    const size_t bytes = blocks_bytes(VKF_DTYPE_Q8, rows, 96);
    vkf_tensor tensor = {0};
    assert_non_null(read);
    vkf_test_assert_ok(ops, vkf_tensor_create(ops->gpu.context, VKF_DTYPE_Q8, 4, shape, NULL, &tensor), "create");
    assert_int_equal(tensor.layout, VKF_LAYOUT_ROWS);
    vkf_test_assert_ok(ops, vkf_tensor_write(&tensor, blocks, bytes), "write");
    vkf_test_assert_ok(ops, vkf_tensor_read(&tensor, read, bytes), "read");
    assert_memory_equal(read, blocks, bytes);
    memset(read, 0xa5, bytes);
    vkf_test_assert_ok(ops, vkf_buffer_read(tensor.buffer, 0, read, bytes), "read");
    assert_memory_equal(read, blocks, bytes);
    vkf_test_assert_refused(ops, vkf_tensor_write(&tensor, blocks, bytes - 1), VKF_ERROR_INVALID_ARGUMENT, "write");
    vkf_tensor_destroy(&tensor);
    free(read);
    free(blocks);
    free(values);
}

static void test_blocks_of_no_rows(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    const uint32_t shapes[][2] = {{0, 32}, {5, 0}};
    uint8_t none = 7;
    for (size_t i = 0; i < 2; i++) {
        vkf_tensor tensor = {0};
        vkf_test_assert_ok(ops, vkf_tensor_create(ops->gpu.context, VKF_DTYPE_Q4, 2, shapes[i], NULL, &tensor),
                           "create");
        vkf_test_assert_ok(ops, vkf_tensor_write(&tensor, &none, 0), "write");
        vkf_test_assert_ok(ops, vkf_tensor_read(&tensor, &none, 0), "read");
        assert_int_equal(none, 7);
        vkf_tensor_destroy(&tensor);
    }
}

// a holds what blocks of signed bytes hold, because kernels may round it to these: whole numbers, the first of 32 being
// the largest there is.
static vkf_test_operand *make_a(vkf_test_ops *ops, uint32_t m, uint32_t k)
{
    vkf_test_operand *a = vkf_test_integers(ops, VKF_DTYPE_F32, -127, 127, SHAPE(m, k));
    for (size_t i = 0; i < a->count; i += VKF_BLOCK)
        a->values[i] = 127;
    vkf_test_upload(ops, a);
    return a;
}

// out = a weight^T + bias in double precision, of the weight that the blocks stand for.
static void assert_product(vkf_test_ops *ops, const vkf_tensor *weight, const uint8_t *blocks, uint32_t m)
{
    const uint32_t n = weight->shape[0], k = weight->shape[1];
    vkf_test_operand *a = make_a(ops, m, k), *bias = vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(n));
    vkf_test_operand *out = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(m, n));
    float *values = vkf_test_floats((size_t)n * k), *expected = vkf_test_floats((size_t)m * n);
    vkf_blocks_to_f32(weight->dtype, blocks, values, (size_t)n * k / VKF_BLOCK);
    for (size_t i = 0; i < (size_t)m * n; i++) {
        double sum = (double)bias->values[i % n];
        for (size_t j = 0; j < k; j++)
            sum += (double)a->values[i / n * k + j] * (double)values[i % n * k + j];
        expected[i] = (float)sum;
    }
    const vkf_gemm_desc desc = {
        .a = a->tensor, .b = *weight, .bias = bias->tensor, .out = out->tensor, .transpose_b = true, .alpha = 1};
    vkf_test_assert_ok(ops, vkf_gemm(ops->gpu.context, &desc), "vkf_gemm");
    vkf_test_download(ops, out);
    // As test_op_gemm.c has it for values of 1, times the largest of a.
    assert_close(out->values, expected, out->count, 127 * 2e-5 * sqrt(k > 300 ? k / 300.0 : 1), 2e-5,
                 vkf_test_label(&ops->gpu, "%u x %u x %u in %s", m, n, k, vkf_dtype_name(weight->dtype)));
    free(values);
    free(expected);
    vkf_test_ops_reset(ops);
}

// A weight on the device, and in *out_values what its type holds.
static vkf_tensor upload(vkf_test_ops *ops, vkf_dtype dtype, float *values, const uint32_t *shape)
{
    const size_t count = (size_t)shape[0] * shape[1];
    vkf_tensor tensor = {0};
    uint16_t *halves = malloc(count * sizeof *halves);
    assert_non_null(halves);
    vkf_test_assert_ok(ops, vkf_tensor_create(ops->gpu.context, dtype, 2, shape, "weight", &tensor), "create");
    for (size_t i = 0; i < count && dtype != VKF_DTYPE_F32; i++) {
        halves[i] = dtype == VKF_DTYPE_F16 ? vkf__half_from_float(values[i]) : vkf__bfloat_from_float(values[i]);
        values[i] = dtype == VKF_DTYPE_F16 ? vkf__float_from_half(halves[i]) : vkf__float_from_bfloat(halves[i]);
    }
    const bool wide = dtype == VKF_DTYPE_F32;
    vkf_test_assert_ok(
        ops, vkf_tensor_write(&tensor, wide ? (const void *)values : halves, count * vkf_dtype_size(dtype)), "write");
    free(halves);
    return tensor;
}

static void test_weights_are_rounded_and_multiplied_by(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    static const vkf_dtype types[] = {VKF_DTYPE_F32, VKF_DTYPE_F16, VKF_DTYPE_BF16};
    static const uint32_t rows[] = {1, 7, 16, 33, 64, 2};
    for (size_t i = 0; i < 6 * COUNT_OF(SHAPES); i++) {
        const uint32_t *shape = SHAPES[i / 6];
        float *values = random_values(ops, shape[0], shape[1]);
        vkf_tensor weight = upload(ops, types[i % 3], values, shape), quantized = {0};
        const vkf_dtype dtype = BLOCK_TYPES[i / 3 % 2];
        uint8_t *blocks = blocks_of(dtype, values, shape[0], shape[1]);
        vkf_test_assert_ok(ops, vkf_quantize_weight(ops->gpu.context, &weight, dtype, NULL, &quantized), "quantize");
        assert_blocks(&quantized, blocks);
        assert_product(ops, &quantized, blocks, rows[i / 6]);
        vkf_tensor_destroy(&quantized);
        vkf_tensor_destroy(&weight);
        free(blocks);
        free(values);
    }
}

static void test_what_makes_no_blocks_is_refused(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    vkf_context *context = ops->gpu.context;
    float values[32 * 32] = {0};
    values[5] = NAN;
    vkf_test_operand *good = vkf_test_constant(ops, VKF_DTYPE_F32, 1, SHAPE(32, 32));
    vkf_test_operand *odd = vkf_test_constant(ops, VKF_DTYPE_F32, 1, SHAPE(32, 33));
    vkf_test_operand *cube = vkf_test_constant(ops, VKF_DTYPE_F32, 1, SHAPE(2, 2, 32));
    vkf_test_operand *nan = vkf_test_values(ops, VKF_DTYPE_F32, values, SHAPE(32, 32));
    vkf_test_operand *ids = vkf_test_ids(ops, (const int32_t[32]){0}, SHAPE(1, 32));
    vkf_tensor packed = {0}, made = {0};
    vkf_test_assert_ok(ops, vkf_pack_weight(context, &good->tensor, NULL, &packed), "pack");
    const vkf_tensor *weights[] = {&odd->tensor, &cube->tensor, &nan->tensor, &ids->tensor, &packed};
    for (size_t i = 0; i < COUNT_OF(weights); i++)
        vkf_test_assert_refused(ops, vkf_quantize_weight(context, weights[i], VKF_DTYPE_Q8, NULL, &made),
                                VKF_ERROR_INVALID_ARGUMENT, vkf_test_label(&ops->gpu, "weight %zu", i));
    for (int dtype = 0; dtype <= VKF_DTYPE_COUNT; dtype++)
        if (dtype != VKF_DTYPE_Q8 && dtype != VKF_DTYPE_Q4)
            vkf_test_assert_refused(ops, vkf_quantize_weight(context, &good->tensor, (vkf_dtype)dtype, NULL, &made),
                                    VKF_ERROR_INVALID_ARGUMENT, "type");
    static const uint32_t shapes[][3] = {{32, 33, 1}, {32, 31, 1}};
    for (size_t i = 0; i < COUNT_OF(shapes); i++)
        vkf_test_assert_refused(ops, vkf_tensor_create(context, VKF_DTYPE_Q4, 2, shapes[i], NULL, &made),
                                VKF_ERROR_INVALID_ARGUMENT, "shape");
    vkf_test_assert_refused(ops,
                            vkf_tensor_create(context, VKF_DTYPE_Q8, 3, (const uint32_t[]){1, 32, 32}, NULL, &made),
                            VKF_ERROR_INVALID_ARGUMENT, "rank");
    vkf_test_assert_refused(ops,
                            vkf_tensor_create(context, VKF_DTYPE_Q8, 4, (const uint32_t[]){1, 2, 32, 33}, NULL, &made),
                            VKF_ERROR_INVALID_ARGUMENT, "keys of another width");
    vkf_test_assert_refused(ops,
                            vkf_tensor_create(context, VKF_DTYPE_Q4, 4, (const uint32_t[]){1, 2, 32, 32}, NULL, &made),
                            VKF_ERROR_INVALID_ARGUMENT, "keys of q4");
    assert_null(made.buffer);
    vkf_tensor_destroy(&packed);
}

static void test_transfers_of_other_sizes_are_refused(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    uint8_t bytes[40 * VKF_Q8_BLOCK_BYTES] = {0};
    vkf_tensor tensor = {0};
    vkf_test_assert_ok(
        ops, vkf_tensor_create(ops->gpu.context, VKF_DTYPE_Q8, 2, (const uint32_t[]){33, 32}, NULL, &tensor), "create");
    const size_t right = blocks_bytes(VKF_DTYPE_Q8, 33, 32), wrong[] = {0, right - 1, right + 1, 64 * right};
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        vkf_test_assert_refused(ops, vkf_tensor_write(&tensor, bytes, wrong[i]), VKF_ERROR_INVALID_ARGUMENT, "write");
        vkf_test_assert_refused(ops, vkf_tensor_read(&tensor, bytes, wrong[i]), VKF_ERROR_INVALID_ARGUMENT, "read");
    }
    assert_int_equal(vkf_tensor_write(&tensor, NULL, right), VKF_ERROR_INVALID_ARGUMENT);
    assert_int_equal(vkf_tensor_read(&tensor, NULL, right), VKF_ERROR_INVALID_ARGUMENT);
    ops->gpu.last_error[0] = '\0';
    vkf_tensor_destroy(&tensor);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        VKF_OPS_TEST(test_rows_of_blocks_come_back_as_written),
        VKF_OPS_TEST(test_blocks_of_no_rows),
        VKF_OPS_TEST(test_keys_in_blocks_lie_in_rows),
        VKF_OPS_TEST(test_weights_are_rounded_and_multiplied_by),
        VKF_OPS_TEST(test_what_makes_no_blocks_is_refused),
        VKF_OPS_TEST(test_transfers_of_other_sizes_are_refused),
    };
    return cmocka_run_group_tests_name("block_tensors", tests, vkf_test_ops_setup, vkf_test_ops_teardown);
}
