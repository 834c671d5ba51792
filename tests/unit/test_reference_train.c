// The reference of training: gradients against finite differences of the loss, and steps of optimisers against what
// follows from their formulas in closed form.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "op/train/clip.h"
#include "op/train/cross_entropy.h"
#include "op/train/optimiser.h"
#include "op/train/total.h"
#include "support/by_hand.h"
#include "support/compare.h"

enum { COLS = 7, IGNORED = -100 };

static const float logits[COLS] = {0.5f, -1.25f, 3.0f, 0.0f, 2.5f, -4.0f, 1.0f};

// By the definition, with the smoothed distribution of labels: -sum of q log p.
static double loss_of(const double *x, int32_t label, double smoothing)
{
    double sum = 0, loss = 0;
    for (int32_t i = 0; i < COLS; i++)
        sum += exp(x[i]);
    for (int32_t i = 0; i < COLS; i++)
        loss -= (smoothing / COLS + (i == label ? 1 - smoothing : 0)) * log(exp(x[i]) / sum);
    return loss;
}

// The error of central differences is of the order of step^2, and that of their rounding of 1e-16 / step.
static double slope(int32_t column, int32_t label, double smoothing)
{
    const double step = 1e-5;
    double above[COLS], below[COLS];
    for (int32_t i = 0; i < COLS; i++) {
        above[i] = logits[i] + (i == column ? step : 0);
        below[i] = logits[i] - (i == column ? step : 0);
    }
    return (loss_of(above, label, smoothing) - loss_of(below, label, smoothing)) / (2 * step);
}

// Losses (rows) and gradients (rows, cols) of logits (rows, cols) with a label each.
static void cross_entropy(uint32_t rows, uint32_t cols, const float *x, const int32_t *labels, float smoothing,
                          float factor, float *out_loss, float *out_gradient)
{
    const vkf__cross_entropy_args args = {
        .label = "loss",
        .logits = vkf_hand_operand(VKF_DTYPE_F32, x, (size_t)rows * cols),
        .labels = vkf_hand_operand(VKF_DTYPE_I32, labels, rows),
        .loss = vkf_hand_operand(VKF_DTYPE_F32, x, rows),
        .gradient = vkf_hand_operand(VKF_DTYPE_F32, x, (size_t)rows * cols),
        .rows = rows,
        .cols = cols,
        .ignored = IGNORED,
        .smoothing = smoothing,
        .factor = factor,
    };
    vkf_hand_run(VKF_OP_CROSS_ENTROPY, &args);
    vkf_hand_read(&args.loss, out_loss);
    vkf_hand_read(&args.gradient, out_gradient);
}

static void check_row(int32_t label, float smoothing, float factor)
{
    float loss = -1, gradient[COLS], expected[COLS];
    double x[COLS];
    for (int32_t i = 0; i < COLS; i++) {
        x[i] = logits[i];
        expected[i] = (float)(factor * slope(i, label, smoothing));
    }
    const float expected_loss = (float)loss_of(x, label, smoothing);
    cross_entropy(1, COLS, logits, &label, smoothing, factor, &loss, gradient);
    assert_close(&loss, &expected_loss, 1, 0, 1e-6, "cross entropy");
    assert_close(gradient, expected, COLS, 1e-9, 1e-6, "gradient of cross entropy");
}

static void test_cross_entropy_gradient_is_the_slope(void **state)
{
    (void)state;
    for (int32_t label = 0; label < COLS; label++)
        for (int smoothed = 0; smoothed <= 8; smoothed++)
            check_row(label, 0.125f * (float)smoothed, 0.5f);
}

static void test_cross_entropy_of_labels_that_are_no_columns(void **state)
{
    (void)state;
    const float rows[3] = {NAN, 1, 1}, expected[3] = {0, NAN, NAN};
    const int32_t labels[3] = {IGNORED, 1, -1};
    float loss[3], gradient[3];
    cross_entropy(3, 1, rows, labels, 0.5f, 1, loss, gradient);
    assert_close(loss, expected, 3, 0, 0, "loss");
    assert_close(gradient, expected, 3, 0, 0, "gradient");
}

