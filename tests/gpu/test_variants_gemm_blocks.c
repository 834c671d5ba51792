// Every kernel for products with weights in blocks that this device may use, asked for in turn, against the reference.
//
// Compiling takes most of the time. Configs that are no default run with VKF_TEST_ALL=1: whoever tunes to one has it
// tested on the device before its first use. The self-test runs every kernel of f16 activations, and types of blocks
// take turns over the shapes; VKF_TEST_ALL=1 runs all of them here. Products have the flags of the self-test's, a
// Linear with a bias: where that ran before with the same cache of shaders, nothing is compiled again.
//
// Bounds as in test_op_gemm.c and test_op_gemm_f16.c.
#include <string.h>

#include "kernel/context.h"
#include "support/gemm_case.h"
#include "support/taken_kernel.h"

static const vkf_test_gemm_types TYPES[] = {
    {VKF_DTYPE_F32, VKF_DTYPE_Q8, VKF_DTYPE_F32}, {VKF_DTYPE_F32, VKF_DTYPE_Q4, VKF_DTYPE_F32},
    {VKF_DTYPE_F16, VKF_DTYPE_Q8, VKF_DTYPE_F16}, {VKF_DTYPE_F16, VKF_DTYPE_Q4, VKF_DTYPE_F16},
    {VKF_DTYPE_F16, VKF_DTYPE_Q8, VKF_DTYPE_F32}, {VKF_DTYPE_F16, VKF_DTYPE_Q4, VKF_DTYPE_F32},
};

enum { F32_Q8, F32_Q4, EVERY_TYPE };

// What vkf_context_desc.variant is set to: kernels, and the configs that are no default with the type that they are
// for.
static const struct variant {
    const char *name;
    size_t type; // of TYPES
} VARIANTS[] = {
    {"gemm_tile_blocks", EVERY_TYPE},
    {"gemm_tile_blocks.f32_q8_f32/thin", F32_Q8},
    {"gemm_tile_blocks.f32_q4_f32/64x64", F32_Q4},
    {"gemm_tile_blocks.f32_q8_f32/128x64x256", F32_Q8},
    {"gemm_tile_blocks.f32_q4_f32/128x128", F32_Q4},
    {"gemm_tile_blocks.f32_q8_f32/deep", F32_Q8},
    {"gemm_tile_blocks.f32_q4_f32/deep", F32_Q4},
    {"gemm_blocks.", EVERY_TYPE},
    {"gemm_blocks.f32_q4_f32/rows1x256", F32_Q4},
    {"gemm_blocks.f32_q4_f32/rows8", F32_Q4},
    {"gemm_blocks.f32_q4_f32/8x32", F32_Q4},
    {"gemm_dot.", F32_Q8},
    {"gemm_dot.i32_q4_f32/rows1x256", F32_Q4},
    {"gemm_dot_rounds.", EVERY_TYPE},
    {"gemm_dot_rounds.f32_q4_f32/rows1x256", F32_Q4},
    {"gemm_dot_rounds.f32_q8_f32/rows8", F32_Q8},
    {"gemm_dot_tile.", F32_Q4},
    {"gemm_blocks_address.", EVERY_TYPE},
    {"gemm_blocks_address.f32_q8_f32/32x64", F32_Q8},
    {"gemm_blocks_address.f32_q4_f32/32x32", F32_Q4},
    {"gemm_texel_shuffle_blocks.", EVERY_TYPE},
    {"gemm_texel_shuffle_blocks.f32_q8_f32/32x8", F32_Q8},
    {"gemm_texel_shuffle_blocks.f32_q4_f32/32x4", F32_Q4},
    {"gemm_texel_blocks.", EVERY_TYPE},
    {"gemm_texel_blocks.f32_q8_f32/16x8", F32_Q8},
    {"gemm_texel_blocks.f32_q4_f32/rows8", F32_Q4},
};

// The last of them is one that kernels for few rows take, too.
static const uint32_t SHAPES[][3] = {
    {1, 33, 64},   {2, 100, 32}, {4, 31, 288}, {32, 32, 64}, {37, 41, 32},
    {65, 129, 96}, {15, 63, 64}, {16, 64, 32}, {31, 1, 160}, {8, 65, 96},
};

