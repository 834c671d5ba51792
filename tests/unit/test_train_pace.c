// The time that a training still takes.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "train/train_pace.h"

// Steps of `step_ms` each; the first takes `first_ms`.
static vkf_train_pace run(uint64_t resumed, uint64_t steps, double first_ms, double step_ms)
{
    double now_ms = 5000;
    vkf_train_pace pace = vkf_train_pace_begin(resumed, now_ms);
    for (uint64_t i = 1; i <= steps; i++) {
        now_ms += i == 1 ? first_ms : step_ms;
        vkf_train_pace_add(&pace, resumed + i, now_ms);
    }
    return pace;
}

static void expect_left(const vkf_train_pace *pace, uint64_t total, const char *expected)
{
    char text[VKF_TRAIN_LEFT_BYTES];
    vkf_train_pace_left(pace, total, text);
    assert_string_equal(text, expected);
}

static void test_left_is_in_minutes_or_hours(void **state)
{
    (void)state;
    const vkf_train_pace pace = run(0, 10, 1000, 1000);
    expect_left(&pace, 10, "0 min 00 s left");
    expect_left(&pace, 75, "1 min 05 s left");
    expect_left(&pace, 3609, "59 min 59 s left");
    expect_left(&pace, 3610, "1 h 00 min left");
    expect_left(&pace, 16450, "4 h 34 min left");
}

static void test_left_forgets_the_steps_that_compile(void **state)
{
    (void)state;
    for (uint64_t resumed = 0; resumed < 1000; resumed += 500)
        for (uint64_t steps = 2; steps < 40; steps++) {
            const vkf_train_pace pace = run(resumed, steps, 60000, 1000);
            expect_left(&pace, resumed + steps + 90, "1 min 30 s left");
        }
    const vkf_train_pace pace = run(0, 1, 60000, 1000); // there is no other yet
    expect_left(&pace, 3, "2 min 00 s left");
}

// A look that comes every few steps is part of the pace.
static void test_left_has_the_looks(void **state)
{
    (void)state;
    double now_ms = 0;
    vkf_train_pace pace = vkf_train_pace_begin(0, now_ms);
    for (uint64_t step = 1; step <= 1024; step++) {
        now_ms += step % 16 == 0 ? 17000 : 1000; // 2 s in the mean
        vkf_train_pace_add(&pace, step, now_ms);
    }
    expect_left(&pace, 1024 + 30, "1 min 00 s left");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_left_is_in_minutes_or_hours),
        cmocka_unit_test(test_left_forgets_the_steps_that_compile),
        cmocka_unit_test(test_left_has_the_looks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
