// vkf_gemm() by the kernels on cooperative matrices, as a GPU would choose them, against the reference: around tiles,
// with every layout and epilogue, aligned and not, and cut in depth. lavapipe has matrices since Mesa 24.3.
//
// Bounds as in test_op_gemm_f16.c, with what support/gemm_case.c adds where f32 and blocks are rounded to 16 bits.
#include <string.h>

#include "base/elements.h"
#include "kernel/context.h"
#include "kernel/variant_hash.h"
#include "support/gemm_case.h"
#include "support/taken_kernel.h"

#define H VKF_DTYPE_F16
#define F VKF_DTYPE_F32

static const vkf_test_gemm_types HALF = {H, H, H}, HALF_TO_FLOAT = {H, H, F};

// Opens a device that is none of a processor. False where it has no kernel of this name.
static bool open_as_gpu(vkf_test_ops *ops, const char *variant, const char *const *masks, uint32_t mask_count)
{
    vkf_context_desc desc = {
        .variant = variant, .masks = masks, .mask_count = mask_count, .precision = VKF_PRECISION_F16_SUMS};
    memset(ops, 0, sizeof *ops);
    assert_int_equal(vkf_test_gpu_open(&ops->gpu, &desc), 0);
    if (!ops->gpu.context)
        return false;
    vkf__caps *caps = &ops->gpu.context->device.plan.caps;
    caps->traits = (vkf__traits){.cores = 64};
    vkf__variant wanted;
    return vkf__variant_named(variant, strlen(variant), &wanted.kernel, &wanted.config) &&
           vkf__kernel_supported(caps, wanted.kernel, wanted.config, NULL);
}

static void run(vkf_test_ops *ops, const vkf_test_gemm_types *types, const vkf_test_gemm_case *gemm)
{
    const bool half = types->d == H;
    for (int aligned = 0; aligned < 2; aligned++) {
        ops->aligned = aligned;
        vkf_test_gemm_run(ops, types, gemm, false, 2e-5 + (half ? 4 * 0x1p-11 : 0), half ? 0x1p-10 : 1e-5);
        const char *kernel = vkf_test_taken_kernel();
        if (strncmp(kernel, "gemm_coopmat", strlen("gemm_coopmat")) != 0)
            fail_msg("%s serves a product of %u x %u x %u", kernel, gemm->m, gemm->n, gemm->k);
    }
}

// Each set of flags is a pipeline, which drivers take seconds to compile, and more for larger tiles: one set takes most
// shapes, and VKF_TEST_ALL=1 takes large tiles.
static const vkf_test_gemm_case SHAPES[] = {
#define LINEAR(m_, n_, k_)                                                                                          \
    {                                                                                                               \
        .m = m_, .n = n_, .k = k_, .transpose_b = true, .bias = true, .alpha = 1, .activation = VKF_ACTIVATION_RELU \
    }
    LINEAR(9, 1, 1),    LINEAR(63, 64, 33), LINEAR(64, 65, 32),  LINEAR(65, 63, 31),
    LINEAR(16, 16, 16), LINEAR(17, 40, 70), LINEAR(130, 24, 64), LINEAR(33, 129, 7),
};

// The depth of weights in blocks is whole blocks.
static const vkf_test_gemm_case BLOCKS[] = {
    LINEAR(9, 1, 32),
    LINEAR(33, 31, 96),
    LINEAR(64, 65, 64),
    LINEAR(65, 128, 160),
};

static const vkf_test_gemm_case FLAGS[] = {
    {.m = 37, .n = 41, .k = 43, .alpha = 0.5f, .beta = 0.5f, .c = true, .transpose_a = true},
    {.m = 33,
     .n = 40,
     .k = 48,
     .alpha = 1,
     .beta = 1,
     .c = true,
     .c_in_place = true,
     .bias = true,
     .transpose_b = true},
    {.m = 10, .n = 24, .k = 9, .batch = 3, .alpha = 1, .residual = true, .activation = VKF_ACTIVATION_GELU_ERF},
    {.m = 40, .n = 70, .k = 65, .alpha = 1, .bias = true, .packed = true, .transpose_b = true},
};

