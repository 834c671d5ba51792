// Estimates of a peer's dispatches beside its published speeds: how far off the model may be.
#include <stdio.h>
#include <string.h>

#include "plan/plan_calibrate.h"
#include "plan_lines.h"

#define LEAST_RATIO 0.75
#define MOST_RATIO 1.25

static void test_estimates_stay_near_what_is_published(void **state)
{
    (void)state;
    for (size_t i = 0; i < vkf_calibration_count; i++) {
        const vkf_calibration *c = &vkf_calibrations[i];
        const double ratio = vkf_calibration_estimate(c) / c->published;
        const bool near = ratio >= LEAST_RATIO && ratio <= MOST_RATIO;
        if (near == (c->unseen == NULL))
            continue;
        print_error("%s, %s, %s: %.2f of what is published\n", c->chip, c->run.model->name, c->source, ratio);
        fail_msg("%s", near ? "it says what it cannot see, and need not" : "it is a quarter off, and says nothing");
    }
}

static void test_ratios_are_the_known_ones(void **state)
{
    plan_text text = {0};
    (void)state;
    for (size_t i = 0; i < vkf_calibration_count; i++) {
        const vkf_calibration *c = &vkf_calibrations[i];
        const double estimate = vkf_calibration_estimate(c);
        plan_print(&text, "%s, %s, %s: published %.4g, estimated %.4g, %.2f\n", c->chip, c->run.model->name,
                   c->prompt ? "prompt" : "token", c->published, estimate, estimate / c->published);
    }
    plan_check(&text, "golden/calibration.txt");
}

static void test_four_chips_are_covered(void **state)
{
    size_t chips = 0;
    (void)state;
    for (size_t i = 0; i < vkf_calibration_count; i++)
        chips += i == 0 || strcmp(vkf_calibrations[i].chip, vkf_calibrations[i - 1].chip) != 0;
    assert_true(chips >= 4);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_estimates_stay_near_what_is_published),
        cmocka_unit_test(test_ratios_are_the_known_ones),
        cmocka_unit_test(test_four_chips_are_covered),
    };
    return PLAN_RUN(tests, argc, argv);
}
