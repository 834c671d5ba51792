// Operators that move elements: heads split and merged, copies between the storage types, and the strided copy and
// head mean that layers compose. All but the mean and the scaled sums are exact.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "op/copy.h"
#include "op/run_once.h"
#include "reference/reference.h"
#include "support/op_fixture.h"

static const uint32_t HEAD_SHAPES[][4] = {
    // (B, L, H, D)
    {1, 1, 1, 1},  {1, 3, 2, 1},   {2, 5, 3, 7},   {3, 1, 4, 5},
    {1, 17, 1, 9}, {2, 31, 8, 16}, {1, 64, 2, 64}, {1, 129, 3, 11},
};

static void run_heads(vkf_test_ops *ops, vkf_dtype dtype, const uint32_t *s, bool merge)
{
    const uint32_t rows = merge ? s[2] : s[1], cols = merge ? s[1] : s[2];
    vkf_test_operand *x = vkf_test_normal(ops, dtype, 0, 1, SHAPE(s[0], rows, cols, s[3]));
    vkf_test_operand *out = vkf_test_output(ops, dtype, SHAPE(s[0], cols, rows, s[3]));
    float *expected = vkf_test_floats(x->count);
    vkf__ref_permute(s[0], rows, cols, s[3], x->values, expected);
    vkf_status status = merge ? vkf_merge_heads(ops->gpu.context, &x->tensor, &out->tensor)
                              : vkf_split_heads(ops->gpu.context, &x->tensor, &out->tensor);
    vkf_test_assert_ok(ops, status, "heads");
    vkf_test_download(ops, out);
    assert_close(out->values, expected, out->count, 0, 0,
                 vkf_test_label(&ops->gpu, "%s heads %s (%u, %u, %u, %u)", merge ? "merge" : "split",
                                vkf_dtype_name(dtype), s[0], rows, cols, s[3]));
    free(expected);
    vkf_test_ops_reset(ops);
}

static void test_heads_are_moved_exactly(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    for (size_t i = 0; i < COUNT_OF(HEAD_SHAPES); i++) {
        for (int dtype = VKF_DTYPE_F32; dtype <= VKF_DTYPE_F16; dtype++) {
            run_heads(ops, (vkf_dtype)dtype, HEAD_SHAPES[i], false);
            run_heads(ops, (vkf_dtype)dtype, HEAD_SHAPES[i], true);
        }
    }
}

static void test_copy_keeps_every_element(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    static const uint32_t counts[] = {1, 2, 127, 128, 129, 1000, 70001};
    for (size_t i = 0; i < COUNT_OF(counts); i++) {
        for (int types = 0; types < 4; types++) {
            vkf_dtype from = types & 1 ? VKF_DTYPE_F16 : VKF_DTYPE_F32, to = types & 2 ? VKF_DTYPE_F16 : VKF_DTYPE_F32;
            vkf_test_operand *x = vkf_test_integers(ops, from, -2048, 2048, SHAPE(1, counts[i]));
            vkf_test_operand *out = vkf_test_output(ops, to, SHAPE(counts[i]));
            vkf_test_assert_ok(ops, vkf_copy(ops->gpu.context, &x->tensor, &out->tensor), "vkf_copy");
            vkf_test_download(ops, out);
            assert_close(out->values, x->values, out->count, 0, 0,
                         vkf_test_label(&ops->gpu, "copy of %u from %s to %s", counts[i], vkf_dtype_name(from),
                                        vkf_dtype_name(to)));
            vkf_test_ops_reset(ops);
        }
    }
}