static void run_shapes(const char *variant, const vkf_test_gemm_types *types, size_t step)
{
    const bool blocks = vkf__is_blocks(types->b);
    vkf_test_ops ops;
    if (open_as_gpu(&ops, variant, NULL, 0)) {
        for (size_t i = 0; i < (blocks ? COUNT_OF(BLOCKS) : COUNT_OF(SHAPES)); i += step)
            run(&ops, types, blocks ? &BLOCKS[i] : &SHAPES[i]);
    }
    vkf_test_ops_close(&ops);
}

static void test_matrices_around_tiles(void **state)
{
    (void)vkf_test_ops_of(state);
    run_shapes("gemm_coopmat.f16_f16_f16/32x32", &HALF, 1);
    run_shapes("gemm_coopmat.f16_f16_f32/32x32", &HALF_TO_FLOAT, 2);
    run_shapes("gemm_coopmat.f32_f16_f32/32x32", &(vkf_test_gemm_types){F, H, F}, 3);
    run_shapes("gemm_coopmat.f32_bf16_f32/32x32", &(vkf_test_gemm_types){F, VKF_DTYPE_BF16, F}, 3);
    run_shapes("gemm_coopmat2_element.f16_f16_f16/16x32", &HALF, 3);
    if (vkf_test_all()) {
        run_shapes("gemm_coopmat.f16_f16_f16/64x64", &HALF, 1);
        run_shapes("gemm_coopmat.f16_f16_f16/128x128", &HALF, 1);
        run_shapes("gemm_coopmat.f16_f16_f32/128x128w", &HALF_TO_FLOAT, 1);
    }
}

// Sums of integers of -3 to 3, in f16 up to a depth of 32 and then in f32, are exact.
static void run_half_sums(const char *variant, const vkf_test_gemm_types *types, size_t step)
{
    static const vkf_test_gemm_case deep = LINEAR(33, 34, 100);
    vkf_test_ops ops;
    if (open_as_gpu(&ops, variant, NULL, 0)) {
        for (size_t i = 0; i <= COUNT_OF(SHAPES); i += step) {
            ops.aligned = i % 2 == 0;
            vkf_test_gemm_run(&ops, types, i == 0 ? &deep : &SHAPES[i - 1], true, 0, 0);
            assert_non_null(strstr(vkf_context_last_op_kernel(ops.gpu.context), "gemm_coopmat_half"));
        }
    }
    vkf_test_ops_close(&ops);
}

static void test_matrices_with_half_sums_around_tiles(void **state)
{
    (void)vkf_test_ops_of(state);
    run_half_sums("gemm_coopmat_half.f16_f16_f32/32x32", &HALF_TO_FLOAT, 1);
    run_half_sums("gemm_coopmat_half.f16_f16_f16/32x32", &HALF, 2);
    run_half_sums("gemm_coopmat_half.f32_f16_f32/32x32", &(vkf_test_gemm_types){F, H, F}, 3);
    if (vkf_test_all()) {
        run_half_sums("gemm_coopmat_half.f16_f16_f32/64x64", &HALF_TO_FLOAT, 1);
        run_half_sums("gemm_coopmat_half.f16_f16_f16/128x128", &HALF, 1);
    }
}

// A sum in f16 alone would end at 2048.
static void test_matrices_with_half_sums_at_any_length(void **state)
{
    const float sum = 10000;
    vkf_test_ops ops;
    (void)vkf_test_ops_of(state);
    if (open_as_gpu(&ops, "gemm_coopmat_half.f16_f16_f32/32x32", NULL, 0)) {
        vkf_test_operand *a = vkf_test_constant(&ops, H, 1, SHAPE(9, 10000));
        vkf_test_operand *b = vkf_test_constant(&ops, H, 1, SHAPE(1, 10000));
        vkf_test_operand *out = vkf_test_output(&ops, F, SHAPE(9, 1));
        const vkf_gemm_desc desc = {
            .a = a->tensor, .b = b->tensor, .out = out->tensor, .transpose_b = true, .alpha = 1};
        vkf_test_assert_ok(&ops, vkf_gemm(ops.gpu.context, &desc), "vkf_gemm");
        vkf_test_download(&ops, out);
        for (size_t i = 0; i < out->count; i++)
            assert_close(&out->values[i], &sum, 1, 0, 0, "ones");
    }
    vkf_test_ops_close(&ops);
}

