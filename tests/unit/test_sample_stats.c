// Statistics of measured times, against values worked out by hand.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../tools/program/measure/sample_stats.c"

static bool near(double value, double expected)
{
    return fabs(value - expected) <= 1e-12 * (1 + fabs(expected));
}

static void test_median_of_odd_and_even_counts(void **state)
{
    (void)state;
    double odd[] = {5, 1, 4}, even[] = {8, 2, 6, 4}, one[] = {7};
    assert_true(near(vkf_median(odd, 3), 4));
    assert_true(near(vkf_median(even, 4), 5));
    assert_true(near(vkf_median(one, 1), 7));
}

static void test_minimum_wherever_it_stands(void **state)
{
    (void)state;
    const double first[] = {1, 2, 3}, last[] = {3, 2, 1};
    assert_true(near(vkf_minimum(first, 3), 1));
    assert_true(near(vkf_minimum(last, 3), 1));
}

static void test_summary_of_known_samples(void **state)
{
    (void)state;
    double samples[] = {4, 2, 8, 6, 10};
    vkf_summary s = vkf_summarize(samples, 5);
    assert_int_equal(s.count, 5);
    assert_true(near(s.min, 2) && near(s.max, 10));
    assert_true(near(s.mean, 6) && near(s.median, 6));
    assert_true(near(s.stddev, sqrt(10))); // squares sum to 40, over 4
    assert_true(near(s.iqr, 4));           // 4 to 8
}

static void test_summary_interpolates_quartiles(void **state)
{
    (void)state;
    double samples[] = {1, 2, 3, 4};
    vkf_summary s = vkf_summarize(samples, 4);
    assert_true(near(s.iqr, 1.5));
    assert_true(near(s.lower_quartile, 1.75) && near(s.upper_quartile, 3.25));
    assert_true(near(s.median, 2.5));
}

// One far value moves the mean and the deviation, hardly the median and the quartiles.
static void test_summary_of_an_outlier(void **state)
{
    (void)state;
    double samples[] = {1, 1, 1, 1, 1, 1, 1, 1001};
    vkf_summary s = vkf_summarize(samples, 8);
    assert_true(near(s.median, 1) && near(s.iqr, 0));
    assert_true(near(s.mean, 126));
    assert_true(s.stddev > 350);
}

static void test_summary_of_one_sample(void **state)
{
    (void)state;
    double sample[] = {3};
    vkf_summary s = vkf_summarize(sample, 1);
    assert_true(near(s.min, 3) && near(s.max, 3) && near(s.mean, 3) && near(s.median, 3));
    assert_true(near(s.stddev, 0) && near(s.iqr, 0));
}

// The sum of squares of deviations, not the difference of large sums: no cancellation.
static void test_summary_far_from_zero(void **state)
{
    (void)state;
    double samples[] = {1e9 + 1, 1e9 + 2, 1e9 + 3};
    vkf_summary s = vkf_summarize(samples, 3);
    assert_true(near(s.stddev, 1));
}

static void test_beyond_noise_needs_more_than_both_bounds(void **state)
{
    (void)state;
    assert_true(vkf_beyond_noise(100, 103, 2.5) && vkf_beyond_noise(100, 97, 2.5));
    assert_false(vkf_beyond_noise(100, 103, 3.5)); // within the quartiles
    assert_false(vkf_beyond_noise(100, 101, 0));   // within what clocks drift by
    assert_false(vkf_beyond_noise(100, 100, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_median_of_odd_and_even_counts),
        cmocka_unit_test(test_minimum_wherever_it_stands),
        cmocka_unit_test(test_summary_of_known_samples),
        cmocka_unit_test(test_summary_interpolates_quartiles),
        cmocka_unit_test(test_summary_of_an_outlier),
        cmocka_unit_test(test_summary_of_one_sample),
        cmocka_unit_test(test_summary_far_from_zero),
        cmocka_unit_test(test_beyond_noise_needs_more_than_both_bounds),
    };
    return cmocka_run_group_tests_name("sample_stats", tests, NULL, NULL);
}