// Every half there is, subnormals, infinities and NaN among them.
static void test_copy_from_half_is_exact_for_every_half(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    static uint16_t halves[65536], copied[65536];
    static float expected[65536];
    for (uint32_t i = 0; i < 65536; i++)
        halves[i] = (uint16_t)i;
    vkf_f16_to_f32(halves, expected, 65536);
    vkf_test_operand *x = vkf_test_output(ops, VKF_DTYPE_F16, SHAPE(65536));
    vkf_test_operand *wide = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(65536));
    vkf_test_operand *same = vkf_test_output(ops, VKF_DTYPE_F16, SHAPE(65536));
    vkf_test_assert_ok(ops, vkf_tensor_write(&x->tensor, halves, sizeof halves), "write");
    vkf_test_assert_ok(ops, vkf_copy(ops->gpu.context, &x->tensor, &wide->tensor), "to f32");
    vkf_test_assert_ok(ops, vkf_copy(ops->gpu.context, &x->tensor, &same->tensor), "to f16");
    vkf_test_assert_ok(ops, vkf_tensor_read(&same->tensor, copied, sizeof copied), "read");
    vkf_test_download(ops, wide);
    assert_close(wide->values, expected, 65536, 0, 0, vkf_test_label(&ops->gpu, "every half as f32"));
    assert_memory_equal(copied, halves, sizeof halves);
}