static void run_shapes(vkf_test_ops *ops, size_t type)
{
    const size_t types_here = vkf_test_all() ? COUNT_OF(TYPES) : F32_Q4 + 1;
    for (size_t i = 0; i < COUNT_OF(SHAPES) * COUNT_OF(TYPES); i++) {
        const uint32_t *shape = SHAPES[i / COUNT_OF(TYPES)];
        const vkf_test_gemm_types *types = &TYPES[i % COUNT_OF(TYPES)];
        if ((type != EVERY_TYPE && type != i % COUNT_OF(TYPES)) || i % COUNT_OF(TYPES) >= types_here)
            continue;
        if (type == EVERY_TYPE && !vkf_test_all() && i / COUNT_OF(TYPES) % 2 != i % COUNT_OF(TYPES))
            continue;
        // Types of a and d change how elements are read and written alone: f32 takes all shapes, the others every
        // third.
        if (i % COUNT_OF(TYPES) > 1 && i / COUNT_OF(TYPES) % 3 != i % COUNT_OF(TYPES) / 2)
            continue;
        const vkf_test_gemm_case gemm = {
            .m = shape[0],
            .n = shape[1],
            .k = shape[2],
            .transpose_b = true,
            .alpha = 1,
            .bias = true,
            .bias_dtype = types->a,
            .bytes = true,
        };
        double tolerance = types->d == VKF_DTYPE_F16 ? 2e-3 : 2e-5;
        vkf_test_gemm_run(ops, types, &gemm, false, tolerance, tolerance);
    }
}

// Whole numbers: exact, whatever the order of sums.
static void run_deep(vkf_test_ops *ops, size_t type, uint32_t m, uint32_t k)
{
    const vkf_test_gemm_case gemm = {
        .m = m,
        .n = 13,
        .k = k,
        .transpose_b = true,
        .alpha = 1,
        .bias = true,
        .bytes = true,
    };
    for (size_t i = F32_Q8; i <= F32_Q4; i++)
        if (type == i || type == EVERY_TYPE)
            vkf_test_gemm_run(ops, &TYPES[i], &gemm, true, 0, 0);
}

// So deep that an invocation of many has several blocks under way, and once more for the rest. Beyond 65,535 steps a
// product runs for a second, and the self-test has one for every kernel: with VKF_TEST_ALL=1.
static void run_depths(vkf_test_ops *ops, size_t type)
{
    static const uint32_t rows[] = {1, 9, 33};
    run_deep(ops, type, 1, 4128);
    for (size_t i = 0; i < COUNT_OF(rows) && vkf_test_all(); i++)
        run_deep(ops, type, rows[i], 70016);
}

// A kernel by integer dot products, with any of its configs, is not passed over for one that is none, wherever the
// device has them.
static void check_kernel(vkf_test_ops *ops, const char *name)
{
    const char *kernel = vkf_test_taken_kernel();
    if (strncmp(name, "gemm_dot", 8) == 0 && !strchr(name, '/') && ops->gpu.context->device.plan.caps.integer_dot &&
        strncmp(kernel, name, strlen(name)) != 0)
        fail_msg("%s instead of %s", kernel, name);
}

static void test_blocks_by_every_variant(void **state)
{
    (void)vkf_test_ops_of(state);
    for (size_t i = 0; i < COUNT_OF(VARIANTS); i++) {
        vkf_test_ops ops;
        if (strchr(VARIANTS[i].name, '/') && !vkf_test_all())
            continue;
        if (vkf_test_ops_open_variant(&ops, VARIANTS[i].name)) {
            ops.aligned = true;
            run_shapes(&ops, VARIANTS[i].type);
            check_kernel(&ops, VARIANTS[i].name);
            run_depths(&ops, VARIANTS[i].type);
        }
        vkf_test_ops_close(&ops);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {VKF_OPS_TEST(test_blocks_by_every_variant)};
    return cmocka_run_group_tests_name("variants_gemm_blocks", tests, vkf_test_ops_setup, vkf_test_ops_teardown);
}
