// Dropout against the reference: which elements stay has to be the same bit by bit, and what becomes of them is one
// product and one sum.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "op/dropout.h"
#include "op/run_once.h"
#include "reference/reference.h"
#include "support/op_fixture.h"

#define SPAN(operand) vkf__span_of(&(operand)->tensor)
#define SEED UINT64_C(0xfedcba9876543210)

typedef enum place { APART, IN_X, IN_RESIDUAL } place;

static vkf_status emit(vkf__work *work, const void *args)
{
    return vkf__emit_dropout(work, args);
}

static vkf__ref_dropout_desc reference_of(const vkf__dropout_args *args, size_t count, const vkf_test_operand *x,
                                          const vkf_test_operand *residual, float *expected)
{
    return (vkf__ref_dropout_desc){
        count, args->p, args->seed, args->stream, args->step, x->values, vkf_test_values_of(residual), expected};
}

static void check(vkf_test_ops *ops, uint32_t rows, uint32_t dim, float p, bool adds, place where)
{
    vkf_test_operand *x = vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(rows, dim));
    vkf_test_operand *residual = adds ? vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(rows, dim)) : NULL;
    vkf_test_operand *out = where == IN_X          ? x
                            : where == IN_RESIDUAL ? residual
                                                   : vkf_test_constant(ops, VKF_DTYPE_F32, NAN, SHAPE(rows, dim));
    float *expected = vkf_test_floats(out->count);
    const vkf__dropout_args args = {.label = "dropout",
                                    .x = SPAN(x),
                                    .residual = residual ? SPAN(residual) : (vkf__span){0},
                                    .out = SPAN(out),
                                    .rows = rows,
                                    .dim = dim,
                                    .p = p,
                                    .seed = SEED,
                                    .stream = 3,
                                    .step = 4000000000u};
    const vkf__ref_dropout_desc ref = reference_of(&args, out->count, x, residual, expected);
    vkf__ref_dropout(&ref);
    vkf_test_assert_ok(ops, vkf__run_once(ops->gpu.context, "dropout", emit, &args), "dropout");
    vkf_test_download(ops, out);
    // Of values below 5, times 1 / (1 - p): two roundings of 2^-24.
    assert_close(out->values, expected, out->count, 1e-6, 3e-7,
                 vkf_test_label(&ops->gpu, "dropout of %g, %u x %u%s, place %d", (double)p, rows, dim,
                                adds ? ", added" : "", (int)where));
    free(expected);
    vkf_test_ops_reset(ops);
}

static const float probabilities[] = {0, 0x1p-31f, 0.1f, 0.5f, 0.9f, 0.99999994f, 1};

static void test_probabilities_and_places(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    for (size_t i = 0; i < COUNT_OF(probabilities) - 2; i++) {
        check(ops, 5, 131, probabilities[i], false, APART);
        check(ops, 5, 131, probabilities[i], false, IN_X);
        check(ops, 5, 131, probabilities[i], true, APART);
        check(ops, 5, 131, probabilities[i], true, IN_X);
        check(ops, 5, 131, probabilities[i], true, IN_RESIDUAL);
    }
}

static void test_sizes(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    static const uint32_t sizes[] = {1, 2, 3, 4, 5, 97, 255, 256, 257, 511, 512, 513, 70001};
    for (size_t i = 0; i < COUNT_OF(sizes); i++)
        check(ops, 1 + (uint32_t)i % 3, sizes[i], 0.3f, i % 2, APART);
}

// Runs dropout of ones; what stays is 1 / (1 - p), and what does not is 0.
static float *mask_of(vkf_test_ops *ops, float p, uint64_t seed, uint32_t stream, uint32_t step, size_t *out_count)
{
    vkf_test_operand *x = vkf_test_constant(ops, VKF_DTYPE_F32, 1, SHAPE(33, 1001));
    vkf_test_operand *out = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(33, 1001));
    const vkf__dropout_args args = {"mask", SPAN(x), {0}, SPAN(out), 33, 1001, p, seed, stream, step};
    float *mask = vkf_test_floats(out->count);
    vkf_test_assert_ok(ops, vkf__run_once(ops->gpu.context, "mask", emit, &args), "dropout");
    vkf_test_download(ops, out);
    memcpy(mask, out->values, out->count * sizeof *mask);
    *out_count = out->count;
    vkf_test_ops_reset(ops);
    return mask;
}

// The same bits as the host's words give, for every kind of probability.
static void test_masks_are_those_of_the_host(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    for (size_t i = 0; i < COUNT_OF(probabilities); i++) {
        size_t count = 0, kept = 0;
        const float p = probabilities[i];
        float *mask = mask_of(ops, p, SEED, 1, 2, &count), *expected = vkf_test_floats(count);
        float *ones = vkf_test_floats(count);
        for (size_t j = 0; j < count; j++)
            ones[j] = 1;
        vkf__ref_dropout(&(vkf__ref_dropout_desc){count, p, SEED, 1, 2, ones, NULL, expected});
        for (size_t j = 0; j < count; j++) {
            assert_int_equal(mask[j] != 0, p < 1 && expected[j] != 0);
            assert_true(mask[j] == 0 || mask[j] == vkf__dropout_scale(p));
            kept += mask[j] != 0;
        }
        // Within five standard deviations.
        const double mean = (1 - (double)p) * (double)count;
        assert_true(fabs((double)kept - mean) <= 5 * sqrt(mean * p) + 1e-9);
        free(mask);
        free(expected);
        free(ones);
    }
}

