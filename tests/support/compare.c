// Compares arrays and prints the first mismatches.
#include "support/compare.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

#include <cmocka.h>

#define SHOWN 10

static bool is_close(float actual, float expected, double atol, double rtol)
{
    if (isnan(actual) || isnan(expected))
        return isnan(actual) && isnan(expected);
    if (isinf(actual) || isinf(expected))
        return actual == expected;
    return fabs((double)actual - expected) <= atol + rtol * fabs((double)expected);
}

size_t vkf_test_mismatches(const float *actual, const float *expected, size_t count, double atol, double rtol)
{
    size_t mismatches = 0;
    for (size_t i = 0; i < count; i++)
        mismatches += !is_close(actual[i], expected[i], atol, rtol);
    return mismatches;
}

void vkf_test_assert_close(const float *actual, const float *expected, size_t count, double atol, double rtol,
                           const char *label, const char *file, int line)
{
    size_t mismatches = vkf_test_mismatches(actual, expected, count, atol, rtol);
    if (count > 0 && mismatches == 0)
        return;
    print_error("%s: %zu of %zu values differ by more than %g + %g * |expected|\n", label, mismatches, count, atol,
                rtol);
    size_t shown = 0;
    for (size_t i = 0; i < count && shown < SHOWN; i++) {
        if (is_close(actual[i], expected[i], atol, rtol))
            continue;
        print_error("  [%zu] actual %.9g, expected %.9g, difference %.3g\n", i, (double)actual[i], (double)expected[i],
                    fabs((double)actual[i] - expected[i]));
        shown++;
    }
    _fail(file, line);
}
