// Arithmetic with sizes that notices an overflow.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/size.h"

#define UNTOUCHED UINT64_C(0x1234)

static void test_mul_u64_at_the_edge(void **state)
{
    (void)state;
    uint64_t out = UNTOUCHED;
    assert_false(vkf__mul_u64(UINT64_C(1) << 32, UINT64_C(1) << 32, &out));
    assert_false(vkf__mul_u64(UINT64_MAX, 2, &out));
    assert_int_equal(out, UNTOUCHED);
    assert_true(vkf__mul_u64((UINT64_C(1) << 32) - 1, (UINT64_C(1) << 32) + 1, &out));
    assert_true(out == UINT64_MAX);
    assert_true(vkf__mul_u64(UINT64_MAX, 1, &out));
    assert_true(out == UINT64_MAX);
    assert_true(vkf__mul_u64(0, UINT64_MAX, &out));
    assert_true(out == 0);
    assert_true(vkf__mul_u64(UINT64_MAX, 0, &out));
    assert_true(out == 0);
}

static void test_add_u64_at_the_edge(void **state)
{
    (void)state;
    uint64_t out = UNTOUCHED;
    assert_false(vkf__add_u64(UINT64_MAX, 1, &out));
    assert_false(vkf__add_u64(1, UINT64_MAX, &out));
    assert_int_equal(out, UNTOUCHED);
    assert_true(vkf__add_u64(UINT64_MAX - 1, 1, &out));
    assert_true(out == UINT64_MAX);
}

static void test_mul_size_at_the_edge(void **state)
{
    (void)state;
    size_t out = 7;
    assert_false(vkf__mul_size(SIZE_MAX / 2 + 1, 2, &out));
    assert_int_equal(out, 7);
    assert_true(vkf__mul_size(SIZE_MAX / 2, 2, &out));
    assert_true(out == SIZE_MAX - 1);
    assert_true(vkf__mul_size(0, SIZE_MAX, &out));
    assert_int_equal(out, 0);
}

static void test_product_u64_of_shapes(void **state)
{
    (void)state;
    uint64_t out = UNTOUCHED;
    assert_true(vkf__product_u64(NULL, 0, &out));
    assert_int_equal(out, 1);
    assert_true(vkf__product_u64((uint64_t[]){2, 3, 5, 7}, 4, &out));
    assert_int_equal(out, 210);
    assert_true(vkf__product_u64((uint64_t[]){4, 0, 9}, 3, &out));
    assert_int_equal(out, 0);
    assert_true(vkf__product_u64((uint64_t[]){UINT64_MAX, 1}, 2, &out));
    assert_true(out == UINT64_MAX);
}

static void test_product_u64_overflow_is_not_excused_by_zero(void **state)
{
    (void)state;
    const uint64_t big = UINT64_C(1) << 40;
    uint64_t out = UNTOUCHED;
    assert_false(vkf__product_u64((uint64_t[]){big, big}, 2, &out));
    assert_false(vkf__product_u64((uint64_t[]){0, big, big}, 3, &out));
    assert_false(vkf__product_u64((uint64_t[]){big, big, 0}, 3, &out));
    assert_int_equal(out, UNTOUCHED);
}

static void test_align_u64_rounds_up(void **state)
{
    (void)state;
    assert_int_equal(vkf__align_u64(0, 16), 0);
    assert_int_equal(vkf__align_u64(1, 16), 16);
    assert_int_equal(vkf__align_u64(16, 16), 16);
    assert_int_equal(vkf__align_u64(17, 16), 32);
    assert_int_equal(vkf__align_u64(10, 12), 12); // not a power of two
    assert_true(vkf__align_u64(UINT64_MAX - 15, 16) == UINT64_MAX - 15);
    assert_true(vkf__align_u64(UINT64_MAX - 20, 16) == UINT64_MAX - 15);
}

static void test_div_up_u32_without_overflow(void **state)
{
    (void)state;
    assert_int_equal(vkf__div_up_u32(0, 64), 0);
    assert_int_equal(vkf__div_up_u32(1, 64), 1);
    assert_int_equal(vkf__div_up_u32(64, 64), 1);
    assert_int_equal(vkf__div_up_u32(65, 64), 2);
    assert_int_equal(vkf__div_up_u32(UINT32_MAX, 2), UINT32_C(1) << 31);
    assert_int_equal(vkf__div_up_u32(UINT32_MAX, UINT32_MAX), 1);
}

static void test_is_power_of_two_u64(void **state)
{
    (void)state;
    assert_false(vkf__is_power_of_two_u64(0));
    assert_true(vkf__is_power_of_two_u64(1));
    assert_true(vkf__is_power_of_two_u64(2));
    assert_false(vkf__is_power_of_two_u64(3));
    assert_false(vkf__is_power_of_two_u64(96));
    assert_true(vkf__is_power_of_two_u64(UINT64_C(1) << 63));
    assert_false(vkf__is_power_of_two_u64(UINT64_MAX));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mul_u64_at_the_edge),
        cmocka_unit_test(test_add_u64_at_the_edge),
        cmocka_unit_test(test_mul_size_at_the_edge),
        cmocka_unit_test(test_product_u64_of_shapes),
        cmocka_unit_test(test_product_u64_overflow_is_not_excused_by_zero),
        cmocka_unit_test(test_align_u64_rounds_up),
        cmocka_unit_test(test_div_up_u32_without_overflow),
        cmocka_unit_test(test_is_power_of_two_u64),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
