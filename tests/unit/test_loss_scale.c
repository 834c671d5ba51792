// Dynamic loss scaling: when the scale grows, when it shrinks, and where it stops.
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "training/loss_scale.h"

static void take(vkf__loss_scale *scale, uint32_t steps)
{
    for (uint32_t i = 0; i < steps; i++)
        assert_true(vkf__loss_scale_update(scale, 1.0f));
}

static void test_loss_scale_doubles_after_an_interval(void **state)
{
    (void)state;
    vkf__loss_scale scale = vkf__loss_scale_default();
    take(&scale, 1999);
    assert_true(scale.scale == 65536.0f);
    take(&scale, 1);
    assert_true(scale.scale == 131072.0f);
    take(&scale, 1999);
    assert_true(scale.scale == 131072.0f);
    take(&scale, 1);
    assert_true(scale.scale == 262144.0f);
}

static void test_loss_scale_halves_and_counts_anew(void **state)
{
    (void)state;
    const float norms[] = {NAN, INFINITY, -INFINITY};
    for (int i = 0; i < 3; i++) {
        vkf__loss_scale scale = vkf__loss_scale_default();
        take(&scale, 1999);
        assert_false(vkf__loss_scale_update(&scale, norms[i]));
        assert_true(scale.scale == 32768.0f);
        take(&scale, 1999);
        assert_true(scale.scale == 32768.0f);
        take(&scale, 1);
        assert_true(scale.scale == 65536.0f);
    }
}

static void test_loss_scale_stays_invertible(void **state)
{
    (void)state;
    vkf__loss_scale scale = {.scale = 1.0f, .growth = 4.0f, .backoff = 0.25f, .interval = 1};
    take(&scale, 100);
    assert_true(scale.scale == 0x1p126f && 1 / scale.scale >= FLT_MIN);
    for (int i = 0; i < 200; i++)
        assert_false(vkf__loss_scale_update(&scale, NAN));
    assert_true(scale.scale == 0x1p-126f && isfinite(1 / scale.scale));
}

// Training in f32 alone has no use for it.
static void test_loss_scale_without_an_interval_is_fixed(void **state)
{
    (void)state;
    vkf__loss_scale scale = {.scale = 1.0f};
    take(&scale, 5000);
    assert_false(vkf__loss_scale_update(&scale, NAN));
    assert_true(scale.scale == 1.0f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_loss_scale_doubles_after_an_interval),
        cmocka_unit_test(test_loss_scale_halves_and_counts_anew),
        cmocka_unit_test(test_loss_scale_stays_invertible),
        cmocka_unit_test(test_loss_scale_without_an_interval_is_fixed),
    };
    return cmocka_run_group_tests_name("loss_scale", tests, NULL, NULL);
}
