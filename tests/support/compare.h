// Comparison of float arrays. A value is close when |actual - expected| <= atol + rtol * |expected|; NaN equals NaN and
// an infinity equals itself, and neither equals anything else.
#ifndef VKF_TESTS_COMPARE_H
#define VKF_TESTS_COMPARE_H

#include <stddef.h>

// The number of values that are not close: for tests that plant an error and expect it to be noticed.
size_t vkf_test_mismatches(const float *actual, const float *expected, size_t count, double atol, double rtol);

// Fails the running cmocka test unless all values are close, after printing the first ten mismatches with their
// indices.
// `label` says what was compared, and with which seed: "softmax 3x5, seed 7". Comparing nothing is a failure.
#define assert_close(actual, expected, count, atol, rtol, label) \
    vkf_test_assert_close((actual), (expected), (count), (atol), (rtol), (label), __FILE__, __LINE__)

void vkf_test_assert_close(const float *actual, const float *expected, size_t count, double atol, double rtol,
                           const char *label, const char *file, int line);

#endif
