// The reference of training: gradients against finite differences of the loss, and steps of optimisers against what
// follows from their formulas in closed form.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "reference/reference.h"
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

static void check_row(int32_t label, float smoothing, float factor)
{
    float loss = -1, gradient[COLS], expected[COLS];
    double x[COLS];
    for (int32_t i = 0; i < COLS; i++) {
        x[i] = logits[i];
        expected[i] = (float)(factor * slope(i, label, smoothing));
    }
    const float expected_loss = (float)loss_of(x, label, smoothing);
    vkf__ref_cross_entropy(
        &(vkf__ref_cross_entropy_desc){1, COLS, logits, &label, IGNORED, smoothing, factor, &loss, gradient});
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
    vkf__ref_cross_entropy(&(vkf__ref_cross_entropy_desc){3, 1, rows, labels, IGNORED, 0.5f, 1, loss, gradient});
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
        vkf__ref_clip(2, rows[i].squares, rows[i].max_norm, rows[i].scale, out);
        assert_close(out, rows[i].out, 2, 0, 1e-6, "clip");
    }
}

static void test_total_of_elements_and_squares(void **state)
{
    (void)state;
    const float x[] = {1, -2, 3, 0.5f};
    assert_true(vkf__ref_total(4, x, false) == 2.5);
    assert_true(vkf__ref_total(4, x, true) == 14.25);
    assert_true(vkf__ref_total(0, x, true) == 0);
}

static vkf__ref_adam_desc adam_of(float *parameter, const float *gradient, float *moments, uint32_t step)
{
    return (vkf__ref_adam_desc){
        .count = 1,
        .parameter = parameter,
        .gradient = gradient,
        .moments = moments,
        .factor = 0.5,
        .step = step,
        .rate = 0.1,
        .beta1 = 0.9,
        .beta2 = 0.999,
        .eps = 1e-3,
    };
}

// Both corrected moments of a gradient g that stays are g and g^2, so that each step is rate * g / (|g| + eps).
static void test_adam_under_a_constant_gradient(void **state)
{
    (void)state;
    float parameter = 2, moments[2] = {0, 0};
    const float gradient = -0.5f, expected = (float)(2 + 5 * 0.1 * 0.25 / (0.25 + 1e-3));
    for (uint32_t step = 1; step <= 5; step++) {
        const vkf__ref_adam_desc desc = adam_of(&parameter, &gradient, moments, step);
        vkf__ref_adam(&desc);
    }
    assert_close(&parameter, &expected, 1, 0, 1e-6, "Adam");
}

// After two gradients g and h the corrected moments are (beta1 g + h) / (1 + beta1) and, of squares, the same.
static void test_adam_under_two_gradients(void **state)
{
    (void)state;
    float parameter = 0, moments[2] = {0, 0};
    const float gradients[2] = {2, -6}; // 1 and -3 by the factor
    for (uint32_t step = 1; step <= 2; step++) {
        const vkf__ref_adam_desc desc = adam_of(&parameter, &gradients[step - 1], moments, step);
        vkf__ref_adam(&desc);
    }
    const double m = (0.9 - 3) / 1.9, v = (0.999 + 9) / 1.999;
    const float expected = (float)(-0.1 / (1 + 1e-3) - 0.1 * m / (sqrt(v) + 1e-3));
    const float expected_moments[2] = {(float)(0.09 - 0.3), (float)(0.000999 + 0.009)};
    assert_close(&parameter, &expected, 1, 0, 1e-6, "Adam");
    assert_close(moments, expected_moments, 2, 0, 1e-6, "moments");
}

// Without a gradient AdamW shrinks the weight by rate * decay; Adam takes the decay for a gradient, and steps by rate.
static void test_adam_weight_decay(void **state)
{
    (void)state;
    for (int decoupled = 0; decoupled <= 1; decoupled++) {
        float parameter = 4, moments[2] = {0, 0};
        const float gradient = 0, expected = decoupled ? 4 * (1 - 0.1f * 0.25f) : 4 - 0.1f * 1 / (1 + 1e-3f);
        vkf__ref_adam_desc desc = adam_of(&parameter, &gradient, moments, 1);
        desc.weight_decay = 0.25;
        desc.decoupled = decoupled;
        vkf__ref_adam(&desc);
        assert_close(&parameter, &expected, 1, 0, 1e-6, decoupled ? "AdamW" : "Adam");
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
        float parameter = 1, buffer = 0;
        for (int step = 0; step < 2; step++)
            vkf__ref_sgd(&(vkf__ref_sgd_desc){
                .count = 1,
                .parameter = &parameter,
                .gradient = &gradients[step],
                .momentum_buffer = i == 1 || i == 2 ? &buffer : NULL,
                .factor = 0.5,
                .rate = 0.5,
                .momentum = 0.5,
                .weight_decay = i == 3 ? 0.5 : 0,
                .nesterov = i == 2,
            });
        assert_close(&parameter, &expected[i], 1, 0, 1e-6, "SGD");
    }
}

static void test_factor_zero_skips_the_step(void **state)
{
    (void)state;
    float parameter = 1, moments[2] = {2, 3};
    const float gradient = NAN;
    vkf__ref_adam_desc adam = adam_of(&parameter, &gradient, moments, 1);
    adam.factor = 0;
    vkf__ref_adam(&adam);
    vkf__ref_sgd(&(vkf__ref_sgd_desc){
        .count = 1, .parameter = &parameter, .gradient = &gradient, .momentum_buffer = moments, .rate = 1});
    assert_true(parameter == 1 && moments[0] == 2 && moments[1] == 3);
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
    return cmocka_run_group_tests_name("reference_train", tests, NULL, NULL);
}
