// Steps of Adam, AdamW and SGD against the reference: sizes about the workgroups', several steps after each other,
// steps that are skipped, and slices.
//
// Bounds. A weight, below 8, rounds thrice in a step, by 2^-22 each time. The step, below 8 rates, has the device's
// root and its divisions, within 3 units in the last place each: 2^-18 rates. First moments and momentum, below 16,
// round twice by 2^-21. Second moments have no differences in them and round by 2^-22 of themselves, which shows a
// 1 - beta2 that was taken in float.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "op/optimiser.h"
#include "op/run_once.h"
#include "reference/reference.h"
#include "support/op_fixture.h"

#define SPAN(operand) vkf__span_of(&(operand)->tensor)
#define STEPS 4
#define RATE 0.01

static vkf_status emit_adam(vkf__work *work, const void *args)
{
    return vkf__emit_adam(work, args);
}

static vkf_status emit_sgd(vkf__work *work, const void *args)
{
    return vkf__emit_sgd(work, args);
}

// What an optimiser keeps: its numbers on the device, and copies for the reference.
typedef struct trained {
    uint32_t count;
    vkf_test_operand *parameter, *kept, *factor;
    float *expected, *expected_kept;
} trained;

static float *copy_of(const vkf_test_operand *operand)
{
    float *values = vkf_test_floats(operand->count);
    memcpy(values, operand->values, operand->count * sizeof *values);
    return values;
}

static trained make(vkf_test_ops *ops, uint32_t count, uint32_t kept_each)
{
    trained t = {
        .count = count,
        .parameter = vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(count)),
        .kept = vkf_test_constant(ops, VKF_DTYPE_F32, 0, SHAPE(count, kept_each)),
        .factor = vkf_test_constant(ops, VKF_DTYPE_F32, 0.125f, SHAPE(1)),
    };
    t.expected = copy_of(t.parameter);
    t.expected_kept = copy_of(t.kept);
    return t;
}

static void compare(vkf_test_ops *ops, trained *t, const char *name)
{
    const bool second_moments = t->kept->tensor.shape[1] == 2;
    vkf_test_download(ops, t->parameter);
    vkf_test_download(ops, t->kept);
    assert_close(t->parameter->values, t->expected, t->count, STEPS * (0x1p-20 + 0x1p-18 * RATE), 0,
                 vkf_test_label(&ops->gpu, "%s of %u", name, t->count));
    assert_close(t->kept->values, t->expected_kept, t->kept->count, STEPS * 0x1p-20, 0,
                 vkf_test_label(&ops->gpu, "what %s of %u keeps", name, t->count));
    for (uint32_t i = 0; second_moments && i < t->count; i++)
        assert_close(&t->kept->values[2 * i + 1], &t->expected_kept[2 * i + 1], 1, 0, STEPS * 0x1p-22,
                     vkf_test_label(&ops->gpu, "second moment %u of %u", i, t->count));
    free(t->expected);
    free(t->expected_kept);
    vkf_test_ops_reset(ops);
}

// The next step's terms are added to it.
static void assert_cleared(vkf_test_ops *ops, vkf_test_operand *gradient)
{
    vkf_test_download(ops, gradient);
    for (size_t i = 0; i < gradient->count; i++)
        assert_true(gradient->values[i] == 0);
}

static void step_adam(vkf_test_ops *ops, trained *t, uint32_t step, bool decoupled)
{
    vkf_test_operand *gradient = vkf_test_normal(ops, VKF_DTYPE_F32, 0, 8, SHAPE(t->count));
    const vkf__adam_args args = {
        .label = "adam",
        .parameter = SPAN(t->parameter),
        .gradient = SPAN(gradient),
        .moments = SPAN(t->kept),
        .factor = SPAN(t->factor),
        .count = t->count,
        .step = step,
        .rate = RATE,
        .beta1 = 0.9,
        .beta2 = 0.999,
        .eps = 1e-8,
        .weight_decay = 0.1,
        .decoupled = decoupled,
    };
    vkf__ref_adam(&(vkf__ref_adam_desc){t->count, t->expected, gradient->values, t->expected_kept, 0.125, step,
                                        args.rate, args.beta1, args.beta2, args.eps, args.weight_decay, decoupled});
    vkf_test_assert_ok(ops, vkf__run_once(ops->gpu.context, "adam", emit_adam, &args), "adam");
    assert_cleared(ops, gradient);
}

static void check_adam(vkf_test_ops *ops, uint32_t count, bool decoupled)
{
    trained t = make(ops, count, 2);
    for (uint32_t step = 1; step <= STEPS; step++)
        step_adam(ops, &t, step, decoupled);
    compare(ops, &t, decoupled ? "AdamW" : "Adam");
}

static const uint32_t counts[] = {1, 2, 63, 64, 65, 127, 128, 129, 1021, 70001};

static void test_adam_sizes(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    for (size_t i = 0; i < COUNT_OF(counts); i++) {
        check_adam(ops, counts[i], false);
        check_adam(ops, counts[i], true);
    }
}

