// When a device counts as settled, by made-up times of runs: no test waits, and none measures.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/settling.h"

#define MS 1e6
#define FIRST_MHZ 345.0
#define LAST_MHZ 1980.0

// What a run takes that begins at this time, as the device behaves.
typedef double (*run_fn)(double now_ns);

typedef struct outcome {
    bool settled;
    double spent_ns;
    double last_ns; // what the last run took
    uint32_t runs;
} outcome;

static outcome settle(run_fn run, double cap_ns)
{
    outcome o = {0};
    const double begin_ns = 7e9; // the clock does not begin at 0
    double now_ns = begin_ns;
    vkf__settling settling = vkf__settling_begin(now_ns, cap_ns);
    while (vkf__settling_goes_on(&settling)) {
        o.last_ns = run(now_ns - begin_ns);
        now_ns += o.last_ns;
        vkf__settling_add(&settling, now_ns, o.last_ns);
        o.runs++;
    }
    o.settled = settling.settled;
    o.spent_ns = now_ns - begin_ns;
    return o;
}

// 100 MHz more in each quarter of a second.
static double clock_mhz(double now_ns)
{
    return fmin(LAST_MHZ, FIRST_MHZ + 100.0 * floor(now_ns / (250 * MS)));
}

static double steady(double now_ns)
{
    (void)now_ns;
    return 0.73 * MS;
}

static double steady_and_tiny(double now_ns)
{
    (void)now_ns;
    return 0.003 * MS;
}

static double steady_and_long(double now_ns)
{
    (void)now_ns;
    return 2600 * MS;
}

static double rising(double now_ns)
{
    return 0.73 * MS * LAST_MHZ / clock_mhz(now_ns);
}

static double rising_and_long(double now_ns)
{
    return 90 * MS * LAST_MHZ / clock_mhz(now_ns);
}

// From -1 to 1, and no pattern that windows could have.
static double noise(double now_ns)
{
    const double x = sin(now_ns / 12345.678) * 43758.5453;
    return 2 * (x - floor(x)) - 1;
}

static double noisy(double now_ns)
{
    return 0.73 * MS * (1 + 0.05 * noise(now_ns));
}

// Now and then something else runs on the device.
static double disturbed(double now_ns)
{
    return noise(now_ns) > 0.8 ? 5 * MS : 0.73 * MS;
}

static double restless(double now_ns)
{
    return 0.73 * MS * (1 + 0.1 * sin(now_ns / (200 * MS)));
}

// Slower by a twentieth in each half second, as where it gets hot.
static double slowing(double now_ns)
{
    return 0.73 * MS * (1 + 0.1e-9 * now_ns);
}

static void test_steady_runs_settle_soon(void **state)
{
    (void)state;
    static const run_fn runs[] = {steady, steady_and_tiny, noisy, disturbed};
    for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++) {
        const outcome o = settle(runs[i], 5000 * MS);
        if (!o.settled || o.spent_ns < 750 * MS || o.spent_ns > 1100 * MS)
            fail_msg("run %zu: settled %d after %g ms", i, o.settled, o.spent_ns / MS);
    }
}

static void test_rising_clock_is_awaited(void **state)
{
    (void)state;
    static const run_fn runs[] = {rising, rising_and_long};
    for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++) {
        const outcome o = settle(runs[i], 10000 * MS);
        // It is up after 17 steps.
        if (!o.settled || o.last_ns != runs[i](4250 * MS) || o.spent_ns > 5500 * MS)
            fail_msg("run %zu: settled %d after %g ms, at %g ms for a run", i, o.settled, o.spent_ns / MS,
                     o.last_ns / MS);
    }
}

static void test_cap_ends_what_does_not_settle(void **state)
{
    (void)state;
    static const run_fn runs[] = {restless, slowing, rising};
    for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++) {
        const outcome o = settle(runs[i], 3000 * MS);
        if (o.settled || o.spent_ns < 3000 * MS || o.spent_ns > 3010 * MS)
            fail_msg("run %zu: settled %d after %g ms", i, o.settled, o.spent_ns / MS);
    }
}

static void test_cap_of_nothing_runs_nothing(void **state)
{
    (void)state;
    assert_int_equal(settle(steady, 0).runs, 0);
}

// Two long runs that take the same tell enough, even if the second ends behind the cap. One does not.
static void test_long_runs(void **state)
{
    (void)state;
    outcome o = settle(steady_and_long, 5000 * MS);
    assert_true(o.settled);
    assert_int_equal(o.runs, 2);
    o = settle(steady_and_long, 1000 * MS);
    assert_false(o.settled);
    assert_int_equal(o.runs, 1);
}

// A window with so many runs, of which the first two fifths took 1 each, a fifth 2 and the last two fifths 3.
static double median_of(uint32_t count)
{
    const double begin_ns = 1, end_ns = begin_ns + VKF_SETTLING_WINDOW_NS;
    vkf__settling s = vkf__settling_begin(begin_ns, 5000 * MS);
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(s.window_count, 0);
        vkf__settling_add(&s, i + 1 < count ? begin_ns + i : end_ns, 5 * i < 2 * count ? 1 : 5 * i < 3 * count ? 2 : 3);
    }
    assert_int_equal(s.window_count, 1);
    return s.windows[0].median_ns;
}

// However many runs a window has, it keeps some from all of it.
static void test_median_of_a_window(void **state)
{
    (void)state;
    for (uint32_t count = 5; count < 100000; count += count / 2)
        if (median_of(count) != 2)
            fail_msg("of %u runs: %g", count, median_of(count));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steady_runs_settle_soon),
        cmocka_unit_test(test_rising_clock_is_awaited),
        cmocka_unit_test(test_cap_ends_what_does_not_settle),
        cmocka_unit_test(test_cap_of_nothing_runs_nothing),
        cmocka_unit_test(test_long_runs),
        cmocka_unit_test(test_median_of_a_window),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
