// vkf_gemm() with half storage, by the kernels for devices with 16-bit storage and by the packed ones, and with
// bfloat16.
//
// Bounds: inputs are halves already and sums are float32, so that a result of size |d| is off by its own rounding,
// 2^-11 |d| (2^-25 where it is subnormal), beside the 2e-5 of the float32 sum. Each further pass through the output (c
// and residual together) rounds an intermediate result of at most 4 once more.
#include <math.h>
#include <stdlib.h>

#include "support/gemm_case.h"

#define HALF_RTOL 0x1p-11
#define SUM_ATOL 2e-5

static const vkf_test_gemm_types TYPES[] = {
    {VKF_DTYPE_F32, VKF_DTYPE_F16, VKF_DTYPE_F32},  {VKF_DTYPE_F16, VKF_DTYPE_F16, VKF_DTYPE_F16},
    {VKF_DTYPE_F16, VKF_DTYPE_F16, VKF_DTYPE_F32},  {VKF_DTYPE_F32, VKF_DTYPE_F16, VKF_DTYPE_F16},
    {VKF_DTYPE_F32, VKF_DTYPE_BF16, VKF_DTYPE_F32},
};

static void run(vkf_test_ops *ops, const vkf_test_gemm_types *types, const vkf_test_gemm_case *gemm)
{
    bool half_out = types->d == VKF_DTYPE_F16;
    bool two_passes = half_out && gemm->c && gemm->residual;
    vkf_test_gemm_run(ops, types, gemm, false, SUM_ATOL + (two_passes ? 2 * HALF_RTOL * 4 : 0),
                      half_out ? HALF_RTOL : 1e-5);
}

static const vkf_test_gemm_case CASES[] = {
    {.m = 1, .n = 1, .k = 1, .alpha = 1},
    {.m = 7, .n = 31, .k = 33, .alpha = 1, .transpose_b = true, .bias = true},
    {.m = 9, .n = 33, .k = 17, .alpha = 1},
    {.m = 3, .n = 5, .k = 7, .batch = 3, .alpha = 1, .b_shared = true, .beta = -0.5f, .c = true},
    {.m = 5, .n = 7, .k = 9, .batch = 2, .alpha = 1, .residual = true, .beta = 1, .c = true},
    {.m = 5, .n = 7, .k = 9, .batch = 2, .alpha = 1, .residual = true, .residual_in_place = true, .beta = 1, .c = true},
};

static void test_gemm_half_storage(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    for (size_t t = 0; t < COUNT_OF(TYPES); t++)
        for (size_t i = 0; i < COUNT_OF(CASES); i++)
            run(ops, &TYPES[t], &CASES[i]);
}

// Products of 0.5 with large numbers: beyond 65504 is infinity, below 2^-24 is zero, as vkf_f32_to_f16() has it. Only
// values that are halves are tested here, so that no rule of rounding matters.
static void test_gemm_half_output_overflows_to_infinity(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    static const float x[] = {65504, 131008, 200000, -200000, 0x1p-23f, 0x1p-40f, INFINITY, -INFINITY, NAN};
    static const float expected[] = {32752, 65504, INFINITY, -INFINITY, 0x1p-24f, 0, INFINITY, -INFINITY, NAN};
    vkf_test_operand *a = vkf_test_values(ops, VKF_DTYPE_F32, x, SHAPE(COUNT_OF(x), 1));
    vkf_test_operand *b = vkf_test_constant(ops, VKF_DTYPE_F16, 0.5f, SHAPE(1, 1));
    vkf_test_operand *out = vkf_test_output(ops, VKF_DTYPE_F16, SHAPE(COUNT_OF(x), 1));
    const vkf_gemm_desc desc = {a->tensor, b->tensor, .out = out->tensor, .alpha = 1};
    vkf_test_assert_ok(ops, vkf_gemm(ops->gpu.context, &desc), "vkf_gemm");
    vkf_test_download(ops, out);
    assert_close(out->values, expected, COUNT_OF(x), 0, 0, vkf_test_label(&ops->gpu, "half overflow"));
}

static void test_gemm_unsupported_types_are_refused(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    static const vkf_test_gemm_types refused[] = {
        {VKF_DTYPE_F16, VKF_DTYPE_F32, VKF_DTYPE_F32},
        {VKF_DTYPE_F32, VKF_DTYPE_F32, VKF_DTYPE_F16},
        {VKF_DTYPE_F16, VKF_DTYPE_F32, VKF_DTYPE_F16},
        {VKF_DTYPE_F16, VKF_DTYPE_F16, VKF_DTYPE_BOOL},
    };
    for (size_t i = 0; i < COUNT_OF(refused); i++) {
        vkf_test_operand *a = vkf_test_constant(ops, refused[i].a, 1, SHAPE(2, 2));
        vkf_test_operand *b = vkf_test_constant(ops, refused[i].b, 1, SHAPE(2, 2));
        vkf_test_operand *out = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(2, 2));
        vkf_gemm_desc desc = {a->tensor, b->tensor, .out = out->tensor, .alpha = 1};
        desc.out.dtype = refused[i].d;
        vkf_test_assert_refused(ops, vkf_gemm(ops->gpu.context, &desc),
                                refused[i].d == VKF_DTYPE_BOOL ? VKF_ERROR_INVALID_ARGUMENT : VKF_ERROR_UNSUPPORTED,
                                "types without a kernel");
        vkf_test_assert_untouched(ops, out);
        vkf_test_ops_reset(ops);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        VKF_OPS_TEST(test_gemm_half_storage),
        VKF_OPS_TEST(test_gemm_half_output_overflows_to_infinity),
        VKF_OPS_TEST(test_gemm_unsupported_types_are_refused),
    };
    int failed = cmocka_run_group_tests_name("op_gemm_f16", tests, vkf_test_ops_setup, vkf_test_ops_teardown);
    failed +=
        cmocka_run_group_tests_name("op_gemm_f16 packed", tests, vkf_test_ops_setup_packed, vkf_test_ops_teardown);
    return failed;
}
