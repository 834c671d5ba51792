// The support for tests itself: comparisons and random numbers.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/compare.h"
#include "support/random.h"

static void test_mismatches_at_the_tolerance(void **state)
{
    (void)state;
    const float expected[] = {100, 100, -100, 0, 0};
    const float actual[] = {101.5f, 101.75f, -98.5f, 0.5f, -0.75f}; // allowed: 0.5 + 0.01 * |expected|
    assert_int_equal(vkf_test_mismatches(actual, expected, 5, 0.5, 0.01), 2);
    assert_int_equal(vkf_test_mismatches(actual, expected, 5, 1, 0.01), 0);
}

static void test_mismatches_with_special_values(void **state)
{
    (void)state;
    const float expected[] = {NAN, INFINITY, -INFINITY, NAN, 1, INFINITY, INFINITY, 1};
    const float actual[] = {NAN, INFINITY, -INFINITY, 1, NAN, -INFINITY, 1e38f, INFINITY};
    assert_int_equal(vkf_test_mismatches(actual, expected, 3, 0, 0), 0);
    assert_int_equal(vkf_test_mismatches(actual, expected, 8, 1e30, 1e30), 5);
}

static void test_random_repeats_with_its_seed(void **state)
{
    (void)state;
    vkf_test_random a, b, c;
    vkf_test_random_init(&a, 7);
    vkf_test_random_init(&b, 7);
    vkf_test_random_init(&c, 8);
    for (int i = 0; i < 100; i++) {
        uint64_t value = vkf_test_random_u64(&a);
        assert_true(value == vkf_test_random_u64(&b));
        assert_true(value != vkf_test_random_u64(&c));
    }
}

static void test_random_normal_moments(void **state)
{
    (void)state;
    enum { COUNT = 20000 };
    vkf_test_random random;
    vkf_test_random_init(&random, 3);
    double sum = 0, squares = 0;
    for (int i = 0; i < COUNT; i++) {
        double value = vkf_test_random_normal(&random);
        sum += value;
        squares += value * value;
    }
    assert_true(fabs(sum / COUNT) < 0.03); // four deviations of the mean
    assert_true(fabs(squares / COUNT - 1) < 0.04);
}

static void test_fills_stay_in_range(void **state)
{
    (void)state;
    vkf_test_random random;
    vkf_test_random_init(&random, 5);
    float uniform[1000], integers[1000];
    uint8_t bools[1000];
    int32_t ids[1000];
    vkf_test_fill_uniform(&random, uniform, 1000, -2, 3);
    vkf_test_fill_integers(&random, integers, 1000, -2, 2);
    vkf_test_fill_bools(&random, bools, 1000, 0.5);
    vkf_test_fill_ids(&random, ids, 1000, 5);
    unsigned seen_integers = 0, seen_ids = 0, ones = 0;
    for (int i = 0; i < 1000; i++) {
        assert_true(uniform[i] >= -2 && uniform[i] < 3);
        assert_true(integers[i] >= -2 && integers[i] <= 2 && integers[i] == floorf(integers[i]));
        assert_true(ids[i] >= 0 && ids[i] < 5);
        seen_integers |= 1u << (int)(integers[i] + 2);
        seen_ids |= 1u << ids[i];
        ones += bools[i];
    }
    assert_int_equal(seen_integers, 31);
    assert_int_equal(seen_ids, 31);
    assert_true(ones > 400 && ones < 600);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mismatches_at_the_tolerance),  cmocka_unit_test(test_mismatches_with_special_values),
        cmocka_unit_test(test_random_repeats_with_its_seed), cmocka_unit_test(test_random_normal_moments),
        cmocka_unit_test(test_fills_stay_in_range),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
