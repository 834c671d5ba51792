// The model behind the estimates, with numbers that can be followed by hand.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "plan/plan_estimate.h"

static const vkf_chip_speed chip = {
    .cores = 10,
    .memory_bytes_per_s = 100e9,
    .f32_flops = 1e12,
    .f16_flops = 2e12,
    .matrix_flops = 4e12,
    .matrix_f16_flops = 6e12,
    .dot_ops = 8e12,
    .latency_s = 1e-6,
    .barrier_s = 5e-6,
    .submit_s = 1e-4,
    .invocations_per_core = 1024,
    .shared_bytes_per_core = 65536,
};

static void assert_near(double value, double expected)
{
    assert_true(fabs(value - expected) <= 1e-9 * fabs(expected));
}

static void test_bandwidth_is_what_is_in_flight_in_a_latency(void **state)
{
    // 4 groups of 2 KiB in 1 us: 8.192 GB/s.
    const vkf_plan_load few = {.workgroups = 4, .local_size = 64, .step_bytes = 2048, .bytes = 8.192e6};
    // No more groups are resident than cores hold: 16 by invocations.
    const vkf_plan_load many = {.workgroups = 1e6, .local_size = 64, .step_bytes = 64, .bytes = 1};
    const vkf_plan_load enough = {
        .workgroups = 1000, .local_size = 64, .step_bytes = 4096, .bytes = VKF_PLAN_MEMORY_SHARE * 100e6};
    (void)state;
    assert_near(vkf_plan_estimate(&chip, &few).total_s, 1e-3);
    assert_near(vkf_plan_estimate(&chip, &many).bytes_in_flight, 160 * 64);
    assert_near(vkf_plan_estimate(&chip, &enough).total_s, 1e-3);
}

static void test_arithmetic_waits_for_the_last_round(void **state)
{
    // 15 groups on 10 cores take two rounds, of which the second is half empty.
    const vkf_plan_load load = {.workgroups = 15, .local_size = 256, .flops = 1e9};
    const vkf_plan_cost cost = vkf_plan_estimate(&chip, &load);
    (void)state;
    assert_near(cost.busy, 0.75);
    assert_near(cost.math_s, 1e9 / (1e12 * VKF_PLAN_SCALAR_SHARE * 0.75));
    assert_int_equal(cost.limit, VKF_PLAN_BY_MATH);
}

static void test_a_core_needs_enough_invocations(void **state)
{
    const vkf_plan_load load = {.workgroups = 10, .local_size = 64, .flops = 1};
    (void)state;
    assert_near(vkf_plan_estimate(&chip, &load).busy, 0.5); // of an eighth of 1024
}

static void test_shared_memory_limits_residents(void **state)
{
    const vkf_plan_load two = {.workgroups = 100, .local_size = 64, .shared_bytes = 32768, .step_bytes = 1};
    const vkf_plan_load too_large = {.workgroups = 100, .local_size = 64, .shared_bytes = 1e9, .step_bytes = 1};
    (void)state;
    assert_near(vkf_plan_estimate(&chip, &two).groups_per_core, 2);
    assert_near(vkf_plan_estimate(&chip, &too_large).groups_per_core, 1);
}

static void test_kinds_of_arithmetic_have_peaks_of_their_own(void **state)
{
    vkf_plan_load load = {.workgroups = 100, .local_size = 256, .flops = 1e9};
    (void)state;
    load.math = VKF_PLAN_HALF;
    assert_near(vkf_plan_estimate(&chip, &load).math_s, 1e9 / (2e12 * VKF_PLAN_SCALAR_SHARE));
    load.attention = true;
    assert_near(vkf_plan_estimate(&chip, &load).math_s, 1e9 / (2e12 * VKF_PLAN_ATTENTION_SHARE));
    load.math = VKF_PLAN_DOT;
    assert_near(vkf_plan_estimate(&chip, &load).math_s, 1e9 / (8e12 * VKF_PLAN_DOT_SHARE));
}

static void test_subgroups_feed_matrices_no_faster_than_the_fastest_sums(void **state)
{
    vkf_plan_load load = {.math = VKF_PLAN_MATRIX, .workgroups = 100, .local_size = 256, .flops = 1e9};
    (void)state;
    assert_near(vkf_plan_estimate(&chip, &load).math_s, 1e9 / (6e12 * VKF_PLAN_SUBGROUP_SHARE));
    load.half_sums = true;
    assert_near(vkf_plan_estimate(&chip, &load).math_s, 1e9 / (6e12 * VKF_PLAN_SUBGROUP_SHARE));
    load.workgroup_scope = true;
    assert_near(vkf_plan_estimate(&chip, &load).math_s, 1e9 / (6e12 * VKF_PLAN_MATRIX_SHARE));
    load.half_sums = false;
    assert_near(vkf_plan_estimate(&chip, &load).math_s, 1e9 / (4e12 * VKF_PLAN_MATRIX_SHARE));
    load.attention = true;
    assert_near(vkf_plan_estimate(&chip, &load).math_s, 1e9 / (4e12 * VKF_PLAN_ATTENTION_SHARE));
}

// Per product of a run of 64, 1/64 of two instructions, each in the place of two operations.
static void test_matrices_wait_for_sums_of_short_runs(void **state)
{
    vkf_plan_load load = {.math = VKF_PLAN_MATRIX,
                          .half_sums = true,
                          .half_run = 64,
                          .workgroup_scope = true,
                          .workgroups = 100,
                          .local_size = 256,
                          .flops = 1e9};
    const double matrices_s = 1e9 / (6e12 * VKF_PLAN_MATRIX_SHARE);
    (void)state;
    assert_near(vkf_plan_estimate(&chip, &load).math_s,
                matrices_s + 1e9 / 2 / 64 * 2 * 2 / (1e12 * VKF_PLAN_SCALAR_SHARE));
    load.half_run = 0;
    assert_near(vkf_plan_estimate(&chip, &load).math_s, matrices_s);
}

static void test_barriers_and_nothing_to_do(void **state)
{
    const vkf_plan_load after = {
        .workgroups = 1, .local_size = 64, .step_bytes = 64, .bytes = 64, .after_barrier = true};
    const vkf_plan_load none = {.after_barrier = true};
    (void)state;
    assert_near(vkf_plan_estimate(&chip, &after).total_s, 6e-6);
    assert_int_equal(vkf_plan_estimate(&chip, &after).limit, VKF_PLAN_BY_BARRIER);
    assert_near(vkf_plan_estimate(&chip, &none).total_s, 5e-6);
}

static void test_roof_takes_the_highest_peak(void **state)
{
    (void)state;
    assert_near(vkf_plan_roof_s(&chip, 4e12, 1), 1);
    assert_near(vkf_plan_roof_s(&chip, 1, 100e9), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bandwidth_is_what_is_in_flight_in_a_latency),
        cmocka_unit_test(test_arithmetic_waits_for_the_last_round),
        cmocka_unit_test(test_a_core_needs_enough_invocations),
        cmocka_unit_test(test_shared_memory_limits_residents),
        cmocka_unit_test(test_kinds_of_arithmetic_have_peaks_of_their_own),
        cmocka_unit_test(test_subgroups_feed_matrices_no_faster_than_the_fastest_sums),
        cmocka_unit_test(test_matrices_wait_for_sums_of_short_runs),
        cmocka_unit_test(test_barriers_and_nothing_to_do),
        cmocka_unit_test(test_roof_takes_the_highest_peak),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
