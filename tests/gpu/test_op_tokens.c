// Argmax of what is known, an embedding that is refused, and the positional encoding of the host.
#include <math.h>
#include <stdlib.h>

#include "support/op_fixture.h"

static void test_embed_f32_table_to_f16_is_refused(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    const int32_t id = 0;
    vkf_test_operand *ids = vkf_test_ids(ops, &id, SHAPE(1, 1));
    vkf_test_operand *table = vkf_test_constant(ops, VKF_DTYPE_F32, 1, SHAPE(1, 2));
    vkf_test_operand *out = vkf_test_output(ops, VKF_DTYPE_F16, SHAPE(1, 1, 2));
    const vkf_embed_desc desc = {.ids = ids->tensor, .table = table->tensor, .out = out->tensor};
    vkf_test_assert_refused(ops, vkf_embed(ops->gpu.context, &desc), VKF_ERROR_UNSUPPORTED, "f32 to f16");
    vkf_test_assert_untouched(ops, out);
}

// With `last`, x is turned over, so that the last of equals stands where the first was.
static void run_argmax(vkf_test_ops *ops, vkf_test_operand *x, const int32_t *places, bool last, const char *what)
{
    const uint32_t rows = x->tensor.shape[0], cols = x->tensor.shape[1];
    int32_t expected[256];
    vkf_test_operand *out = vkf_test_output(ops, VKF_DTYPE_I32, SHAPE(rows));
    const vkf_argmax_desc desc = {x->tensor, out->tensor, last};
    for (uint32_t i = 0; i < rows; i++) {
        expected[i] = last ? (int32_t)cols - 1 - places[i] : places[i];
        for (uint32_t col = 0; last && col < cols / 2; col++) {
            float *row = x->values + (size_t)i * cols, left = row[col];
            row[col] = row[cols - 1 - col];
            row[cols - 1 - col] = left;
        }
    }
    vkf_test_upload(ops, x);
    vkf_test_assert_ok(ops, vkf_argmax(ops->gpu.context, &desc), what);
    vkf_test_download(ops, out);
    for (uint32_t i = 0; i < rows; i++) {
        if (out->ids[i] != expected[i])
            fail_msg("%s: row %u of %u x %u %s gives %d, expected %d", vkf_test_label(&ops->gpu, "%s", what), i, rows,
                     cols, vkf_dtype_name(x->tensor.dtype), out->ids[i], expected[i]);
    }
    vkf_test_ops_reset(ops);
}

// The largest element alone, at each place in turn: a lane or a step of the reduction left out would be noticed.
static void test_argmax_finds_every_place(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    enum { COLS = 150 };
    int32_t places[COLS];
    vkf_test_operand *x = vkf_test_constant(ops, VKF_DTYPE_F32, -1, SHAPE(COLS, COLS));
    for (size_t i = 0; i < COLS; i++) {
        x->values[i * COLS + i] = -0.5f;
        places[i] = (int32_t)i;
    }
    run_argmax(ops, x, places, false, "every place");
}

// Ties, zeros of both signs, NaN of both signs first and last, infinities, subnormals, and nothing but the lowest.
static void test_argmax_special_values(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    static const float rows[][5] = {
        {1, 3, 3, 2, 3},
        {-0.0f, 0, 0, -0.0f, 0},
        {0, -0.0f, -1, -2, -3},
        {1, NAN, 5, NAN, INFINITY},
        {-INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY},
        {-INFINITY, -INFINITY, -65504, -INFINITY, -INFINITY},
        {NAN, NAN, NAN, NAN, NAN},
        {1, 2, INFINITY, INFINITY, 3},
        {-0x1p-24f, 0, 0x1p-24f, 0, -1},
        {-3, -2, -1, -1, -2},
        {0, 0, 0, 0, -NAN},
    };
    static const int32_t largest[COUNT_OF(rows)] = {1, 0, 0, 1, 0, 2, 0, 2, 2, 2, 4};
    for (int dtype = VKF_DTYPE_F32; dtype <= VKF_DTYPE_F16; dtype++)
        for (int last = 0; last < 2; last++)
            run_argmax(ops, vkf_test_values(ops, (vkf_dtype)dtype, rows[0], SHAPE(COUNT_OF(rows), 5)), largest, last,
                       last ? "special values, the last" : "special values");
}

static void test_argmax_ranks(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    static const uint32_t shape[] = {2, 3, 4, 7};
    for (uint32_t rank = 1; rank <= 4; rank++) {
        vkf_test_operand *x = vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, rank, shape + (4 - rank));
        const uint32_t one = 1, rows = (uint32_t)(x->count / 7);
        vkf_test_operand *out =
            vkf_test_output(ops, VKF_DTYPE_I32, rank > 1 ? rank - 1 : 1, rank > 1 ? shape + (4 - rank) : &one);
        const vkf_argmax_desc desc = {.x = x->tensor, .out = out->tensor};
        int32_t expected[24] = {0};
        for (size_t i = 0; i < x->count; i++)
            if (x->values[i] > x->values[i / 7 * 7 + (size_t)expected[i / 7]])
                expected[i / 7] = (int32_t)(i % 7);
        vkf_test_assert_ok(ops, vkf_argmax(ops->gpu.context, &desc), "vkf_argmax");
        vkf_test_download(ops, out);
        assert_int_equal(out->count, rows);
        assert_memory_equal(out->ids, expected, rows * sizeof expected[0]);
        vkf_test_ops_reset(ops);
    }
}

// The paper's formula by pow(), which rounds otherwise than the library's exp(): 1e-6.
static void test_sinusoidal_positions(void **state)
{
    (void)state;
    static const uint32_t sizes[][2] = {{1, 1}, {50, 64}, {7, 5}, {2, 512}};
    for (size_t s = 0; s < COUNT_OF(sizes); s++) {
        const uint32_t len = sizes[s][0], dim = sizes[s][1];
        float *actual = vkf_test_floats((size_t)len * dim), *expected = vkf_test_floats((size_t)len * dim);
        for (uint32_t i = 0; i < len * dim; i++) {
            double angle = i / dim / pow(10000, 2.0 * (i % dim / 2) / dim);
            expected[i] = (float)(i % dim % 2 == 0 ? sin(angle) : cos(angle));
        }
        vkf_sinusoidal_positions(len, dim, actual);
        assert_close(actual, expected, (size_t)len * dim, 1e-6, 0, "sinusoidal positions");
        free(actual);
        free(expected);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        VKF_OPS_TEST(test_argmax_special_values),    VKF_OPS_TEST(test_embed_f32_table_to_f16_is_refused),
        VKF_OPS_TEST(test_argmax_finds_every_place), VKF_OPS_TEST(test_argmax_ranks),
        VKF_OPS_TEST(test_sinusoidal_positions),
    };
    const struct CMUnitTest packed[] = {VKF_OPS_TEST(test_argmax_special_values)};
    int failed = cmocka_run_group_tests_name("op_tokens", tests, vkf_test_ops_setup, vkf_test_ops_teardown);
    failed += cmocka_run_group_tests_name("op_tokens packed", packed, vkf_test_ops_setup_packed, vkf_test_ops_teardown);
    return failed;
}