static void test_matrices_of_blocks(void **state)
{
    (void)vkf_test_ops_of(state);
    run_shapes("gemm_coopmat_blocks.f16_q4_f16/32x32", &(vkf_test_gemm_types){H, VKF_DTYPE_Q4, H}, 1);
    run_shapes("gemm_coopmat_blocks.f16_q8_f32/32x32", &(vkf_test_gemm_types){H, VKF_DTYPE_Q8, F}, 1);
    run_shapes("gemm_coopmat_blocks.f32_q4_f32/32x32", &(vkf_test_gemm_types){F, VKF_DTYPE_Q4, F}, 2);
    run_shapes("gemm_coopmat2_element_blocks.f16_q4_f16/16x32", &(vkf_test_gemm_types){H, VKF_DTYPE_Q4, H}, 1);
    run_shapes("gemm_coopmat2_element_blocks.f16_q8_f16/16x32", &(vkf_test_gemm_types){H, VKF_DTYPE_Q8, H}, 1);
    if (vkf_test_all()) {
        run_shapes("gemm_coopmat_blocks.f16_q4_f16/64x64", &(vkf_test_gemm_types){H, VKF_DTYPE_Q4, H}, 1);
        run_shapes("gemm_coopmat_blocks.f16_q8_f16/128x128", &(vkf_test_gemm_types){H, VKF_DTYPE_Q8, H}, 1);
        run_shapes("gemm_coopmat_blocks.f16_q4_f32/128x128w", &(vkf_test_gemm_types){H, VKF_DTYPE_Q4, F}, 1);
    }
}

static void test_matrices_by_layout_and_epilogue(void **state)
{
    vkf_test_ops ops;
    (void)vkf_test_ops_of(state);
    if (open_as_gpu(&ops, "gemm_coopmat.f16_f16_f16/32x32", NULL, 0)) {
        for (size_t i = 0; i < COUNT_OF(FLAGS); i++)
            run(&ops, &HALF, &FLAGS[i]);
    }
    vkf_test_ops_close(&ops);
}

// Parts whose tiles lie inside are stored as matrices, others through shared memory. The largest grid has fewer layers
// than there are parts of all products of a batch.
static void test_matrices_in_parts(void **state)
{
    static const vkf_test_gemm_case cases[] = {
        {.m = 33, .n = 65, .k = 2081, .alpha = 1, .bias = true, .transpose_b = true},
        {.m = 64, .n = 64, .k = 2080, .alpha = 0.5f, .transpose_b = true},
        {.m = 40, .n = 64, .k = 2080, .batch = 2, .alpha = 1, .transpose_b = true},
    };
    const char *const masks[] = {"maxComputeWorkGroupCount[2]=3"};
    vkf_test_ops ops;
    (void)vkf_test_ops_of(state);
    if (open_as_gpu(&ops, "gemm_coopmat.f16_f16_f32/32x32", masks, 1)) {
        ops.gpu.context->device.plan.caps.traits.cores = 2048;
        for (size_t i = 0; i < COUNT_OF(cases); i++) {
            vkf_test_gemm_run(&ops, &HALF_TO_FLOAT, &cases[i], false, 1e-3, 1e-4);
            assert_non_null(strstr(vkf_context_last_op_kernel(ops.gpu.context), "gemm_reduce"));
        }
    }
    vkf_test_ops_close(&ops);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        VKF_OPS_TEST(test_matrices_around_tiles),
        VKF_OPS_TEST(test_matrices_with_half_sums_around_tiles),
        VKF_OPS_TEST(test_matrices_with_half_sums_at_any_length),
        VKF_OPS_TEST(test_matrices_of_blocks),
        VKF_OPS_TEST(test_matrices_by_layout_and_epilogue),
        VKF_OPS_TEST(test_matrices_in_parts),
    };
    return cmocka_run_group_tests_name("op_gemm_matrix", tests, vkf_test_ops_setup, vkf_test_ops_teardown);
}
