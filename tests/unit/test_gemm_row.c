// How far apart the rows of activations stand: on processors and elsewhere, by the bytes of a row.
#include "caps_fixture.h"

#include "kernel/context.h"
#include "op/gemm.h"

static uint32_t row_of(bool processor, uint32_t width, vkf_dtype dtype)
{
    vkf_context context = {.device.plan.caps.traits.processor = processor};
    return vkf__gemm_row(&context, width, dtype);
}

static void test_gemm_row_on_a_processor(void **state)
{
    (void)state;
    assert_int_equal(row_of(true, 512, VKF_DTYPE_F32), 512 + 16);
    assert_int_equal(row_of(true, 1024, VKF_DTYPE_F16), 1024 + 32);
    assert_int_equal(row_of(true, 3072, VKF_DTYPE_F32), 3072 + 16);
    assert_int_equal(row_of(true, 511, VKF_DTYPE_F32), 511);
    assert_int_equal(row_of(true, 512, VKF_DTYPE_F16), 512);
    assert_int_equal(row_of(true, 768, VKF_DTYPE_F32), 768);
}

// Rows are counted in 32 bits: what would not fit any more stays as it is.
static void test_gemm_row_at_the_end_of_its_range(void **state)
{
    (void)state;
    assert_int_equal(row_of(true, UINT32_MAX - 511, VKF_DTYPE_F32), UINT32_MAX - 511 + 16);
    assert_int_equal(row_of(true, UINT32_MAX, VKF_DTYPE_F32), UINT32_MAX);
}

static void test_gemm_row_elsewhere_is_compact(void **state)
{
    static const uint32_t widths[] = {511, 512, 1024, 3072, UINT32_MAX};
    (void)state;
    for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++) {
        assert_int_equal(row_of(false, widths[i], VKF_DTYPE_F32), widths[i]);
        assert_int_equal(row_of(false, widths[i], VKF_DTYPE_F16), widths[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gemm_row_on_a_processor),
        cmocka_unit_test(test_gemm_row_at_the_end_of_its_range),
        cmocka_unit_test(test_gemm_row_elsewhere_is_compact),
    };
    return cmocka_run_group_tests_name("gemm_row", tests, NULL, NULL);
}
