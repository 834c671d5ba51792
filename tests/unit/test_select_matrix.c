// Which devices and problems get the kernels on cooperative matrices, and with which constants.
#include "kernel/select.h"

#include "caps_fixture.h"
#include "shared/attention_coopmat.h"
#include "shared/gemm_coopmat.h"

#define F VKF_DTYPE_F32
#define H VKF_DTYPE_F16

static const vkf_dtype fff[] = {F, F, F}, fhf[] = {F, H, F}, hhf[] = {H, H, F}, hhh[] = {H, H, H};
static const vkf_dtype fbf[] = {F, VKF_DTYPE_BF16, F}, hqh[] = {H, VKF_DTYPE_Q4, H}, fqf[] = {F, VKF_DTYPE_Q4, F};

static vkf__caps matrix_caps(void)
{
    vkf__caps caps = discrete_caps();
    add_matrices(&caps, 16);
    return caps;
}

static void assert_selected(const vkf__caps *caps, vkf__op op, const vkf_dtype *types, vkf__problem problem,
                            const char *name)
{
    vkf__variant variant = {0};
    const vkf__selector selector = {.caps = caps};
    char got[128] = "nothing";
    if (vkf__select(&selector, op, types, &problem, &variant, NULL))
        (void)snprintf(got, sizeof got, "%s/%s", variant.kernel->name, variant.config->name);
    if (strncmp(got, name, strlen(name)) != 0)
        fail_msg("%u x %u x %u gives %s, expected %s", problem.m, problem.n, problem.k, got, name);
}

static vkf__variant variant_named(const char *kernel, const char *config)
{
    for (uint32_t i = 0; i < vkf__kernel_count(); i++) {
        const vkf__kernel *row = vkf__kernel_at(i);
        for (uint32_t c = 0; strcmp(row->name, kernel) == 0 && c < row->config_count; c++) {
            if (strcmp(row->configs[c].name, config) == 0)
                return (vkf__variant){row, &row->configs[c]};
        }
    }
    fail_msg("no variant %s/%s", kernel, config);
    return (vkf__variant){0};
}

static void test_matrix_gemm_by_shape(void **state)
{
    (void)state;
    vkf__caps caps = matrix_caps();
    caps.matrix.tensor_addressing = false;
    caps.traits.cores = 16;
    assert_selected(&caps, VKF_OP_GEMM, hhh, (vkf__problem){.m = 512, .n = 512, .k = 64},
                    "gemm_coopmat.f16_f16_f16/128x128");
    assert_selected(&caps, VKF_OP_GEMM, hhf, (vkf__problem){.m = 128, .n = 512, .k = 64},
                    "gemm_coopmat.f16_f16_f32/64x64");
    assert_selected(&caps, VKF_OP_GEMM, hhh, (vkf__problem){.m = 9, .n = 512, .k = 64},
                    "gemm_coopmat.f16_f16_f16/32x32");
    assert_selected(&caps, VKF_OP_GEMM, fff, (vkf__problem){.m = 512, .n = 512, .k = 64}, "gemm_tile.");
    // Few rows leave a matrix empty.
    const vkf__problem few = {.m = 8, .n = 512, .k = 64};
    const vkf__selector selector = {.caps = &caps};
    vkf__variant variant;
    assert_true(vkf__select(&selector, VKF_OP_GEMM, hhf, &few, &variant, NULL));
    assert_int_equal(variant.kernel->needs & VKF_NEEDS_MATRIX, 0);
}

