// Learning rates against numbers worked out by hand.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "training/schedule.h"

typedef struct point {
    uint64_t done;
    double rate;
} point;

#define CHECK(schedule, points) check(&(schedule), points, sizeof(points) / sizeof(points)[0])

static void check(const vkf__schedule *schedule, const point *points, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const double rate = vkf__schedule_rate(schedule, points[i].done);
        if (fabs(rate - points[i].rate) > 1e-14)
            fail_msg("after %llu steps: %.17g, not %.17g", (unsigned long long)points[i].done, rate, points[i].rate);
    }
}

static void test_schedule_constant(void **state)
{
    (void)state;
    const vkf__schedule warm = {.kind = VKF_SCHEDULE_CONSTANT, .peak = 0.5, .warmup = 4};
    const vkf__schedule cold = {.kind = VKF_SCHEDULE_CONSTANT, .peak = 0.5};
    const point rises[] = {{0, 0}, {1, 0.125}, {3, 0.375}, {4, 0.5}, {5, 0.5}, {1u << 31, 0.5}};
    const point stays[] = {{0, 0.5}, {1, 0.5}, {1000, 0.5}};
    CHECK(warm, rises);
    CHECK(cold, stays);
}

static void test_schedule_linear(void **state)
{
    (void)state;
    const vkf__schedule warm = {.kind = VKF_SCHEDULE_LINEAR, .peak = 2, .warmup = 2, .total = 10};
    const vkf__schedule cold = {.kind = VKF_SCHEDULE_LINEAR, .peak = 1, .total = 4};
    const point rises[] = {{0, 0}, {1, 1}, {2, 2}, {3, 1.75}, {6, 1}, {9, 0.25}, {10, 0}, {11, 0}};
    const point falls[] = {{0, 1}, {1, 0.75}, {3, 0.25}, {4, 0}, {100, 0}};
    CHECK(warm, rises);
    CHECK(cold, falls);
}

// Half a wave: a quarter of the way the cosine is sqrt(1/2), at a third of it 1/2.
static void test_schedule_cosine(void **state)
{
    (void)state;
    const vkf__schedule warm = {.kind = VKF_SCHEDULE_COSINE, .peak = 2, .warmup = 3, .total = 15};
    const double root = sqrt(0.5);
    const point points[] = {{0, 0},         {1, 2 / 3.0}, {3, 2},  {6, 1 + root}, {7, 1.5}, {9, 1},
                            {12, 1 - root}, {11, 0.5},    {15, 0}, {16, 0},       {27, 0}};
    CHECK(warm, points);
}

// With a warm-up of 4 steps and a width of 16: 1/4 * min(n^-1/2, n / 8).
static void test_schedule_inverse_root(void **state)
{
    (void)state;
    const vkf__schedule paper = {.kind = VKF_SCHEDULE_INVERSE_ROOT, .peak = 1, .warmup = 4, .d_model = 16};
    const vkf__schedule cold = {.kind = VKF_SCHEDULE_INVERSE_ROOT, .peak = 3, .d_model = 1};
    const point points[] = {{0, 1 / 32.0}, {1, 1 / 16.0}, {2, 3 / 32.0}, {3, 1 / 8.0}, {8, 1 / 12.0}, {15, 1 / 16.0}};
    const point falls[] = {{0, 3}, {3, 1.5}, {8, 1}};
    CHECK(paper, points);
    CHECK(cold, falls);
}

// A warm-up as long as the training, or longer, ends at 0 and divides nothing by 0.
static void test_schedule_of_warm_up_alone(void **state)
{
    (void)state;
    const vkf__schedule same = {.kind = VKF_SCHEDULE_LINEAR, .peak = 1, .warmup = 4, .total = 4};
    const vkf__schedule longer = {.kind = VKF_SCHEDULE_COSINE, .peak = 1, .warmup = 4, .total = 2};
    const point points[] = {{0, 0}, {3, 0.75}, {4, 0}, {5, 0}};
    CHECK(same, points);
    CHECK(longer, points);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_schedule_constant),         cmocka_unit_test(test_schedule_linear),
        cmocka_unit_test(test_schedule_cosine),           cmocka_unit_test(test_schedule_inverse_root),
        cmocka_unit_test(test_schedule_of_warm_up_alone),
    };
    return cmocka_run_group_tests_name("schedule", tests, NULL, NULL);
}