// Rounding to half: nearest, ties to even, as the host converts. Neighbours of ties, the ends of the range, and random
// floats of every exponent that matters.
static float rounding_value(vkf_test_random *random, uint32_t i)
{
    const uint32_t exponent = 127 - 27 + i % 45; // 2^-27 .. 2^17
    uint32_t mantissa = (uint32_t)vkf_test_random_u64(random) & 0x7fffffu;
    if (i / 45 % 2 == 0) // a tie, or one step beside it
        mantissa = (mantissa & 0x7fe000u) + 0x1000u + i / 90 % 3 - 1;
    uint32_t bits = (i / 7 % 2) << 31 | exponent << 23 | mantissa;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void test_copy_to_half_rounds_to_nearest_even(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    enum { COUNT = 20000 };
    static float values[COUNT], expected[COUNT];
    static uint16_t halves[COUNT];
    for (uint32_t i = 0; i < COUNT; i++)
        values[i] = rounding_value(&ops->gpu.random, i);
    values[0] = INFINITY;
    values[1] = NAN;
    values[2] = -0.0f;
    vkf_f32_to_f16(values, halves, COUNT);
    vkf_f16_to_f32(halves, expected, COUNT);
    vkf_test_operand *x = vkf_test_values(ops, VKF_DTYPE_F32, values, SHAPE(COUNT));
    vkf_test_operand *out = vkf_test_output(ops, VKF_DTYPE_F16, SHAPE(COUNT));
    vkf_test_assert_ok(ops, vkf_copy(ops->gpu.context, &x->tensor, &out->tensor), "vkf_copy");
    vkf_test_download(ops, out);
    assert_close(out->values, expected, COUNT, 0, 0, vkf_test_label(&ops->gpu, "f32 to f16"));
}

static vkf_status emit_copy(vkf__work *work, const void *args)
{
    return vkf__emit_copy(work, args);
}

static vkf_status emit_head_mean(vkf__work *work, const void *args)
{
    return vkf__emit_head_mean(work, args);
}

// out[o, r, c] = alpha x + beta out: rows of 5 out of rows of 7, into rows of 6 after 4 elements; or one row for all.
static void run_strided(vkf_test_ops *ops, vkf_dtype dtype, float alpha, float beta, bool broadcast)
{
    vkf_test_operand *x = vkf_test_integers(ops, dtype, -9, 9, SHAPE(2, 3, 7));
    vkf_test_operand *out = vkf_test_integers(ops, dtype, -9, 9, SHAPE(4 + 2 * 3 * 6));
    float *expected = vkf_test_floats(out->count);
    memcpy(expected, out->values, out->count * sizeof *expected);
    const vkf__copy_args args = {.label = "copy",
                                 .x = vkf__span_of(&x->tensor),
                                 .out = vkf__span_of(&out->tensor),
                                 .outer = 2,
                                 .rows = 3,
                                 .cols = 5,
                                 .x_outer = broadcast ? 0 : 21,
                                 .x_row = broadcast ? 0 : 7,
                                 .out_first = 4,
                                 .out_outer = 18,
                                 .out_row = 6,
                                 .alpha = alpha,
                                 .beta = beta};
    for (uint32_t i = 0; i < 2 * 3 * 5; i++) {
        uint32_t o = i / 15, r = i / 5 % 3, c = i % 5, to = 4 + o * 18 + r * 6 + c;
        expected[to] = alpha * x->values[o * args.x_outer + r * args.x_row + c] + beta * expected[to];
    }
    vkf_test_assert_ok(ops, vkf__run_once(ops->gpu.context, "copy", emit_copy, &args), "copy");
    vkf_test_download(ops, out);
    assert_close(out->values, expected, out->count, 0, 0,
                 vkf_test_label(&ops->gpu, "strided copy %s, alpha %g, beta %g", vkf_dtype_name(dtype), (double)alpha,
                                (double)beta));
    free(expected);
    vkf_test_ops_reset(ops);
}

static void test_strided_copy(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    static const float factors[][2] = {{1, 0}, {2, 0}, {0, 0}, {0, 3}, {-1, 1}, {0.5f, -2}};
    for (int dtype = VKF_DTYPE_F32; dtype <= VKF_DTYPE_F16; dtype++) {
        for (size_t i = 0; i < COUNT_OF(factors); i++) {
            run_strided(ops, (vkf_dtype)dtype, factors[i][0], factors[i][1], false);
            run_strided(ops, (vkf_dtype)dtype, factors[i][0], factors[i][1], true);
        }
    }
}

// Sums of at most 12 weights: 1e-6.
static void test_head_mean(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    static const uint32_t shapes[][3] = {{1, 1, 1}, {2, 3, 35}, {3, 12, 129}, {1, 8, 1000}}; // (B, H, plane)
    for (size_t i = 0; i < COUNT_OF(shapes); i++) {
        const uint32_t batch = shapes[i][0], heads = shapes[i][1], plane = shapes[i][2];
        vkf_test_operand *x = vkf_test_uniform(ops, VKF_DTYPE_F32, 0, 1, SHAPE(batch, heads, plane));
        vkf_test_operand *out = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(batch, plane));
        float *expected = vkf_test_floats(out->count);
        for (uint32_t at = 0; at < batch * plane; at++)
            for (uint32_t h = 0; h < heads; h++)
                expected[at] += x->values[(at / plane * heads + h) * plane + at % plane] / (float)heads;
        const vkf__head_mean_args args = {.label = "mean",
                                          .x = vkf__span_of(&x->tensor),
                                          .out = vkf__span_of(&out->tensor),
                                          .batch = batch,
                                          .heads = heads,
                                          .plane = plane};
        vkf_test_assert_ok(ops, vkf__run_once(ops->gpu.context, "mean", emit_head_mean, &args), "head mean");
        vkf_test_download(ops, out);
        assert_close(out->values, expected, out->count, 1e-6, 0, vkf_test_label(&ops->gpu, "head mean %zu", i));
        free(expected);
        vkf_test_ops_reset(ops);
    }
}

#define TESTS                                                                                \
    VKF_OPS_TEST(test_heads_are_moved_exactly), VKF_OPS_TEST(test_copy_keeps_every_element), \
        VKF_OPS_TEST(test_copy_from_half_is_exact_for_every_half),                           \
        VKF_OPS_TEST(test_copy_to_half_rounds_to_nearest_even), VKF_OPS_TEST(test_strided_copy)

int main(void)
{
    const struct CMUnitTest tests[] = {TESTS, VKF_OPS_TEST(test_head_mean)};
    const struct CMUnitTest packed[] = {TESTS};
    int failed = cmocka_run_group_tests_name("op_heads", tests, vkf_test_ops_setup, vkf_test_ops_teardown);
    failed += cmocka_run_group_tests_name("op_heads packed", packed, vkf_test_ops_setup_packed, vkf_test_ops_teardown);
    return failed;
}