static void test_matrix_gemm_rounds_where_allowed_alone(void **state)
{
    (void)state;
    vkf__caps caps = matrix_caps();
    caps.matrix.tensor_addressing = false;
    caps.traits.cores = 1;
    const vkf__variant rounding = variant_named("gemm_coopmat.f32_f16_f32", "64x64");
    vkf__problem problem = {.m = 64, .n = 64, .k = 64};
    const char *why = NULL;
    assert_selected(&caps, VKF_OP_GEMM, fhf, problem, "gemm_tile.f32_f16_f32");
    assert_selected(&caps, VKF_OP_GEMM, fbf, problem, "gemm_tile.f32_bf16p_f32");
    const vkf__selector selector = {.caps = &caps, .forced = "gemm_coopmat"};
    assert_false(vkf__variant_serves(&selector, rounding.kernel, rounding.config, &problem, &why));
    assert_non_null(strstr(why, "precision"));
    problem.precision = VKF_PRECISION_F16;
    assert_selected(&caps, VKF_OP_GEMM, fhf, problem, "gemm_coopmat.f32_f16_f32/64x64");
    assert_selected(&caps, VKF_OP_GEMM, fbf, problem, "gemm_coopmat.f32_bf16_f32/64x64");
}

// The matrices with sums in f32, and the same shape with sums in f16.
static vkf__caps half_sum_caps(void)
{
    vkf__caps caps = matrix_caps();
    vkf__matrix_shape *half = &caps.matrix.shapes[caps.matrix.shape_count++];
    *half = caps.matrix.shapes[0];
    half->c_type = half->result_type = (uint32_t)VK_COMPONENT_TYPE_FLOAT16_KHR;
    caps.traits.cores = 16;
    caps.traits.matrices_prefer_half_sums = true;
    return caps;
}

// Flexible matrices of the same sizes with sums in f16.
static void add_flexible_half_sums(vkf__caps *caps)
{
    const uint32_t listed = caps->matrix.flexible_count;
    for (uint32_t i = 0; i < listed; i++) {
        vkf__matrix_shape *half = &caps->matrix.flexible[caps->matrix.flexible_count++];
        *half = caps->matrix.flexible[i];
        half->c_type = half->result_type = (uint32_t)VK_COMPONENT_TYPE_FLOAT16_KHR;
    }
}

// Even ahead of matrices of a workgroup; and only where they are faster, allowed and listed.
static void test_matrix_gemm_sums_in_f16(void **state)
{
    (void)state;
    vkf__caps caps = half_sum_caps();
    const vkf__variant half = variant_named("gemm_coopmat_half.f16_f16_f16", "128x128");
    vkf__problem problem = {.m = 512, .n = 512, .k = 64, .precision = VKF_PRECISION_F16_SUMS};
    assert_selected(&caps, VKF_OP_GEMM, hhh, problem, "gemm_coopmat_half.f16_f16_f16/128x128");
    assert_selected(&caps, VKF_OP_GEMM, fhf, problem, "gemm_coopmat_half.f32_f16_f32/128x128");
    assert_true(vkf__kernel_takes(&caps, half.kernel, half.config, &problem));
    problem.precision = VKF_PRECISION_F16;
    assert_false(vkf__kernel_takes(&caps, half.kernel, half.config, &problem));
    assert_selected(&caps, VKF_OP_GEMM, hhh, problem, "gemm_coopmat2.f16_f16_f16");
    problem.precision = VKF_PRECISION_F16_SUMS;
    caps.traits.matrices_prefer_half_sums = false;
    assert_selected(&caps, VKF_OP_GEMM, hhh, problem, "gemm_coopmat2.f16_f16_f16");
    caps = half_sum_caps();
    caps.matrix.shape_count--;
    assert_selected(&caps, VKF_OP_GEMM, hhh, problem, "gemm_coopmat2.f16_f16_f16");
}

