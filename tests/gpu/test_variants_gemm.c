// Every kernel for matrix products that this device may use, asked for in turn, against the reference: weights in rows
// and in panels, operands aligned and not.
//
// Compiling takes most of the time. Of large configs that are no default two run unless VKF_TEST_ALL=1: whoever tunes
// to one has it tested on the device before its first use. Other types than f32 change how elements are read and
// written; the self-test runs every kernel of theirs with numbers of few bits, and here two kernels show that no bit is
// lost. VKF_TEST_ALL=1 takes all kernels. Products have the flags of the self-test's, a Linear with a bias: where that
// ran before with the same cache of shaders, nothing is compiled again.
//
// Bounds as in test_op_gemm.c and test_op_gemm_f16.c.
#include <string.h>

#include "support/gemm_case.h"

// What vkf_context_desc.variant is set to: kernels, or one with a config, of f32.
static const struct variant {
    const char *name;
    bool large; // takes drivers seconds to compile: LARGE_SHAPES, unless all tests run
} VARIANTS[] = {
    {"gemm_tile", false},
    {"gemm_tile.f32_f32_f32/64x64", true},
    {"gemm_tile.f32_f32_f32/64x32", true},
    {"gemm_tile.f32_f32_f32/128x64", true},
    {"gemm_tile.f32_f32_f32/128x128", true},
    {"gemm_tile.f32_f32_f32/deep", true},
    {"gemm_texel_shuffle", false},
    {"gemm_texel.", false},
    {"gemm_direct", false},
    {"gemm_address.f32_f32_f32/8x32x16", false}, // larger ones take old compilers 10 s each
    {"gemm_address_n", false},
    {"gemv_subgroup", false},
    {"gemv.", false},
    {"gemv_columns", false},
};

// One, odd, prime, around tiles of 8, 16, 32 and 64, a panel less and more one column. Types other than f32 take every
// other one: what they change is how elements are read and written.
static const uint32_t SHAPES[][3] = {
    {1, 33, 32},  {2, 31, 100},  {8, 65, 64}, {9, 32, 20}, {17, 97, 44},
    {37, 41, 43}, {65, 129, 68}, {1, 1, 4},   {3, 97, 75},
};

// Within the largest tile, and beyond it both ways.
static const uint32_t LARGE_SHAPES[][3] = {{17, 97, 44}, {131, 129, 68}};

static void run_weights(vkf_test_ops *ops, const vkf_test_gemm_types *types, const uint32_t (*shapes)[3], size_t count,
                        double tolerance)
{
    for (size_t i = 0; i < count; i += types->b == VKF_DTYPE_F32 ? 1 : 2) {
        for (int packed = 0; packed < 2; packed++) {
            // Packed weights take kernels that ask for alignment; what is unaligned falls back to others.
            ops->aligned = packed && i % 4 != 3;
            const vkf_test_gemm_case gemm = {
                .m = shapes[i][0],
                .n = shapes[i][1],
                .k = shapes[i][2],
                .transpose_b = true,
                .packed = packed,
                .alpha = 1,
                .bias = true,
            };
            vkf_test_gemm_run(ops, types, &gemm, false, tolerance, tolerance);
        }
    }
}

// Rows of (n, k) that begin at multiples of eight elements, and of four alone: beyond what a workgroup takes at once.
static const uint32_t ROW_SHAPES[][3] = {{1, 33, 1064}, {1, 5, 1060}};

static void run_rows(vkf_test_ops *ops, const vkf_test_gemm_types *types, double tolerance)
{
    ops->aligned = true;
    for (size_t i = 0; i < COUNT_OF(ROW_SHAPES); i++) {
        const vkf_test_gemm_case gemm = {
            .m = ROW_SHAPES[i][0],
            .n = ROW_SHAPES[i][1],
            .k = ROW_SHAPES[i][2],
            .transpose_b = true,
            .alpha = 1,
            .bias = true,
        };
        vkf_test_gemm_run(ops, types, &gemm, false, 4 * tolerance, tolerance); // ten times as deep as SHAPES
    }
}

// Few shapes of a kernel show how it reads another type than f32.
static const uint32_t TYPE_SHAPES[][3] = {{17, 97, 44}, {1, 33, 32}, {2, 31, 100}};

static bool shows_types(const char *name)
{
    return strcmp(name, "gemm_tile") == 0 || strcmp(name, "gemv.") == 0;
}

