// Operators that move elements: heads split and merged, and copies between the storage types. All are
// exact, as is how modules round what they store.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/context.h"
#include "support/gemm_case.h"

static const uint32_t HEAD_SHAPES[][4] = {
    // (B, L, H, D)
    {1, 1, 1, 1},  {1, 3, 2, 1},   {2, 5, 3, 7},   {3, 1, 4, 5},
    {1, 17, 1, 9}, {2, 31, 8, 16}, {1, 64, 2, 64}, {1, 129, 3, 11},
};

static void run_heads(vkf_test_ops *ops, vkf_dtype dtype, const uint32_t *s, bool merge)
{
    const uint32_t rows = merge ? s[2] : s[1], cols = merge ? s[1] : s[2];
    vkf_test_operand *x = vkf_test_normal(ops, dtype, 0, 1, SHAPE(s[0], rows, cols, s[3]));
    vkf_test_operand *out = vkf_test_output(ops, dtype, SHAPE(s[0], cols, rows, s[3]));
    float *expected = vkf_test_floats(x->count);
    for (size_t i = 0; i < x->count; i++) {
        const size_t depth = i % s[3], row = i / s[3] % rows, col = i / s[3] / rows % cols, b = i / s[3] / rows / cols;
        expected[i] = x->values[((b * rows + row) * cols + col) * s[3] + depth];
    }
    vkf_status status = merge ? vkf_merge_heads(ops->gpu.context, &x->tensor, &out->tensor)
                              : vkf_split_heads(ops->gpu.context, &x->tensor, &out->tensor);
    vkf_test_assert_ok(ops, status, "heads");
    vkf_test_download(ops, out);
    assert_close(out->values, expected, out->count, 0, 0,
                 vkf_test_label(&ops->gpu, "%s heads %s (%u, %u, %u, %u)", merge ? "merge" : "split",
                                vkf_dtype_name(dtype), s[0], rows, cols, s[3]));
    free(expected);
    vkf_test_ops_reset(ops);
}

static void test_heads_are_moved_exactly(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    for (size_t i = 0; i < COUNT_OF(HEAD_SHAPES); i++) {
        for (int dtype = VKF_DTYPE_F32; dtype <= VKF_DTYPE_F16; dtype++) {
            run_heads(ops, (vkf_dtype)dtype, HEAD_SHAPES[i], false);
            run_heads(ops, (vkf_dtype)dtype, HEAD_SHAPES[i], true);
        }
    }
}

static void test_copy_keeps_every_element(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    static const uint32_t counts[] = {1, 2, 127, 128, 129, 1000, 70001};
    for (size_t i = 0; i < COUNT_OF(counts); i++) {
        for (int types = 0; types < 4; types++) {
            vkf_dtype from = types & 1 ? VKF_DTYPE_F16 : VKF_DTYPE_F32, to = types & 2 ? VKF_DTYPE_F16 : VKF_DTYPE_F32;
            vkf_test_operand *x = vkf_test_integers(ops, from, -2048, 2048, SHAPE(1, counts[i]));
            vkf_test_operand *out = vkf_test_output(ops, to, SHAPE(counts[i]));
            vkf_test_assert_ok(ops, vkf_copy(ops->gpu.context, &x->tensor, &out->tensor), "vkf_copy");
            vkf_test_download(ops, out);
            assert_close(out->values, x->values, out->count, 0, 0,
                         vkf_test_label(&ops->gpu, "copy of %u from %s to %s", counts[i], vkf_dtype_name(from),
                                        vkf_dtype_name(to)));
            vkf_test_ops_reset(ops);
        }
    }
}

// Every half there is, subnormals, infinities and NaN among them.
static void test_copy_from_half_is_exact_for_every_half(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    static uint16_t halves[65536], copied[65536];
    static float expected[65536];
    for (uint32_t i = 0; i < 65536; i++)
        halves[i] = (uint16_t)i;
    vkf_f16_to_f32(halves, expected, 65536);
    vkf_test_operand *x = vkf_test_output(ops, VKF_DTYPE_F16, SHAPE(65536));
    vkf_test_operand *wide = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(65536));
    vkf_test_operand *same = vkf_test_output(ops, VKF_DTYPE_F16, SHAPE(65536));
    vkf_test_assert_ok(ops, vkf_tensor_write(&x->tensor, halves, sizeof halves), "write");
    vkf_test_assert_ok(ops, vkf_copy(ops->gpu.context, &x->tensor, &wide->tensor), "to f32");
    vkf_test_assert_ok(ops, vkf_copy(ops->gpu.context, &x->tensor, &same->tensor), "to f16");
    vkf_test_assert_ok(ops, vkf_tensor_read(&same->tensor, copied, sizeof copied), "read");
    vkf_test_download(ops, wide);
    assert_close(wide->values, expected, 65536, 0, 0, vkf_test_label(&ops->gpu, "every half as f32"));
    assert_memory_equal(copied, halves, sizeof halves);
}