// Matrices of a workgroup with such sums are ahead of those of a subgroup, as those with sums in f32 are.
static void test_matrix_gemm_sums_in_f16_in_a_workgroup(void **state)
{
    (void)state;
    vkf__caps caps = half_sum_caps();
    const vkf__problem problem = {.m = 512, .n = 512, .k = 64, .precision = VKF_PRECISION_F16_SUMS};
    const uint32_t listed = caps.matrix.flexible_count;
    add_flexible_half_sums(&caps);
    assert_selected(&caps, VKF_OP_GEMM, hhh, problem, "gemm_coopmat2_half.f16_f16_f16/128x128");
    assert_selected(&caps, VKF_OP_GEMM, fhf, problem, "gemm_coopmat2_half.f32_f16_f32/128x128");
    caps.traits.cores = 65; // one more than there are tiles of 64 x 64
    assert_selected(&caps, VKF_OP_GEMM, hhh, problem, "gemm_coopmat_half.");
    caps.traits.cores = 16;
    caps.traits.matrices_prefer_half_sums = false;
    assert_selected(&caps, VKF_OP_GEMM, hhh, problem, "gemm_coopmat2.");
    caps.traits.matrices_prefer_half_sums = true;
    for (uint32_t i = 0; i < listed; i++) // the sums end in f32
        caps.matrix.flexible[i].k = 3;
    assert_selected(&caps, VKF_OP_GEMM, hhh, problem, "gemm_coopmat_half.");
}

// Without matrices, for more than a few rows, where halves are faster than floats.
static void test_gemm_sums_in_f16_without_matrices(void **state)
{
    (void)state;
    vkf__caps caps = discrete_caps();
    vkf__problem problem = {.m = 512, .n = 512, .k = 64, .precision = VKF_PRECISION_F16_SUMS};
    caps.traits.halves_outrun_floats = true;
    assert_selected(&caps, VKF_OP_GEMM, hhh, problem, "gemm_half.f16_f16_f16");
    assert_selected(&caps, VKF_OP_GEMM, hhf, problem, "gemm_half.f16_f16_f32");
    assert_selected(&caps, VKF_OP_GEMM, fhf, problem, "gemm_half.f32_f16_f32");
    assert_selected(&caps, VKF_OP_GEMM, fff, problem, "gemm_tile.f32_f32_f32");
    problem.precision = VKF_PRECISION_F16;
    assert_selected(&caps, VKF_OP_GEMM, hhh, problem, "gemm_tile.f16_f16_f16");
    problem = (vkf__problem){.m = 8, .n = 512, .k = 64, .precision = VKF_PRECISION_F16_SUMS};
    assert_selected(&caps, VKF_OP_GEMM, hhh, problem, "gemv");
    problem.m = 9;
    assert_selected(&caps, VKF_OP_GEMM, hhh, problem, "gemm_half.f16_f16_f16/small");
    caps.shader_float16 = false;
    assert_selected(&caps, VKF_OP_GEMM, hhh, problem, "gemm_tile.f16_f16_f16");
    caps.shader_float16 = true;
    caps.traits.halves_outrun_floats = false;
    assert_selected(&caps, VKF_OP_GEMM, hhh, problem, "gemm_tile.f16_f16_f16");
    add_matrices(&caps, 16);
    caps.traits.halves_outrun_floats = true;
    assert_selected(&caps, VKF_OP_GEMM, hhh, problem, "gemm_coopmat.f16_f16_f16");
}

static void test_matrix_gemm_not_on_processors(void **state)
{
    (void)state;
    vkf__caps caps = cpu_caps();
    vkf__variant variant;
    const vkf__problem problem = {.m = 512, .n = 512, .k = 64};
    add_matrices(&caps, 8);
    assert_selected(&caps, VKF_OP_GEMM, hhh, problem, "gemm_tile.");
    const vkf__selector forced = {.caps = &caps, .forced = "gemm_coopmat.f16_f16_f16/32x32"};
    assert_true(vkf__select(&forced, VKF_OP_GEMM, hhh, &problem, &variant, NULL));
    assert_string_equal(variant.kernel->name, "gemm_coopmat.f16_f16_f16");
    assert_string_equal(variant.config->name, "32x32");
}