static void run_variant(const struct variant *variant, const vkf_test_gemm_types *types, double tolerance)
{
    bool f32 = types->b == VKF_DTYPE_F32, few = !vkf_test_all();
    vkf_test_ops ops;
    if (few && variant->large && !strstr(variant->name, "128x64") && !strstr(variant->name, "deep"))
        return;
    if (!f32 && (strchr(variant->name, '/') || (few && !shows_types(variant->name))))
        return;
    if (vkf_test_ops_open_variant(&ops, variant->name)) {
        if (few && !f32)
            run_weights(&ops, types, TYPE_SHAPES, COUNT_OF(TYPE_SHAPES), tolerance);
        else if (few && variant->large)
            run_weights(&ops, types, LARGE_SHAPES, COUNT_OF(LARGE_SHAPES), tolerance);
        else
            run_weights(&ops, types, SHAPES, COUNT_OF(SHAPES), tolerance);
        if (strcmp(variant->name, "gemv.") == 0)
            run_rows(&ops, types, tolerance);
    }
    vkf_test_ops_close(&ops);
}

static void run_all(const vkf_test_gemm_types *types, double tolerance)
{
    for (size_t i = 0; i < COUNT_OF(VARIANTS); i++)
        run_variant(&VARIANTS[i], types, tolerance);
}

static void test_gemm_by_every_variant(void **state)
{
    (void)vkf_test_ops_of(state);
    run_all(&(vkf_test_gemm_types){VKF_DTYPE_F32, VKF_DTYPE_F32, VKF_DTYPE_F32}, 2e-5);
}

static void test_gemm_by_every_variant_with_half_weights(void **state)
{
    (void)vkf_test_ops_of(state);
    run_all(&(vkf_test_gemm_types){VKF_DTYPE_F32, VKF_DTYPE_F16, VKF_DTYPE_F32}, 2e-5);
}

static void test_gemm_by_every_variant_with_bfloat_weights(void **state)
{
    (void)vkf_test_ops_of(state);
    run_all(&(vkf_test_gemm_types){VKF_DTYPE_F32, VKF_DTYPE_BF16, VKF_DTYPE_F32}, 2e-5);
}

static void test_gemm_by_every_variant_in_half(void **state)
{
    (void)vkf_test_ops_of(state);
    run_all(&(vkf_test_gemm_types){VKF_DTYPE_F16, VKF_DTYPE_F16, VKF_DTYPE_F16}, 2e-2);
}

// A weight larger than what the device binds, in panels: it is cut between panels.
static void test_gemm_packed_weight_in_slices(void **state)
{
    (void)vkf_test_ops_of(state);
    const char *const masks[] = {"maxStorageBufferRange=65536", "maxTexelBufferElements=65536"};
    const vkf_test_gemm_types f32 = {VKF_DTYPE_F32, VKF_DTYPE_F32, VKF_DTYPE_F32};
    vkf_test_ops ops;
    if (vkf_test_ops_open(&ops, masks, 2))
        vkf_test_gemm_run(
            &ops, &f32,
            &(vkf_test_gemm_case){
                .m = 5, .n = 1000, .k = 100, .transpose_b = true, .packed = true, .alpha = 1, .bias = true},
            false, 2e-5, 1e-5);
    vkf_test_ops_close(&ops);
}

static void test_pack_weight_refuses_what_is_no_weight(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    vkf_test_operand *cube = vkf_test_constant(ops, VKF_DTYPE_F32, 1, SHAPE(2, 3, 4));
    vkf_test_operand *ids = vkf_test_ids(ops, (const int32_t[]){1, 2, 3, 4}, SHAPE(2, 2));
    vkf_tensor packed = {.rank = 7};
    vkf_status status = vkf_pack_weight(ops->gpu.context, &cube->tensor, "packed", &packed);
    vkf_test_assert_refused(ops, status, VKF_ERROR_INVALID_ARGUMENT, "rank 3");
    status = vkf_pack_weight(ops->gpu.context, &ids->tensor, "packed", &packed);
    vkf_test_assert_refused(ops, status, VKF_ERROR_INVALID_ARGUMENT, "i32");
    assert_int_equal(packed.rank, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        VKF_OPS_TEST(test_gemm_by_every_variant),
        VKF_OPS_TEST(test_gemm_by_every_variant_with_half_weights),
        VKF_OPS_TEST(test_gemm_by_every_variant_with_bfloat_weights),
        VKF_OPS_TEST(test_gemm_by_every_variant_in_half),
        VKF_OPS_TEST(test_gemm_packed_weight_in_slices),
        VKF_OPS_TEST(test_pack_weight_refuses_what_is_no_weight),
    };
    return cmocka_run_group_tests(tests, vkf_test_ops_setup, vkf_test_ops_teardown);
}
