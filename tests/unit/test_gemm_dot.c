// Which products with weights in blocks are left to integer dot products, on devices of which there is nothing but the
// capabilities.
#include "caps_fixture.h"

#include "kernel/context.h"
#include "op/gemm_dot.h"
#include "shared/gemm.h"

#define F VKF_DTYPE_F32
#define H VKF_DTYPE_F16

// A product of rows that begin `row` elements apart.
static bool rows_dot_pays(const vkf__caps *caps, vkf_dtype activations, uint32_t m, uint32_t row)
{
    message_record record;
    vkf_context context = {.host = recording_host(&record)};
    context.device.host = &context.host;
    context.device.plan.caps = *caps;
    assert_int_equal(vkf__verdicts_init(&context.host, &context.learned.verdicts), VKF_OK);
    const vkf__gemm_args args = {
        .a = {.dtype = activations, .size_bytes = 1 << 20},
        .b = {.dtype = VKF_DTYPE_Q4, .size_bytes = 1 << 20, .panels = true},
        .d = {.dtype = activations, .size_bytes = 1 << 20},
        .m = m,
        .n = 512,
        .k = 512,
        .batch = 1,
        .lda = row,
        .ldd = 512,
        .alpha = 1,
    };
    const vkf__work work = {.context = &context};
    const bool pays = vkf__gemm_dot_pays(&work, &args);
    vkf__verdicts_free(&context.learned.verdicts);
    return pays;
}

static bool dot_pays(const vkf__caps *caps, vkf_dtype activations, uint32_t m)
{
    return rows_dot_pays(caps, activations, m, 512);
}

static vkf__caps dot_caps(bool matrices, uint32_t vendor)
{
    vkf__caps caps = discrete_caps();
    caps.integer_dot = caps.integer_dot_accelerated = true;
    caps.vendor_id = vendor;
    if (matrices)
        add_matrices(&caps, 16);
    settle_traits(&caps);
    return caps;
}

// Matrices take many rows of halves, and of what may be rounded to halves.
static void test_matrices_come_before_dots(void **state)
{
    (void)state;
    const vkf__caps plain = dot_caps(false, 0x10de), matrices = dot_caps(true, 0x10de);
    assert_true(dot_pays(&plain, H, 256));
    assert_false(dot_pays(&matrices, H, 256));
    assert_true(dot_pays(&matrices, F, 256)); // full precision rounds to blocks, but not to halves
    assert_false(dot_pays(&matrices, H, 9));
}

// Few rows are rounded by the product's own kernel, unless it cannot read them.
static void test_few_rows_are_rounded_by_the_product(void **state)
{
    (void)state;
    vkf__caps caps = dot_caps(true, 0x10de);
    assert_false(dot_pays(&caps, H, 8));
    assert_false(dot_pays(&caps, F, 2));
    assert_true(rows_dot_pays(&caps, H, 8, 513));
    caps.max_shared_memory_bytes = 16384;
    assert_true(dot_pays(&caps, H, 8));
}

static void test_dots_come_before_slow_matrices(void **state)
{
    (void)state;
    const vkf__caps intel = dot_caps(true, 0x8086);
    assert_true(intel.traits.dots_outrun_matrices);
    assert_true(dot_pays(&intel, H, 256));
    vkf__caps without = intel;
    without.integer_dot_accelerated = false;
    settle_traits(&without);
    assert_false(without.traits.dots_outrun_matrices);
    assert_false(dot_pays(&without, H, 256));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_matrices_come_before_dots),
        cmocka_unit_test(test_dots_come_before_slow_matrices),
        cmocka_unit_test(test_few_rows_are_rounded_by_the_product),
    };
    return cmocka_run_group_tests_name("gemm_dot", tests, NULL, NULL);
}