// A weight in blocks, too; without block loads, matrices of a subgroup take it.
static void test_matrix_gemm_of_blocks_in_a_workgroup(void **state)
{
    (void)state;
    vkf__caps caps = half_sum_caps();
    vkf__problem problem = {.m = 512, .n = 512, .k = 64, .b_layout = VKF_GEMM_B_PANELS, .precision = VKF_PRECISION_F16};
    add_flexible_half_sums(&caps);
    assert_selected(&caps, VKF_OP_GEMM, hqh, problem, "gemm_coopmat2_blocks.f16_q4_f16/128x128");
    problem.precision = VKF_PRECISION_F16_SUMS;
    assert_selected(&caps, VKF_OP_GEMM, hqh, problem, "gemm_coopmat2_half_blocks.f16_q4_f16/128x128");
    assert_selected(&caps, VKF_OP_GEMM, fqf, problem, "gemm_coopmat2_half_blocks.f32_q4_f32/128x128");
    caps.matrix.block_loads = false;
    assert_selected(&caps, VKF_OP_GEMM, hqh, problem, "gemm_coopmat_blocks.");
}

static void test_matrix_usable_says_why(void **state)
{
    (void)state;
    const vkf__caps good = matrix_caps();
    const vkf__variant plain = variant_named("gemm_coopmat.f16_f16_f32", "32x32");
    const vkf__variant bf16 = variant_named("gemm_coopmat.f32_bf16_f32", "32x32");
    const vkf__variant tensor = variant_named("gemm_coopmat2.f32_f16_f32", "128x256");
    const vkf__variant element = variant_named("gemm_coopmat2_element.f16_f16_f16", "16x32");
    const vkf__variant blocks = variant_named("gemm_coopmat2_blocks.f16_q4_f16", "128x128");
    const vkf__variant reduced = variant_named("attention_coopmat2.f16_f16_f16", "rows16");
    const char *why = NULL;
#define REFUSED(variant, field, value, part)                                             \
    do {                                                                                 \
        vkf__caps caps = good;                                                           \
        assert_true(vkf__kernel_supported(&caps, variant.kernel, variant.config, &why)); \
        caps.field = (value);                                                            \
        if (vkf__kernel_supported(&caps, variant.kernel, variant.config, &why))          \
            fail_msg("%s is usable in spite of %s", #variant, #field);                   \
        if (!strstr(why, part))                                                          \
            fail_msg("%s: \"%s\" does not say \"%s\"", #field, why, part);               \
    } while (0)
    REFUSED(plain, matrix.cooperative_matrix, false, "cooperative matrices");
    REFUSED(plain, vulkan_memory_model, false, "memory model");
    REFUSED(plain, shader_float16, false, "16-bit floats");
    REFUSED(plain, matrix.shape_count, 0, "lists no matrices");
    REFUSED(plain, matrix.shapes[0].k, 32, "no multiples");
    REFUSED(plain, matrix.shapes[0].m, 24, "no multiples");
    REFUSED(plain, subgroup_size, 16, "subgroups");
    REFUSED(plain, max_workgroup_subgroups, 3, "subgroups");
    REFUSED(plain, max_workgroup_invocations, 127, "workgroup");
    REFUSED(plain, max_shared_memory_bytes, 6000, "shared memory");
    REFUSED(bf16, matrix.bfloat16, false, "bfloat16");
    REFUSED(bf16, matrix.shapes[1].m, 12, "lists no matrices");
    REFUSED(element, api_version, VK_API_VERSION_1_2, "Vulkan 1.3");
    REFUSED(element, maintenance4, false, "maintenance4");
    REFUSED(element, matrix.flexible_dimensions, false, "any size");
    REFUSED(element, matrix.per_element_operations, false, "per-element");
    REFUSED(element, matrix.flexible[0].n, 64, "lists no matrices");
    REFUSED(element, storage_16bit, false, "16-bit values");
    REFUSED(reduced, api_version, VK_API_VERSION_1_2, "Vulkan 1.3");
    REFUSED(reduced, matrix.per_element_operations, false, "per-element");
    REFUSED(reduced, matrix.reductions, false, "reductions");
    REFUSED(reduced, matrix.conversions, false, "conversions");
    REFUSED(reduced, subgroup_arithmetic, false, "subgroup arithmetic");
    REFUSED(reduced, matrix.shapes[0].k, 8, "as tall as");
    REFUSED(reduced, matrix.shapes[0].m, 24, "no multiples");
    REFUSED(tensor, matrix.tensor_addressing, false, "tensor addressing");
    REFUSED(tensor, matrix.workgroup_scope, false, "workgroup");
    REFUSED(tensor, matrix.conversions, false, "conversions");
    REFUSED(tensor, matrix.workgroup_scope_max_invocations, 128, "larger workgroup");
    REFUSED(tensor, matrix.workgroup_scope_reserved_bytes, 65536, "shared memory");
    REFUSED(tensor, matrix.flexible[2].workgroup_invocations, 512, "lists no matrices");
    REFUSED(tensor, matrix.flexible_max_dimension, 128, "lists no matrices");
    REFUSED(blocks, matrix.block_loads, false, "blocks");
    REFUSED(blocks, buffer_device_address, false, "addresses");
#undef REFUSED
}

// Ahead of kernels on listed shapes, which leave parts of a split product, and serve where matrices have no tensor
// addressing or where smaller tiles are wanted.
static void test_matrix_rank_of_tensor_addressing(void **state)
{
    (void)state;
    vkf__caps caps = matrix_caps();
    const vkf__problem problem = {.m = 512, .n = 512, .k = 64};
    caps.traits.cores = 4;
    assert_selected(&caps, VKF_OP_GEMM, hhh, problem, "gemm_coopmat2.f16_f16_f16/128x256");
    caps.traits.cores = 65; // one more than there are tiles of 64 x 64
    assert_selected(&caps, VKF_OP_GEMM, hhh, problem, "gemm_coopmat.");
    caps.traits.cores = 4;
    const vkf__problem parts = {.m = 512, .n = 512, .k = 64, .wants = VKF_FORM_SPLIT, .parts = 2};
    assert_selected(&caps, VKF_OP_GEMM, hhf, parts, "gemm_coopmat.f16_f16_f32/");
    const vkf__caps_matrix listed = caps.matrix;
    caps.matrix.tensor_addressing = false;
    assert_selected(&caps, VKF_OP_GEMM, hhh, problem, "gemm_coopmat.");
    caps.matrix = listed;
    caps.matrix.shape_count = 0;
    assert_selected(&caps, VKF_OP_GEMM, hhh, problem, "gemm_coopmat2.f16_f16_f16/128x256");
    caps.matrix.tensor_addressing = false;
    assert_selected(&caps, VKF_OP_GEMM, hhh, problem, "gemm_tile.");
}

// Each config takes, of the shapes that a device lists, the largest that divides its tile: some list wide ones that fit
// no tile, and their small ones serve.
static void test_matrix_shape_by_config(void **state)
{
    (void)state;
    vkf__caps caps = matrix_caps();
    const vkf__variant small = variant_named("gemm_coopmat.f16_f16_f16", "32x32");
    const vkf__variant large = variant_named("gemm_coopmat.f16_f16_f16", "128x128");
    vkf__matrix_shape *shapes = caps.matrix.shapes;
    const vkf__matrix_shape listed = shapes[0];
    shapes[0].m = 64;
    shapes[0].n = 128;
    shapes[0].k = 16;
    const char *why = NULL;
    assert_false(vkf__kernel_supported(&caps, large.kernel, large.config, &why));
    assert_non_null(strstr(why, "no multiples"));
    shapes[caps.matrix.shape_count] = listed;
    shapes[caps.matrix.shape_count].m = shapes[caps.matrix.shape_count].n = 32;
    shapes[caps.matrix.shape_count + 1] = listed;
    caps.matrix.shape_count += 2;
    assert_int_equal(vkf__matrix_shape_of(&caps, small.kernel, small.config)->m, 16);
    assert_int_equal(vkf__matrix_shape_of(&caps, large.kernel, large.config)->m, 32);
    assert_true(vkf__kernel_supported(&caps, large.kernel, large.config, &why));
}

// RDNA runs kernels by matrices in subgroups of 32, though it reports 64.
static void test_matrix_subgroup_size(void **state)
{
    (void)state;
    vkf__caps caps = matrix_caps();
    const vkf__variant large = variant_named("gemm_coopmat.f16_f16_f16", "128x128");
    caps.subgroup_size = caps.max_subgroup_size = 64;
    settle_traits(&caps);
    assert_int_equal(vkf__variant_local_size(&caps, &large), 8 * 64);
    caps.vendor_id = 0x1002;
    settle_traits(&caps);
    assert_int_equal(vkf__variant_local_size(&caps, &large), 8 * 32);
    caps.min_subgroup_size = 64; // GCN
    settle_traits(&caps);
    assert_int_equal(vkf__variant_local_size(&caps, &large), 8 * 64);
    caps.min_subgroup_size = 32;
    caps.subgroup_size_control = false;
    settle_traits(&caps);
    assert_int_equal(vkf__variant_local_size(&caps, &large), 8 * 64);
}

static void test_matrix_spec(void **state)
{
    (void)state;
    vkf__caps caps = matrix_caps();
    const vkf__variant gemm = variant_named("gemm_coopmat.f16_f16_f16", "64x64");
    const vkf__variant attention = variant_named("attention_coopmat.f16_f16_f16", "rows16");
    const uint32_t flags[VKF_KERNEL_MAX_SPEC] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 99, 99, 99};
    const uint32_t gemm_spec[] = {4 * 32, 64, 64, 32, 32, 32, 6, 7, 8, 9, 10, 11, 16, 8, 32};
    const uint32_t attention_spec[] = {4 * 64, 16, 32, 4, 0, 5, 6, 7, 8, 9, 10, 11, 12, 13, 16, 8, 32};
    uint32_t spec[VKF_KERNEL_MAX_SPEC];
    caps.matrix.shapes[0].n = 8;
    caps.matrix.shapes[0].k = 32;
    vkf__variant_spec(&caps, &gemm, flags, spec);
    assert_int_equal(gemm.kernel->spec_count, VKF_GEMM_COOPMAT_SPEC_COUNT);
    assert_memory_equal(spec, gemm_spec, sizeof gemm_spec);
    caps.subgroup_size = 64;
    vkf__variant_spec(&caps, &attention, flags, spec);
    assert_int_equal(attention.kernel->spec_count, VKF_ATTENTION_COOPMAT_SPEC_COUNT);
    assert_memory_equal(spec, attention_spec, sizeof attention_spec);
    assert_int_equal(vkf__variant_local_size(&caps, &attention), 256);
}

// By the formulas at the heads of the shaders.
static void test_matrix_shared_bytes(void **state)
{
    (void)state;
    const vkf__caps caps = matrix_caps();
    const vkf__problem wide = {.m = 64, .n = 64, .k = 100};
    const vkf__variant large = variant_named("gemm_coopmat.f16_f16_f16", "128x128w");
    const vkf__variant attention = variant_named("attention_coopmat.f16_f16_f16", "rows16");
    const vkf__variant reduced = variant_named("attention_coopmat2.f16_f16_f16", "rows16");
    assert_int_equal(vkf__variant_shared_bytes(&caps, &large, NULL), 16 * 2 * (128 * 5 + 128 * 5));
    assert_int_equal(vkf__variant_shared_bytes(&caps, &attention, &wide), 16 * (32 * 15 + 7 * 81 + 4 * 16 * 9) + 4);
    assert_int_equal(vkf__variant_shared_bytes(&caps, &attention, NULL), 16 * (32 * 3 + 81 + 4 * 16 * 9) + 4);
    assert_int_equal(vkf__variant_shared_bytes(&caps, &reduced, &wide), 16 * (32 * 15 + 7 * 81));
    assert_int_equal(vkf__variant_shared_bytes(&caps, &reduced, NULL), 16 * 4 * 16 * 5); // the lines are more
}

static void test_matrix_attention_by_width(void **state)
{
    (void)state;
    vkf__caps caps = matrix_caps();
    vkf__problem problem = {.m = 512, .n = 512, .k = 64};
    caps.matrix.reductions = false;
    assert_selected(&caps, VKF_OP_ATTENTION, hhh, problem, "attention_coopmat.f16_f16_f16/rows32");
    problem.m = 40;
    assert_selected(&caps, VKF_OP_ATTENTION, hhf, problem, "attention_coopmat.f16_f16_f32/rows16");
    problem.k = 128;
    assert_selected(&caps, VKF_OP_ATTENTION, hhh, problem, "attention_coopmat.f16_f16_f16/rows16");
    const vkf__variant narrow = variant_named("attention_coopmat.f16_f16_f16", "rows32");
    const vkf__variant wide = variant_named("attention_coopmat.f16_f16_f16", "rows16");
    assert_false(vkf__kernel_takes(&caps, narrow.kernel, narrow.config, &problem));
    problem.k = 144; // 16 rows of 72 + 144 registers are more than 96 of 32 lanes
    assert_false(vkf__kernel_takes(&caps, wide.kernel, wide.config, &problem));
    caps.type = VKF_DEVICE_TYPE_CPU;
    settle_traits(&caps);
    assert_true(vkf__kernel_takes(&caps, wide.kernel, wide.config, &problem));
    caps.max_shared_memory_bytes = 16 * (32 * 19 + 9 * 81 + 4 * 16 * 9) + 4;
    assert_true(vkf__kernel_takes(&caps, wide.kernel, wide.config, &problem));
    caps.max_shared_memory_bytes--;
    assert_false(vkf__kernel_takes(&caps, wide.kernel, wide.config, &problem));
    assert_true(vkf__kernel_supported(&caps, wide.kernel, wide.config, NULL));
}

// Where the softmax can stay in registers, for as many rows.
static void test_matrix_attention_by_reductions(void **state)
{
    (void)state;
    vkf__caps caps = matrix_caps();
    vkf__problem problem = {.m = 512, .n = 512, .k = 64};
    assert_selected(&caps, VKF_OP_ATTENTION, hhh, problem, "attention_coopmat2.f16_f16_f16/rows32");
    assert_selected(&caps, VKF_OP_ATTENTION, hhf, problem, "attention_coopmat2.f16_f16_f32/rows32");
    problem.k = 128;
    assert_selected(&caps, VKF_OP_ATTENTION, hhh, problem, "attention_coopmat2.f16_f16_f16/rows16");
    problem.m = 2047;
    assert_selected(&caps, VKF_OP_ATTENTION, hhh, problem, "attention_coopmat2.f16_f16_f16/rows16");
    problem.m = 2048;
    assert_selected(&caps, VKF_OP_ATTENTION, hhh, problem, "attention_coopmat2.f16_f16_f16/rows16x8");
    caps.matrix.shapes[0].k = 8; // sums could be no factors
    assert_selected(&caps, VKF_OP_ATTENTION, hhh, problem, "attention_coopmat.f16_f16_f16/rows16");
    problem.m = 8;
    assert_selected(&caps, VKF_OP_ATTENTION, hhh, problem, "attention_tiled.");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_matrix_gemm_by_shape),
        cmocka_unit_test(test_matrix_gemm_rounds_where_allowed_alone),
        cmocka_unit_test(test_matrix_gemm_sums_in_f16),
        cmocka_unit_test(test_matrix_gemm_sums_in_f16_in_a_workgroup),
        cmocka_unit_test(test_matrix_gemm_of_blocks_in_a_workgroup),
        cmocka_unit_test(test_gemm_sums_in_f16_without_matrices),
        cmocka_unit_test(test_matrix_gemm_not_on_processors),
        cmocka_unit_test(test_matrix_usable_says_why),
        cmocka_unit_test(test_matrix_rank_of_tensor_addressing),
        cmocka_unit_test(test_matrix_shape_by_config),
        cmocka_unit_test(test_matrix_subgroup_size),
        cmocka_unit_test(test_matrix_spec),
        cmocka_unit_test(test_matrix_shared_bytes),
        cmocka_unit_test(test_matrix_attention_by_width),
        cmocka_unit_test(test_matrix_attention_by_reductions),
    };
    return cmocka_run_group_tests_name("select_matrix", tests, NULL, NULL);
}