// Another seed, stream or step drops others, and as many of what was kept: they do not depend on each other.
static void test_masks_differ(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    static const struct {
        uint64_t seed;
        uint32_t stream, step;
    } others[] = {{SEED + 1, 1, 2}, {SEED ^ UINT64_C(1) << 63, 1, 2}, {SEED, 2, 2}, {SEED, 1, 3}, {SEED, 2, 1}};
    size_t count = 0;
    float *mask = mask_of(ops, 0.5f, SEED, 1, 2, &count);
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        float *other = mask_of(ops, 0.5f, others[i].seed, others[i].stream, others[i].step, &count);
        size_t equal = 0;
        for (size_t j = 0; j < count; j++)
            equal += mask[j] == other[j];
        assert_true(fabs((double)equal - 0.5 * (double)count) < 5 * sqrt(0.25 * (double)count));
        free(other);
    }
    free(mask);
}

// What is dropped does not count, whatever it is; all of it where all is dropped.
static void test_dropped_values_may_be_no_numbers(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    for (int all = 0; all < 2; all++) {
        const float p = all ? 1.0f : 0.4f;
        vkf_test_operand *x = vkf_test_constant(ops, VKF_DTYPE_F32, NAN, SHAPE(3, 100));
        vkf_test_operand *out = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(3, 100));
        float ones[300], expected[300];
        for (size_t i = 0; i < COUNT_OF(ones); i++)
            ones[i] = 1;
        const vkf__dropout_args args = {"nan", SPAN(x), {0}, SPAN(out), 3, 100, p, SEED, 0, 0};
        vkf__ref_dropout(&(vkf__ref_dropout_desc){300, p, SEED, 0, 0, ones, NULL, expected});
        vkf_test_assert_ok(ops, vkf__run_once(ops->gpu.context, "nan", emit, &args), "dropout");
        vkf_test_download(ops, out);
        for (size_t i = 0; i < out->count; i++)
            assert_true(expected[i] == 0 ? out->values[i] == 0 : isnan(out->values[i]));
        vkf_test_ops_reset(ops);
    }
}

// Dropout is linear in x: what a change of x[i] by 1 changes is the factor by which its gradient is multiplied.
static void test_reference_is_its_own_backward_pass(void **state)
{
    (void)state;
    enum { COUNT = 29 };
    float x[COUNT], dout[COUNT], dx[COUNT], slopes[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        x[i] = 0.4f * (float)i - 3;
        dout[i] = 2 - 0.3f * (float)i;
    }
    const vkf__ref_dropout_desc forward = {COUNT, 0.3, SEED, 5, 6, x, dout, dx};
    vkf__ref_dropout_desc backward = forward;
    for (size_t j = 0; j < COUNT; j++) {
        float above[COUNT], below[COUNT];
        const float value = x[j];
        vkf__ref_dropout_desc moved = forward;
        x[j] = value + 0.5f;
        moved.out = above;
        vkf__ref_dropout(&moved);
        x[j] = value - 0.5f;
        moved.out = below;
        vkf__ref_dropout(&moved);
        x[j] = value;
        slopes[j] = 0;
        for (size_t i = 0; i < COUNT; i++)
            slopes[j] += dout[i] * (above[i] - below[i]);
    }
    backward.x = dout;
    backward.residual = NULL;
    vkf__ref_dropout(&backward);
    assert_close(dx, slopes, COUNT, 1e-5, 1e-5, "dropout's reference");
}

static void test_no_rows(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    vkf_test_operand *x = vkf_test_constant(ops, VKF_DTYPE_F32, 1, SHAPE(2, 8));
    vkf_test_operand *out = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(2, 8));
    const vkf__dropout_args args = {"none", SPAN(x), {0}, SPAN(out), 0, 8, 0.5f, SEED, 0, 0};
    vkf_test_assert_ok(ops, vkf__run_once(ops->gpu.context, "none", emit, &args), "dropout of no rows");
    vkf_test_assert_untouched(ops, out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        VKF_OPS_TEST(test_probabilities_and_places),
        VKF_OPS_TEST(test_sizes),
        VKF_OPS_TEST(test_masks_are_those_of_the_host),
        VKF_OPS_TEST(test_masks_differ),
        VKF_OPS_TEST(test_dropped_values_may_be_no_numbers),
        VKF_OPS_TEST(test_reference_is_its_own_backward_pass),
        VKF_OPS_TEST(test_no_rows),
    };
    return cmocka_run_group_tests_name("op_dropout", tests, vkf_test_ops_setup, vkf_test_ops_teardown);
}