// Rounding to half: nearest, ties to even, as the host converts. Neighbours of ties, the ends of the range, and random
// floats of every exponent that matters.
static float rounding_value(vkf_test_random *random, uint32_t i)
{
    const uint32_t exponent = 127 - 27 + i % 45; // 2^-27 .. 2^17
    uint32_t mantissa = (uint32_t)vkf_test_random_u64(random) & 0x7fffffu;
    if (i / 45 % 2 == 0) // a tie, or one step beside it
        mantissa = (mantissa & 0x7fe000u) + 0x1000u + i / 90 % 3 - 1;
    uint32_t bits = (i / 7 % 2) << 31 | exponent << 23 | mantissa;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void test_copy_to_half_rounds_to_nearest_even(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    enum { COUNT = 20000 };
    static float values[COUNT], expected[COUNT];
    static uint16_t halves[COUNT];
    for (uint32_t i = 0; i < COUNT; i++)
        values[i] = rounding_value(&ops->gpu.random, i);
    values[0] = INFINITY;
    values[1] = NAN;
    values[2] = -0.0f;
    vkf_f32_to_f16(values, halves, COUNT);
    vkf_f16_to_f32(halves, expected, COUNT);
    vkf_test_operand *x = vkf_test_values(ops, VKF_DTYPE_F32, values, SHAPE(COUNT));
    vkf_test_operand *out = vkf_test_output(ops, VKF_DTYPE_F16, SHAPE(COUNT));
    vkf_test_assert_ok(ops, vkf_copy(ops->gpu.context, &x->tensor, &out->tensor), "vkf_copy");
    vkf_test_download(ops, out);
    assert_close(out->values, expected, COUNT, 0, 0, vkf_test_label(&ops->gpu, "f32 to f16"));
}

#define TESTS                                                                                \
    VKF_OPS_TEST(test_heads_are_moved_exactly), VKF_OPS_TEST(test_copy_keeps_every_element), \
        VKF_OPS_TEST(test_copy_from_half_is_exact_for_every_half),                           \
        VKF_OPS_TEST(test_copy_to_half_rounds_to_nearest_even)

// The number of modules that were made in which 16-bit floats are rounded to the nearest even, and of those in which
// the device decides.
static PFN_vkCreateShaderModule make_module;
static int even_modules, other_modules;

static VKAPI_ATTR VkResult VKAPI_CALL count_module(VkDevice device, const VkShaderModuleCreateInfo *info,
                                                   const VkAllocationCallbacks *allocator, VkShaderModule *out_module)
{
    enum { HEADER_WORDS = 5, EXECUTION_MODE = 16, ROUNDING_MODE_RTE = 4462 };
    bool even = false;
    for (size_t at = HEADER_WORDS; at < info->codeSize / 4; at += info->pCode[at] >> 16)
        even = even || ((info->pCode[at] & 0xffff) == EXECUTION_MODE && info->pCode[at + 2] == ROUNDING_MODE_RTE &&
                        info->pCode[at + 3] == 16);
    even_modules += even;
    other_modules += !even;
    return make_module(device, info, allocator, out_module);
}

static void multiply_halves(vkf_test_ops *ops)
{
    const vkf_test_gemm_types halves = {VKF_DTYPE_F16, VKF_DTYPE_F16, VKF_DTYPE_F16};
    const vkf_test_gemm_case gemm = {.m = 3, .n = 5, .k = 7, .alpha = 1};
    even_modules = other_modules = 0;
    make_module = ops->gpu.context->device.vk.vkCreateShaderModule;
    ops->gpu.context->device.vk.vkCreateShaderModule = count_module;
    vkf_test_gemm_run(ops, &halves, &gemm, true, 0, 0);
}

// Modules of halves are told how to round where the device can be told, and only there.
static void test_halves_are_rounded_to_even_where_the_device_can_be_told(void **state)
{
    static const char *const masks[] = {"shaderRoundingModeRTEFloat16"};
    (void)vkf_test_ops_of(state);
    for (uint32_t mask_count = 0; mask_count < 2; mask_count++) {
        vkf_test_ops ops = {0};
        assert_true(vkf_test_ops_open(&ops, masks, mask_count));
        const vkf__device_plan *plan = &ops.gpu.context->device.plan;
        const bool told = plan->enabled.round_to_even_16;
        const bool halves = plan->caps.storage_16bit;
        multiply_halves(&ops);
        assert_true(even_modules + other_modules > 0);
        assert_true(!told || mask_count == 0);
        assert_true((even_modules > 0) == (told && halves));
        vkf_test_ops_close(&ops);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {TESTS};
    const struct CMUnitTest native[] = {TESTS,
                                        VKF_OPS_TEST(test_halves_are_rounded_to_even_where_the_device_can_be_told)};
    int failed = cmocka_run_group_tests_name("op_heads", native, vkf_test_ops_setup, vkf_test_ops_teardown);
    failed += cmocka_run_group_tests_name("op_heads packed", tests, vkf_test_ops_setup_packed, vkf_test_ops_teardown);
    return failed;
}
