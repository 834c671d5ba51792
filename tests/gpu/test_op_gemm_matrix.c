// Products by cooperative matrices that are cut in depth, into more parts than the grid has layers. All else cases try.
#include <string.h>

#include "kernel/context.h"
#include "support/gemm_case.h"
#include "support/taken_kernel.h"

#define VARIANT "gemm_coopmat.f16_f16_f32/32x32"

// Parts whose tiles lie inside are stored as matrices, others through shared memory.
static void test_matrices_in_parts(void **state)
{
    static const vkf_test_gemm_types types = {VKF_DTYPE_F16, VKF_DTYPE_F16, VKF_DTYPE_F32};
    static const vkf_test_gemm_case cases[] = {
        {.m = 33, .n = 65, .k = 2081, .alpha = 1, .bias = true, .transpose_b = true},
        {.m = 64, .n = 64, .k = 2080, .alpha = 0.5f, .transpose_b = true},
        {.m = 40, .n = 64, .k = 2080, .batch = 2, .alpha = 1, .transpose_b = true},
    };
    const char *const layers = "maxComputeWorkGroupCount[2]=3";
    vkf_context_desc desc = {.variant = VARIANT, .masks = &layers, .mask_count = 1};
    vkf_test_ops ops = {0};
    vkf_test_skip_unless_supported(vkf_test_ops_of(state)->gpu.context, VARIANT);
    assert_int_equal(vkf_test_gpu_open(&ops.gpu, &desc), 0);
    ops.gpu.context->device.plan.caps.traits = (vkf__traits){.cores = 2048};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        vkf_test_gemm_run(&ops, &types, &cases[i], false, 1e-3, 1e-4);
        assert_true(strstr(vkf_test_taken_kernel(), "gemm_coopmat"));
        assert_non_null(strstr(vkf_context_get_last_op_kernel(ops.gpu.context), "gemm_reduce"));
    }
    vkf_test_ops_close(&ops);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        VKF_OPS_TEST(test_matrices_in_parts),
    };
    return cmocka_run_group_tests_name("op_gemm_matrix", tests, vkf_test_ops_setup, vkf_test_ops_teardown);
}