// After 1000 steps the corrections are others than at the beginning, and eps is outside the root.
static void test_adam_late_and_with_a_large_eps(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    const float gradients[] = {1, -2, 1e-3f, 0}, moments[] = {0.5f, 1, -1, 2, 1e-4f, 1e-7f, 0, 0};
    vkf_test_operand *parameter = vkf_test_constant(ops, VKF_DTYPE_F32, 0, SHAPE(4));
    vkf_test_operand *gradient = vkf_test_values(ops, VKF_DTYPE_F32, gradients, SHAPE(4));
    vkf_test_operand *kept = vkf_test_values(ops, VKF_DTYPE_F32, moments, SHAPE(4, 2));
    vkf_test_operand *factor = vkf_test_constant(ops, VKF_DTYPE_F32, 1, SHAPE(1));
    float *expected = copy_of(parameter), *expected_kept = copy_of(kept);
    const vkf__adam_args args = {
        "adam", SPAN(parameter), SPAN(gradient), SPAN(kept), SPAN(factor), 4, 1000, 1, 0.9, 0.98, 0.25, 0, true};
    vkf__ref_adam(&(vkf__ref_adam_desc){4, expected, gradients, expected_kept, 1, 1000, 1, 0.9, 0.98, 0.25, 0, true});
    vkf_test_assert_ok(ops, vkf__run_once(ops->gpu.context, "adam", emit_adam, &args), "adam");
    vkf_test_download(ops, parameter);
    assert_close(parameter->values, expected, 4, 0, 4e-6, "late Adam");
    free(expected);
    free(expected_kept);
}

static void step_sgd(vkf_test_ops *ops, trained *t, bool momentum, bool nesterov)
{
    vkf_test_operand *gradient = vkf_test_normal(ops, VKF_DTYPE_F32, 0, 8, SHAPE(t->count));
    const vkf__sgd_args args = {
        .label = "sgd",
        .parameter = SPAN(t->parameter),
        .gradient = SPAN(gradient),
        .momentum_buffer = momentum ? SPAN(t->kept) : (vkf__span){0},
        .factor = SPAN(t->factor),
        .count = t->count,
        .rate = (float)RATE,
        .momentum = 0.875f,
        .weight_decay = 0.125f,
        .nesterov = nesterov,
    };
    vkf__ref_sgd(&(vkf__ref_sgd_desc){t->count, t->expected, gradient->values, momentum ? t->expected_kept : NULL,
                                      0.125, args.rate, 0.875, 0.125, nesterov});
    vkf_test_assert_ok(ops, vkf__run_once(ops->gpu.context, "sgd", emit_sgd, &args), "sgd");
    assert_cleared(ops, gradient);
}

static void test_sgd_sizes(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    for (size_t i = 0; i < 3 * COUNT_OF(counts); i++) {
        trained t = make(ops, counts[i / 3], 1);
        for (uint32_t step = 0; step < STEPS; step++)
            step_sgd(ops, &t, i % 3 > 0, i % 3 == 2);
        compare(ops, &t, "SGD");
    }
}

// Where the gradients are no numbers, the factor is 0, and all else stays as it is to the last bit.
static void test_steps_are_skipped(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    vkf_test_operand *parameter = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(200));
    vkf_test_operand *kept = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(200, 2));
    vkf_test_operand *gradient = vkf_test_constant(ops, VKF_DTYPE_F32, NAN, SHAPE(200));
    vkf_test_operand *other = vkf_test_constant(ops, VKF_DTYPE_F32, NAN, SHAPE(200));
    vkf_test_operand *factor = vkf_test_constant(ops, VKF_DTYPE_F32, 0, SHAPE(1));
    const vkf__adam_args adam = {
        "adam", SPAN(parameter), SPAN(gradient), SPAN(kept), SPAN(factor), 200, 1, 1, 0.9, 0.98, 1e-8, 0.5, true};
    const vkf__sgd_args sgd = {"sgd", SPAN(parameter), SPAN(other), SPAN(kept), SPAN(factor), 200, 1, 0.5f, 0.5f,
                               false};
    vkf_test_assert_ok(ops, vkf__run_once(ops->gpu.context, "adam", emit_adam, &adam), "adam");
    vkf_test_assert_ok(ops, vkf__run_once(ops->gpu.context, "sgd", emit_sgd, &sgd), "sgd");
    vkf_test_assert_untouched(ops, parameter);
    vkf_test_assert_untouched(ops, kept);
    assert_cleared(ops, gradient);
    assert_cleared(ops, other);
}

static void test_steps_of_no_elements(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    vkf_test_operand *parameter = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(2));
    vkf_test_operand *kept = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(2, 2));
    vkf_test_operand *one = vkf_test_constant(ops, VKF_DTYPE_F32, 1, SHAPE(2));
    const vkf__adam_args adam = {
        "adam", SPAN(parameter), SPAN(one), SPAN(kept), SPAN(one), 0, 1, 1, 0.9, 0.98, 1e-8, 0.5, true};
    vkf_test_assert_ok(ops, vkf__run_once(ops->gpu.context, "adam", emit_adam, &adam), "adam");
    vkf_test_assert_untouched(ops, parameter);
    vkf_test_assert_untouched(ops, kept);
}

// Slices of 16 thousand elements of Adam's, and of twice as many of SGD's.
static void test_steps_in_slices(void **state)
{
    static const char *const small_range[] = {"maxStorageBufferRange=131072"};
    vkf_test_ops small;
    (void)vkf_test_ops_of(state);
    assert_true(vkf_test_ops_open(&small, small_range, 1));
    check_adam(&small, 40001, true);
    trained t = make(&small, 70001, 1);
    for (uint32_t step = 0; step < STEPS; step++)
        step_sgd(&small, &t, true, false);
    compare(&small, &t, "SGD");
    vkf_test_ops_close(&small);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        VKF_OPS_TEST(test_adam_sizes),
        VKF_OPS_TEST(test_adam_late_and_with_a_large_eps),
        VKF_OPS_TEST(test_sgd_sizes),
        VKF_OPS_TEST(test_steps_are_skipped),
        VKF_OPS_TEST(test_steps_of_no_elements),
        VKF_OPS_TEST(test_steps_in_slices),
    };
    return cmocka_run_group_tests_name("op_optimiser", tests, vkf_test_ops_setup, vkf_test_ops_teardown);
}