static void test_clip_factor_and_norm(void **state)
{
    (void)state;
    static const struct {
        float squares[2], max_norm, scale, out[2];
    } rows[] = {
        {{9, 16}, 0, 1, {1, 5}}, {{9, 16}, 1, 1, {0.19999996f, 5}}, // 1 / 5.000001
        {{9, 16}, 6, 1, {1, 5}}, {{9, 16}, 1, 4, {0.2f, 1.25f}},    // 1 / 1.250001 / 4
        {{0, 0}, 1, 1, {1, 0}},  {{INFINITY, 1}, 1, 2, {0, INFINITY}}, {{1, NAN}, 0, 2, {0, NAN}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        float out[2];
        const vkf__clip_args args = {"clip",
                                     vkf_hand_operand(VKF_DTYPE_F32, rows[i].squares, 2),
                                     vkf_hand_operand(VKF_DTYPE_F32, rows[i].squares, 2),
                                     2,
                                     rows[i].max_norm,
                                     rows[i].scale};
        vkf_hand_run(VKF_OP_CLIP, &args);
        vkf_hand_read(&args.out, out);
        assert_close(out, rows[i].out, 2, 0, 1e-6, "clip");
    }
}

static float total_of(const float *x, uint32_t count, bool squares)
{
    float out = 0;
    const vkf__total_args args = {
        .label = "total",
        .x = vkf_hand_operand(VKF_DTYPE_F32, x, count),
        .out = vkf_hand_operand(VKF_DTYPE_F32, &out, 1),
        .count = count,
        .squares = squares,
        .factor = 1,
    };
    vkf_hand_run(VKF_OP_TOTAL, &args);
    vkf_hand_read(&args.out, &out);
    return out;
}

static void test_total_of_elements_and_squares(void **state)
{
    (void)state;
    const float x[] = {1, -2, 3, 0.5f};
    assert_true(total_of(x, 4, false) == 2.5f);
    assert_true(total_of(x, 4, true) == 14.25f);
}

// Steps of a single weight, in place.
typedef struct weight {
    float parameter, kept[2], factor;
} weight;

static vkf__adam_args adam_of(uint32_t step)
{
    return (vkf__adam_args){
        .label = "adam", .count = 1, .step = step, .rate = 0.1, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-3};
}

static void step_adam(weight *w, float gradient, vkf__adam_args args)
{
    args.parameter = vkf_hand_operand(VKF_DTYPE_F32, &w->parameter, 1);
    args.gradient = vkf_hand_operand(VKF_DTYPE_F32, &gradient, 1);
    args.moments = vkf_hand_operand(VKF_DTYPE_F32, w->kept, 2);
    args.factor = vkf_hand_operand(VKF_DTYPE_F32, &w->factor, 1);
    vkf_hand_run(VKF_OP_ADAM, &args);
    vkf_hand_read(&args.parameter, &w->parameter);
    vkf_hand_read(&args.gradient, &gradient);
    vkf_hand_read(&args.moments, w->kept);
    assert_true(gradient == 0);
}

static void step_sgd(weight *w, float gradient, bool momentum, vkf__sgd_args args)
{
    args.label = "sgd";
    args.count = 1;
    args.parameter = vkf_hand_operand(VKF_DTYPE_F32, &w->parameter, 1);
    args.gradient = vkf_hand_operand(VKF_DTYPE_F32, &gradient, 1);
    args.momentum_buffer = vkf_hand_operand(VKF_DTYPE_F32, momentum ? w->kept : NULL, 1);
    args.factor = vkf_hand_operand(VKF_DTYPE_F32, &w->factor, 1);
    vkf_hand_run(VKF_OP_SGD, &args);
    vkf_hand_read(&args.parameter, &w->parameter);
    vkf_hand_read(&args.gradient, &gradient);
    vkf_hand_read(&args.momentum_buffer, w->kept);
    assert_true(gradient == 0);
}

// Both corrected moments of a gradient g that stays are g and g^2, so that each step is rate * g / (|g| + eps).
static void test_adam_under_a_constant_gradient(void **state)
{
    (void)state;
    weight w = {.parameter = 2, .factor = 0.5f};
    const float expected = (float)(2 + 5 * 0.1 * 0.25 / (0.25 + 1e-3));
    for (uint32_t step = 1; step <= 5; step++)
        step_adam(&w, -0.5f, adam_of(step));
    assert_close(&w.parameter, &expected, 1, 0, 1e-6, "Adam");
}

// After two gradients g and h the corrected moments are (beta1 g + h) / (1 + beta1) and, of squares, the same.
static void test_adam_under_two_gradients(void **state)
{
    (void)state;
    weight w = {.factor = 0.5f};
    step_adam(&w, 2, adam_of(1)); // 1 and -3 by the factor
    step_adam(&w, -6, adam_of(2));
    const double m = (0.9 - 3) / 1.9, v = (0.999 + 9) / 1.999;
    const float expected = (float)(-0.1 / (1 + 1e-3) - 0.1 * m / (sqrt(v) + 1e-3));
    const float expected_moments[2] = {(float)(0.09 - 0.3), (float)(0.000999 + 0.009)};
    assert_close(&w.parameter, &expected, 1, 0, 1e-6, "Adam");
    assert_close(w.kept, expected_moments, 2, 0, 1e-6, "moments");
}

// Without a gradient AdamW shrinks the weight by rate * decay; Adam takes the decay for a gradient, and steps by rate.
static void test_adam_weight_decay(void **state)
{
    (void)state;
    for (int decoupled = 0; decoupled <= 1; decoupled++) {
        weight w = {.parameter = 4, .factor = 0.5f};
        const float expected = decoupled ? 4 * (1 - 0.1f * 0.25f) : 4 - 0.1f * 1 / (1 + 1e-3f);
        vkf__adam_args args = adam_of(1);
        args.weight_decay = 0.25;
        args.decoupled = decoupled;
        step_adam(&w, 0, args);
        assert_close(&w.parameter, &expected, 1, 0, 1e-6, decoupled ? "AdamW" : "Adam");
    }
}

static void test_sgd_with_and_without_momentum(void **state)
{
    (void)state;
    // Two steps of rate 0.5 from 1 along gradients of 2 and 4, halved, with momentum 0.5: 1 and then 0.5 + 2 = 2.5.
    // Nesterov goes 1 + 0.5 and 2 + 1.25. A decay of 0.5 adds half the weight to each gradient: 1.5, then 2 + 0.125.
    const float gradients[2] = {2, 4},
                expected[4] = {1 - 0.5f - 1, 1 - 0.5f - 1.25f, 1 - 0.75f - 1.625f, 0.25f - 1.0625f};
    for (int i = 0; i < 4; i++) {
        weight w = {.parameter = 1, .factor = 0.5f};
        for (int step = 0; step < 2; step++)
            step_sgd(
                &w, gradients[step], i == 1 || i == 2,
                (vkf__sgd_args){.rate = 0.5f, .momentum = 0.5f, .weight_decay = i == 3 ? 0.5f : 0, .nesterov = i == 2});
        assert_close(&w.parameter, &expected[i], 1, 0, 1e-6, "SGD");
    }
}

static void test_factor_zero_skips_the_step(void **state)
{
    (void)state;
    weight w = {.parameter = 1, .kept = {2, 3}};
    step_adam(&w, NAN, adam_of(1));
    step_sgd(&w, NAN, true, (vkf__sgd_args){.rate = 1});
    assert_true(w.parameter == 1 && w.kept[0] == 2 && w.kept[1] == 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cross_entropy_gradient_is_the_slope),
        cmocka_unit_test(test_cross_entropy_of_labels_that_are_no_columns),
        cmocka_unit_test(test_clip_factor_and_norm),
        cmocka_unit_test(test_total_of_elements_and_squares),
        cmocka_unit_test(test_adam_under_a_constant_gradient),
        cmocka_unit_test(test_adam_under_two_gradients),
        cmocka_unit_test(test_adam_weight_decay),
        cmocka_unit_test(test_sgd_with_and_without_momentum),
        cmocka_unit_test(test_factor_zero_skips_the_step),
    };
    return cmocka_run_group_tests_name("reference_train", tests, vkf_hand_setup, vkf_hand_teardown);
}
