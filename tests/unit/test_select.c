// Which kernel serves a problem, on devices written by hand.
#include "kernel/select.h"
#include "kernel/variant_hash.h"
#include "shared/gemm.h"

#include "caps_fixture.h"

static const vkf_dtype fff[] = {VKF_DTYPE_F32, VKF_DTYPE_F32, VKF_DTYPE_F32};
static const vkf_dtype fhf[] = {VKF_DTYPE_F32, VKF_DTYPE_F16, VKF_DTYPE_F32};
static const vkf_dtype hhh[] = {VKF_DTYPE_F16, VKF_DTYPE_F16, VKF_DTYPE_F16};

static void assert_selected(const vkf__caps *caps, const vkf__tuned *tuned, vkf__op op, const vkf_dtype *types,
                            vkf__problem problem, const char *kernel, const char *config)
{
    vkf__variant variant = {0};
    const vkf__selector selector = {.caps = caps, .tuned = tuned};
    assert_true(vkf__select(&selector, op, types, &problem, &variant, NULL));
    if (strcmp(variant.kernel->name, kernel) != 0 || strcmp(variant.config->name, config) != 0)
        fail_msg("%u x %u x %u gives %s/%s, expected %s/%s", problem.m, problem.n, problem.k, variant.kernel->name,
                 variant.config->name, kernel, config);
}

static const vkf__kernel *kernel_named(const char *name)
{
    for (uint32_t i = 0; i < vkf__kernel_count(); i++) {
        if (strcmp(vkf__kernel_at(i)->name, name) == 0)
            return vkf__kernel_at(i);
    }
    fail_msg("no kernel %s", name);
    return NULL;
}

// A subgroup holds as much of a row as its invocations have registers for, and only one whose size is told.
static void test_select_norm_gradients(void **state)
{
    (void)state;
    static const struct {
        uint32_t registers, least_size, longest; // 0: none
    } rows[] = {{256, 32, 512}, {255, 32, 256}, {128, 32, 256}, {127, 32, 128},
                {64, 16, 64},   {256, 4, 64},   {256, 0, 0}};
    vkf__caps caps = discrete_caps();
    settle_traits(&caps);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const vkf__selector selector = {.caps = &caps};
        vkf__variant variant;
        caps.traits.registers = rows[i].registers;
        caps.least_subgroup_size = rows[i].least_size;
        for (uint32_t n = rows[i].longest > 0 ? rows[i].longest : 1; n <= rows[i].longest + 1; n++)
            if (vkf__select(&selector, VKF_OP_NORM_GRADIENTS, fff, &(vkf__problem){.m = 8, .n = n}, &variant, NULL) !=
                (n <= rows[i].longest))
                fail_msg("%u columns, %u registers, subgroups of %u", n, rows[i].registers, rows[i].least_size);
    }
}

// What takes more registers than there are is left out, and other devices do not take what stands for it. Either may
// be asked for.
static void test_select_by_registers(void **state)
{
    (void)state;
    static const struct {
        uint32_t registers;
        const char *forced;
        uint32_t m;
        const char *config;
    } rows[] = {
        {256, NULL, 256, "large"},
        {96, NULL, 256, "large"},
        {64, NULL, 256, "64x64x256"},
        {256, NULL, 2048, "128x128"},
        {64, NULL, 2048, "64x64x256"},
        {64, NULL, 32, "small"},
        {64, "gemm_tile.f32_f32_f32/large", 512, "large"},
        {256, "gemm_tile.f32_f32_f32/64x64x256", 512, "64x64x256"},
        {64, "gemm_tile.f32_f32_f32/64x64", 512, "64x64"}, // which another one's name begins with
        {256, "gemm_tile.f32_f32_f32/128x6", 512, "128x64"},
    };
    vkf__caps caps = discrete_caps();
    settle_traits(&caps);
    caps.traits.cores = 32;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        caps.traits.registers = rows[i].registers;
        const vkf__selector selector = {.caps = &caps, .forced = rows[i].forced};
        const vkf__problem problem = {.m = rows[i].m, .n = 512, .k = 64};
        vkf__variant variant;
        assert_true(vkf__select(&selector, VKF_OP_GEMM, fff, &problem, &variant, NULL));
        assert_string_equal(variant.config->name, rows[i].config);
    }
}

// Tiles by the cores of the device: the cheapest of those that give each core one, or else the smallest. Up to eight
// rows have kernels of their own.
static void test_select_gemm_config_by_cores(void **state)
{
    (void)state;
    static const struct {
        uint32_t cores, m, n;
        const char *kernel;
        const char *config;
    } rows[] = {
        {64, 1, 512, "gemv_columns.f32_f32_f32", "rows1"},
        {64, 8, 512, "gemv_columns.f32_f32_f32", "rows8"},
        {64, 8, 1, "gemv_columns.f32_f32_f32", "rows8"},
        {64, 9, 512, "gemm_tile.f32_f32_f32", "small"},
        {64, 512, 511, "gemm_tile.f32_f32_f32", "large"}, // 64 of them
        {65, 512, 511, "gemm_tile.f32_f32_f32", "small"},
        {64, 1024, 1024, "gemm_tile.f32_f32_f32", "128x128"},
        {65, 1024, 1024, "gemm_tile.f32_f32_f32", "large"},
        {2, 100, 100, "gemm_tile.f32_f32_f32", "large"},
        {5, 100, 100, "gemm_tile.f32_f32_f32", "small"},
        {1, 100, 100, "gemm_tile.f32_f32_f32", "128x128"},
        {1, 40, 47, "gemm_tile.f32_f32_f32", "large"},
        {1, 32, 47, "gemm_tile.f32_f32_f32", "small"},
        {1000000, 100, 100, "gemm_tile.f32_f32_f32", "small"},
        {64, UINT32_MAX, UINT32_MAX, "gemm_tile.f32_f32_f32", "128x128"},
    };
    vkf__caps caps = discrete_caps();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        caps.traits.cores = rows[i].cores;
        assert_selected(&caps, NULL, VKF_OP_GEMM, fff, (vkf__problem){.m = rows[i].m, .n = rows[i].n, .k = 64},
                        rows[i].kernel, rows[i].config);
    }
    // Products side by side count, and what was measured on the device overrules what its driver tells.
    caps.traits.cores = 64;
    assert_selected(&caps, NULL, VKF_OP_GEMM, fff, (vkf__problem){.m = 128, .n = 128, .k = 64, .batch = 16},
                    "gemm_tile.f32_f32_f32", "large");
    const vkf__selector measured = {.caps = &caps, .cores = 2};
    const vkf__problem problem = {.m = 100, .n = 100, .k = 64};
    vkf__variant variant;
    assert_true(vkf__select(&measured, VKF_OP_GEMM, fff, &problem, &variant, NULL));
    assert_string_equal(variant.config->name, "large");
}

// Where the driver tells how many subgroups a core holds, tiles have to keep it busy: with an eighth of these.
static void test_select_gemm_config_by_room(void **state)
{
    (void)state;
    static const struct {
        uint32_t core_subgroups, m, n;
        const char *config;
    } rows[] = {
        {0, 512, 512, "large"},   // one of 128 invocations for each core
        {32, 512, 512, "large"},  // which are all that a core needs
        {64, 512, 512, "small"},  // or half of it
        {64, 1024, 512, "large"}, // unless two come in turn
        {64, 1024, 1024, "128x128"}, {128, 1024, 1024, "large"},
    };
    vkf__caps caps = discrete_caps();
    caps.traits.cores = 64;
    caps.subgroup_size = 32;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        caps.core_subgroups = rows[i].core_subgroups;
        assert_selected(&caps, NULL, VKF_OP_GEMM, fff, (vkf__problem){.m = rows[i].m, .n = rows[i].n, .k = 64},
                        "gemm_tile.f32_f32_f32", rows[i].config);
    }
    // Two tiles of 128 by 128 side by side take more than 32 KiB of shared memory.
    caps.core_subgroups = 0;
    caps.max_shared_memory_bytes = 32768;
    const vkf__problem wide = {.m = 1024, .n = 1024, .k = 64};
    assert_selected(&caps, NULL, VKF_OP_GEMM, fff, wide, "gemm_tile.f32_f32_f32", "large");
    caps.max_shared_memory_bytes = 49152;
    assert_selected(&caps, NULL, VKF_OP_GEMM, fff, wide, "gemm_tile.f32_f32_f32", "128x128");
}

// Few rows: as many invocations as a core needs to have enough of b under way, but first a workgroup for each core.
static void test_select_few_rows_by_bytes_in_flight(void **state)
{
    (void)state;
    static const struct {
        vkf_device_type type;
        vkf_dtype b;
        uint32_t cores, m, n, k;
        const char *config;
    } rows[] = {
        {VKF_DEVICE_TYPE_DISCRETE, VKF_DTYPE_F16, 128, 1, 3072, 4096, "rows1x128"},
        {VKF_DEVICE_TYPE_DISCRETE, VKF_DTYPE_F16, 128, 1, 1024, 1024, "rows1x128"}, // its invocations have all of k
        {VKF_DEVICE_TYPE_DISCRETE, VKF_DTYPE_F16, 128, 1, 256, 4096, "rows1x128"},  // one in each core
        {VKF_DEVICE_TYPE_INTEGRATED, VKF_DTYPE_F16, 128, 1, 1024, 4096, "rows1x128"},
        {VKF_DEVICE_TYPE_DISCRETE, VKF_DTYPE_Q4, 128, 1, 28672, 4096, "rows1"},
        {VKF_DEVICE_TYPE_DISCRETE, VKF_DTYPE_Q4, 128, 1, 4096, 4096, "rows1x256"},
        {VKF_DEVICE_TYPE_DISCRETE, VKF_DTYPE_Q4, 128, 1, 1024, 4096, "rows1x256"}, // one in four cores alone
        {VKF_DEVICE_TYPE_DISCRETE, VKF_DTYPE_Q4, 128, 1, 4096, 256, "rows1"},      // a turn of 64 invocations
        {VKF_DEVICE_TYPE_INTEGRATED, VKF_DTYPE_Q4, 8, 1, 4096, 4096, "rows1"},
        {VKF_DEVICE_TYPE_DISCRETE, VKF_DTYPE_Q4, 128, 2, 28672, 4096, "rows2"},
        {VKF_DEVICE_TYPE_DISCRETE, VKF_DTYPE_Q4, 128, 2, 4096, 4096, "rows4x256"},
        {VKF_DEVICE_TYPE_DISCRETE, VKF_DTYPE_Q8, 128, 8, 28672, 4096, "rows8"},
        {VKF_DEVICE_TYPE_DISCRETE, VKF_DTYPE_Q8, 128, 8, 4096, 4096, "rows8x256"},
    };
    vkf__caps caps = discrete_caps();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const bool halves = rows[i].b == VKF_DTYPE_F16;
        const vkf_dtype types[] = {halves ? VKF_DTYPE_F16 : VKF_DTYPE_I32, rows[i].b, VKF_DTYPE_F16};
        const vkf__problem problem = {
            .m = rows[i].m, .n = rows[i].n, .k = rows[i].k, .b_layout = halves ? VKF_GEMM_B_NK : VKF_GEMM_B_PANELS};
        caps.type = rows[i].type;
        settle_traits(&caps);
        caps.traits.cores = rows[i].cores;
        assert_selected(&caps, NULL, VKF_OP_GEMM, types, problem,
                        halves                      ? "gemv_subgroup.f16_f16_f16"
                        : rows[i].b == VKF_DTYPE_Q8 ? "gemm_dot.i32_q8_f16"
                                                    : "gemm_dot.i32_q4_f16",
                        rows[i].config);
    }
}

// A processor takes what suits the shape, whatever its cores.
static void test_select_gemm_config_on_processors(void **state)
{
    (void)state;
    vkf__caps caps = cpu_caps();
    caps.traits.cores = 64;
    assert_selected(&caps, NULL, VKF_OP_GEMM, hhh, (vkf__problem){.m = 48, .n = 48, .k = 64}, "gemm_tile.f16_f16_f16",
                    "large");
    assert_selected(&caps, NULL, VKF_OP_GEMM, hhh, (vkf__problem){.m = 47, .n = 48, .k = 64}, "gemm_tile.f16_f16_f16",
                    "small");
}

// Rows in blocks: those of a few rows by a kernel of their own; cut in depth all by tiles. None without the feature.
static void test_select_integer_dot_products(void **state)
{
    (void)state;
    static const struct {
        uint32_t m;
        bool split;
        const char *kernel;
        const char *config;
    } rows[] = {
        {1, false, "gemm_dot.i32_q4_f32", "rows1x256"},   {3, false, "gemm_dot.i32_q4_f32", "rows4x256"},
        {8, false, "gemm_dot.i32_q4_f32", "rows8x256"},   {9, false, "gemm_dot_tile.i32_q4_f32", "small"},
        {64, false, "gemm_dot_tile.i32_q4_f32", "large"}, {4, true, "gemm_dot_tile.i32_q4_f32", "small"},
    };
    static const vkf_dtype types[] = {VKF_DTYPE_I32, VKF_DTYPE_Q4, VKF_DTYPE_F32};
    vkf__caps caps = discrete_caps();
    caps.traits.cores = 8;
    const vkf__selector selector = {.caps = &caps};
    vkf__problem problem = {.n = 512, .k = 512, .b_layout = VKF_GEMM_B_PANELS};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        problem.m = rows[i].m;
        problem.wants = rows[i].split ? VKF_FORM_SPLIT : 0;
        assert_selected(&caps, NULL, VKF_OP_GEMM, types, problem, rows[i].kernel, rows[i].config);
    }
    vkf__variant variant;
    caps.integer_dot = false;
    settle_traits(&caps);
    assert_false(vkf__select(&selector, VKF_OP_GEMM, types, &problem, &variant, NULL));
}

// What a processor that runs shaders is given for a weight in panels, by its traits.
static void test_select_weights_in_panels_on_processors(void **state)
{
    (void)state;
    const vkf__problem problem = {
        .m = 128, .n = 768, .k = 768, .b_layout = VKF_GEMM_B_PANELS, .offers = VKF_FORM_QUADS, .largest = 768 * 768};
    vkf__problem odd = problem;
    odd.offers = 0;
    vkf__caps caps = cpu_caps();
    caps.subgroup_size = 8;
    assert_selected(&caps, NULL, VKF_OP_GEMM, fff, problem, "gemm_texel_shuffle.f32_f32_f32", "32x4");
    vkf__problem few = problem;
    few.m = 2;
    assert_selected(&caps, NULL, VKF_OP_GEMM, fff, few, "gemm_texel_shuffle.f32_f32_f32", "rows8");
    few.m = 1; // nothing to share out
    assert_selected(&caps, NULL, VKF_OP_GEMM, fff, few, "gemm_texel.f32_f32_f32", "row");
    assert_selected(&caps, NULL, VKF_OP_GEMM, fff, odd, "gemm_direct.f32_f32_f32", "64x16");
    caps.subgroup_size = 4;
    assert_selected(&caps, NULL, VKF_OP_GEMM, fff, problem, "gemm_texel.f32_f32_f32", "16x16");
    caps.max_texel_elements = 65536;
    assert_selected(&caps, NULL, VKF_OP_GEMM, fff, problem, "gemm_direct.f32_f32_f32", "64x16");
    caps.matrix.cooperative_matrix = true;
    settle_traits(&caps);
    assert_selected(&caps, NULL, VKF_OP_GEMM, fff, problem, "gemm_address.f32_f32_f32", "64x64");
    // Halves: lanes along n, as long as there are 64-bit integers, and subgroups that a config was made for.
    assert_selected(&caps, NULL, VKF_OP_GEMM, fhf, problem, "gemm_address_n.f32_f16_f32", "32x32s4");
    caps.subgroup_size = 8;
    assert_selected(&caps, NULL, VKF_OP_GEMM, fhf, problem, "gemm_address_n.f32_f16_f32", "32x64");
    caps.subgroup_size = 16;
    assert_selected(&caps, NULL, VKF_OP_GEMM, fhf, problem, "gemm_address.f32_f16_f32", "128x64x4");
    caps.subgroup_size = 8;
    caps.shader_float16 = false;
    assert_selected(&caps, NULL, VKF_OP_GEMM, fhf, problem, "gemm_address.f32_f16_f32", "128x64x4");
    caps.shader_float16 = true;
    caps.shader_int64 = false;
    assert_selected(&caps, NULL, VKF_OP_GEMM, fhf, problem, "gemm_address.f32_f16_f32", "128x64x4");
    caps.buffer_device_address = false;
    assert_selected(&caps, NULL, VKF_OP_GEMM, fff, problem, "gemm_direct.f32_f32_f32", "64x16");
}

// The same for a weight in blocks: the kernels of weights in halves, taking the blocks apart, and those of storage
// buffers where there is no other.
static void test_select_weights_in_blocks_on_processors(void **state)
{
    (void)state;
    static const struct {
        uint32_t m, subgroup_size;
        const char *kernel;
        const char *config;
    } rows[] = {
        {1, 8, "gemm_texel_blocks.f32_q8_f32", "row"},
        {2, 8, "gemm_texel_shuffle_blocks.f32_q8_f32", "rows8"},
        {8, 8, "gemm_texel_shuffle_blocks.f32_q8_f32", "rows8"},
        {9, 8, "gemm_texel_shuffle_blocks.f32_q8_f32", "rows16"},
        {16, 8, "gemm_texel_shuffle_blocks.f32_q8_f32", "rows16"},
        {17, 8, "gemm_texel_shuffle_blocks.f32_q8_f32", "32x4"},
        {512, 8, "gemm_texel_shuffle_blocks.f32_q8_f32", "32x4"},
        {1, 4, "gemm_texel_blocks.f32_q8_f32", "row"},
        {4, 4, "gemm_texel_blocks.f32_q8_f32", "rows4"},
        {8, 4, "gemm_texel_blocks.f32_q8_f32", "rows8"},
        {9, 4, "gemm_texel_blocks.f32_q8_f32", "16x8"},
    };
    static const vkf_dtype types[] = {VKF_DTYPE_F32, VKF_DTYPE_Q8, VKF_DTYPE_F32};
    vkf__problem problem = {
        .n = 768, .k = 768, .b_layout = VKF_GEMM_B_PANELS, .offers = VKF_FORM_QUADS, .largest = 768 * 768};
    vkf__caps caps = cpu_caps();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        problem.m = rows[i].m;
        caps.subgroup_size = rows[i].subgroup_size;
        assert_selected(&caps, NULL, VKF_OP_GEMM, types, problem, rows[i].kernel, rows[i].config);
    }
    caps.max_texel_elements = 65536;
    assert_selected(&caps, NULL, VKF_OP_GEMM, types, problem, "gemm_blocks.f32_q8_f32", "16x32");
    caps.subgroup_size = 8;
    caps.matrix.cooperative_matrix = true;
    settle_traits(&caps);
    assert_selected(&caps, NULL, VKF_OP_GEMM, types, problem, "gemm_blocks_address.f32_q8_f32", "16x64");
    problem.offers = 0;
    assert_selected(&caps, NULL, VKF_OP_GEMM, types, problem, "gemm_tile_blocks.f32_q8_f32", "small");
    // No GPU takes what is made for processors, be it in rows of four elements or not.
    vkf__caps gpu = discrete_caps();
    gpu.integer_dot_accelerated = false;
    settle_traits(&gpu);
    problem.offers = VKF_FORM_QUADS;
    assert_selected(&gpu, NULL, VKF_OP_GEMM, types, problem, "gemm_tile_blocks.f32_q8_f32", "small");
    problem.m = 1;
    assert_selected(&gpu, NULL, VKF_OP_GEMM, types, problem, "gemm_blocks.f32_q8_f32", "rows1x256");
}

// Few rows are rounded by the product's kernel where dot products pay, rows begin at quads, and shared memory has room
// for two workgroups and for as many as bring enough bytes under way.
static void test_select_products_that_round_rows(void **state)
{
    (void)state;
    static const struct {
        uint32_t m, n, k, shared_bytes;
        bool quads, rounds;
    } rows[] = {
        {1, 4096, 4096, 65536, true, true},   {8, 4096, 512, 65536, true, true},   {9, 4096, 512, 65536, true, false},
        {1, 4096, 4096, 65536, false, false}, {1, 4096, 14336, 37888, true, true}, // just two of 18,944 bytes
        {1, 4096, 14336, 37887, true, false},                                      // one alone
        {4, 4096, 4096, 49152, true, true}, // just two of 24,576 bytes, and no core has more
        {4, 4096, 4096, 49151, true, false},
    };
    static const vkf_dtype types[] = {VKF_DTYPE_F32, VKF_DTYPE_Q4, VKF_DTYPE_F32};
    vkf__caps caps = discrete_caps();
    settle_traits(&caps);
    caps.traits.cores = 64;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const vkf__problem problem = {.m = rows[i].m,
                                      .n = rows[i].n,
                                      .k = rows[i].k,
                                      .b_layout = VKF_GEMM_B_PANELS,
                                      .offers = rows[i].quads ? VKF_FORM_QUADS : 0};
        const vkf__selector selector = {.caps = &caps};
        vkf__variant variant;
        caps.max_shared_memory_bytes = rows[i].shared_bytes;
        assert_true(vkf__select(&selector, VKF_OP_GEMM, types, &problem, &variant, NULL));
        if (variant.kernel->rounds_rows != rows[i].rounds)
            fail_msg("row %zu: %s/%s", i, variant.kernel->name, variant.config->name);
    }
}

// Where more workgroups wait than fit, those that fit have to keep as many bytes under way as a core waits for.
static void test_select_rounded_rows_by_bytes_in_flight(void **state)
{
    (void)state;
    static const vkf_dtype types[] = {VKF_DTYPE_F16, VKF_DTYPE_Q4, VKF_DTYPE_F16};
    const vkf__problem problem = {
        .m = 1, .n = 28672, .k = 4096, .b_layout = VKF_GEMM_B_PANELS, .offers = VKF_FORM_QUADS};
    vkf__caps caps = discrete_caps();
    settle_traits(&caps);
    caps.traits.cores = 64;
    const vkf__selector selector = {.caps = &caps};
    const uint32_t workgroup = 40 * 128 + 4 * 8 * 32, step = 64 * 32 * 4 * 18 / 32;
    vkf__variant variant;
    caps.max_shared_memory_bytes = 5 * workgroup; // room for five of rows1; of rows1x256 two have more than enough
    caps.traits.core_bytes_in_flight = 5 * step;
    assert_true(vkf__select(&selector, VKF_OP_GEMM, types, &problem, &variant, NULL));
    assert_string_equal(variant.config->name, "rows1");
    caps.traits.core_bytes_in_flight = 5 * step + 1;
    assert_true(vkf__select(&selector, VKF_OP_GEMM, types, &problem, &variant, NULL));
    assert_string_equal(variant.config->name, "rows1x256");
}

// A row that is normalised as it is rounded goes to as few workgroups as the device allows.
static void test_select_wide_workgroups_for_normalised_rows(void **state)
{
    (void)state;
    static const vkf_dtype types[] = {VKF_DTYPE_F16};
    vkf__caps caps = discrete_caps();
    vkf__problem problem = {.m = 1 << 16};
    assert_selected(&caps, NULL, VKF_OP_QUANTIZE_ROWS, types, problem, "quantize_rows.f16p", "flat128");
    problem.wants = VKF_FORM_NORMED;
    caps.max_workgroup_invocations = caps.max_workgroup_size_x = 1024;
    assert_selected(&caps, NULL, VKF_OP_QUANTIZE_ROWS, types, problem, "quantize_rows.f16p", "norm1024");
    caps.max_workgroup_invocations = 512;
    assert_selected(&caps, NULL, VKF_OP_QUANTIZE_ROWS, types, problem, "quantize_rows.f16p", "norm512");
    caps.max_workgroup_invocations = 128;
    assert_selected(&caps, NULL, VKF_OP_QUANTIZE_ROWS, types, problem, "quantize_rows.f16p", "flat128");
}

static void test_select_row_config_by_length(void **state)
{
    (void)state;
    static const struct {
        uint32_t n;
        const char *config;
    } rows[] = {{1, "row16"}, {63, "row16"}, {64, "row64"}, {1023, "row64"}, {1024, "row256"}};
    vkf__caps caps = discrete_caps();
    caps.subgroup_arithmetic = false;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_selected(&caps, NULL, VKF_OP_SOFTMAX, fff, (vkf__problem){.m = 10, .n = rows[i].n, .k = 0},
                        "softmax.f32_f32", rows[i].config);
}

static void test_select_a_subgroup_for_rows_of_few_steps(void **state)
{
    (void)state;
    const vkf__problem few = {.m = 10, .n = 1024}, many = {.m = 10, .n = 1025};
    vkf__caps caps = discrete_caps();
    assert_selected(&caps, NULL, VKF_OP_SOFTMAX, fff, few, "softmax_subgroup.f32_f32", "rows64");
    assert_selected(&caps, NULL, VKF_OP_SOFTMAX, fff, many, "softmax.f32_f32", "row256");
    caps = cpu_caps();
    assert_selected(&caps, NULL, VKF_OP_LAYER_NORM, fff, many, "layer_norm_subgroup.f32_f32", "rows64");
}

static void test_select_smaller_workgroups_where_large_ones_are_not_allowed(void **state)
{
    (void)state;
    vkf__caps caps = discrete_caps();
    caps.traits.cores = 2;
    caps.max_workgroup_invocations = 128;
    assert_selected(&caps, NULL, VKF_OP_SOFTMAX, fff, (vkf__problem){.m = 10, .n = 5000, .k = 0}, "softmax.f32_f32",
                    "row64");
    assert_selected(&caps, NULL, VKF_OP_GEMM, fff, (vkf__problem){.m = 100, .n = 100, .k = 9}, "gemm_tile.f32_f32_f32",
                    "large");
    caps.max_workgroup_size_x = 64;
    assert_selected(&caps, NULL, VKF_OP_GEMM, fff, (vkf__problem){.m = 100, .n = 100, .k = 9}, "gemm_tile.f32_f32_f32",
                    "small");
    assert_selected(&caps, NULL, VKF_OP_COPY, fff, (vkf__problem){.m = 100, .n = 100, .k = 9}, "copy.f32_f32",
                    "flat64");
    caps.max_workgroup_size_x = 1024;
    caps.max_shared_memory_bytes = 8000; // the large tile takes 8320 bytes
    assert_selected(&caps, NULL, VKF_OP_GEMM, fff, (vkf__problem){.m = 100, .n = 100, .k = 9}, "gemm_tile.f32_f32_f32",
                    "small");
}

static void test_select_prefers_16bit_storage(void **state)
{
    (void)state;
    vkf__caps caps = discrete_caps();
    caps.traits.cores = 2;
    const vkf__problem problem = {.m = 100, .n = 100, .k = 100};
    assert_selected(&caps, NULL, VKF_OP_GEMM, fhf, problem, "gemm_tile.f32_f16_f32", "large");
    assert_selected(&caps, NULL, VKF_OP_GEMM, hhh, problem, "gemm_tile.f16_f16_f16", "large");
    caps.storage_16bit = false;
    assert_selected(&caps, NULL, VKF_OP_GEMM, fhf, problem, "gemm_tile.f32_f16p_f32", "large");
    assert_selected(&caps, NULL, VKF_OP_GEMM, hhh, problem, "gemm_tile.f16p_f16p_f16p", "large");
}

// bfloat16 parameters under f32 activations: products in any layout, norms, embeddings and copies, on every profile.
static void test_select_bfloat_parameters_on_every_profile(void **state)
{
    (void)state;
    static const vkf_dtype fbf[] = {VKF_DTYPE_F32, VKF_DTYPE_BF16, VKF_DTYPE_F32};
    static const vkf__op of_two[] = {VKF_OP_LAYER_NORM, VKF_OP_EMBED, VKF_OP_COPY};
    message_record record;
    vkf__host host = recording_host(&record);
    for (unsigned profile = 0; profile < VKF_CAPS_PROFILE_COUNT; profile++) {
        for (unsigned processor = 0; processor < 2; processor++) {
            vkf__caps caps = processor ? cpu_caps() : discrete_caps();
            vkf__variant variant;
            assert_int_equal(vkf__caps_limit(&host, &caps, (vkf_caps_profile)profile, NULL, 0), VKF_OK);
            const vkf__selector selector = {.caps = &caps};
            for (uint32_t m = 1; m <= 128; m *= 2) {
                for (uint32_t layout = VKF_GEMM_B_KN; layout <= VKF_GEMM_B_PANELS; layout++) {
                    const vkf__problem problem = {.m = m, .n = 64, .k = 48, .b_layout = layout};
                    assert_true(vkf__select(&selector, VKF_OP_GEMM, fbf, &problem, &variant, NULL));
                }
            }
            for (size_t i = 0; i < sizeof of_two / sizeof of_two[0]; i++) {
                const vkf__problem problem = {.m = 10, .n = 64};
                const vkf_dtype *types = of_two[i] == VKF_OP_LAYER_NORM ? fbf : fbf + 1;
                assert_true(vkf__select(&selector, of_two[i], types, &problem, &variant, NULL));
            }
        }
    }
}

static void test_select_unknown_types_are_refused(void **state)
{
    (void)state;
    const vkf__caps caps = discrete_caps();
    const vkf_dtype types[] = {VKF_DTYPE_BOOL, VKF_DTYPE_BOOL, VKF_DTYPE_BOOL};
    const vkf__problem problem = {.m = 1, .n = 1, .k = 1};
    vkf__variant variant = {0};
    for (vkf__op op = 0; op < VKF_OP_COUNT; op++)
        assert_false(vkf__select(&(vkf__selector){.caps = &caps}, op, types, &problem, &variant, NULL));
    assert_null(variant.kernel);
}

static void test_select_device_without_any_config(void **state)
{
    (void)state;
    vkf__caps caps = discrete_caps();
    caps.traits.cores = 2;
    const vkf__problem problem = {.m = 100, .n = 100, .k = 100};
    vkf__variant variant = {0};
    caps.max_workgroup_invocations = 8;
    assert_false(vkf__select(&(vkf__selector){.caps = &caps}, VKF_OP_GEMM, fff, &problem, &variant, NULL));
    caps = discrete_caps();
    caps.max_storage_buffers = 3;
    assert_false(vkf__select(&(vkf__selector){.caps = &caps}, VKF_OP_GEMM, fff, &problem, &variant, NULL));
}

// The last argument names what was measured for (m class, n, k): "kernel/config".
static void add_tuned(vkf__tuned *tuned, vkf__op op, const vkf_dtype *types, vkf__problem problem, double median_us,
                      const char *variant)
{
    message_record record;
    vkf__host host = recording_host(&record);
    const vkf__kernel *kernel = NULL;
    const vkf__config *config = NULL;
    assert_true(vkf__variant_named(variant, strlen(variant), &kernel, &config));
    vkf__tuned_entry entry = {
        .op = op,
        .type_count = kernel->type_count,
        .m_class = vkf__tuned_m_class(problem.m),
        .n = problem.n,
        .k = problem.k,
        .panels = problem.b_layout == VKF_GEMM_B_PANELS,
        .kernel = vkf__kernel_index(kernel),
        .config = (uint32_t)(config - kernel->configs),
        .median_us = median_us,
    };
    memcpy(entry.types, types, kernel->type_count * sizeof types[0]);
    assert_int_equal(vkf__tuned_put(&host, tuned, &entry), VKF_OK);
}

static void free_table(vkf__tuned *tuned)
{
    message_record record;
    vkf__host host = recording_host(&record);
    vkf__tuned_free(&host, tuned);
}

static void test_select_tuned_entry_overrides(void **state)
{
    (void)state;
    vkf__caps caps = discrete_caps();
    vkf__tuned tuned = {0};
    caps.traits.cores = 2;
    add_tuned(&tuned, VKF_OP_GEMM, fff, (vkf__problem){.m = 128, .n = 100, .k = 64}, 1, "gemm_tile.f32_f32_f32/small");
    add_tuned(&tuned, VKF_OP_GEMM, fhf, (vkf__problem){.m = 999, .n = 100, .k = 64}, 1, "gemm_tile.f32_f16_f32/small");
    add_tuned(&tuned, VKF_OP_SOFTMAX, fff, (vkf__problem){.m = 8, .n = 2000}, 1, "softmax.f32_f32/row256");
    assert_selected(&caps, &tuned, VKF_OP_GEMM, fff, (vkf__problem){.m = 100, .n = 100, .k = 64},
                    "gemm_tile.f32_f32_f32", "small");
    assert_selected(&caps, &tuned, VKF_OP_GEMM, fff, (vkf__problem){.m = 128, .n = 100, .k = 64},
                    "gemm_tile.f32_f32_f32", "small");
    assert_selected(&caps, &tuned, VKF_OP_GEMM, fff, (vkf__problem){.m = 129, .n = 100, .k = 64},
                    "gemm_tile.f32_f32_f32", "large");
    assert_selected(&caps, &tuned, VKF_OP_GEMM, fff, (vkf__problem){.m = 100, .n = 101, .k = 64},
                    "gemm_tile.f32_f32_f32", "large");
    assert_selected(&caps, &tuned, VKF_OP_GEMM, fff, (vkf__problem){.m = 100, .n = 100, .k = 65},
                    "gemm_tile.f32_f32_f32", "large");
    // An entry that this device may not use is passed over.
    assert_selected(&caps, &tuned, VKF_OP_GEMM, fhf, (vkf__problem){.m = 200, .n = 100, .k = 64},
                    "gemm_tile.f32_f16_f32", "small");
    caps.storage_16bit = false;
    assert_selected(&caps, &tuned, VKF_OP_GEMM, fhf, (vkf__problem){.m = 200, .n = 100, .k = 64},
                    "gemm_tile.f32_f16p_f32", "128x128");
    caps.max_workgroup_invocations = 128;
    assert_selected(&caps, &tuned, VKF_OP_SOFTMAX, fff, (vkf__problem){.m = 8, .n = 2000, .k = 0}, "softmax.f32_f32",
                    "row64");
    free_table(&tuned);
}

static void test_select_rank_by_measured_layout(void **state)
{
    (void)state;
    const vkf__caps caps = discrete_caps();
    vkf__tuned tuned = {0};
    const vkf__selector selector = {.caps = &caps, .tuned = &tuned};
    const vkf__problem rows = {.m = 100, .n = 128, .k = 64, .b_layout = VKF_GEMM_B_NK};
    const vkf__problem panels = {.m = 100, .n = 128, .k = 64, .b_layout = VKF_GEMM_B_PANELS, .offers = VKF_FORM_QUADS};
    assert_true(vkf__select_rank(&selector, VKF_OP_GEMM, fff, &rows) >= 3);
    add_tuned(&tuned, VKF_OP_GEMM, fff, rows, 10, "gemm_tile.f32_f32_f32/small");
    assert_int_equal(vkf__select_rank(&selector, VKF_OP_GEMM, fff, &rows), 1);
    assert_true(vkf__select_rank(&selector, VKF_OP_GEMM, fff, &panels) >= 3);
    add_tuned(&tuned, VKF_OP_GEMM, fff, panels, 5, "gemm_tile.f32_f32_f32/large");
    assert_int_equal(vkf__select_rank(&selector, VKF_OP_GEMM, fff, &rows), 2);
    assert_int_equal(vkf__select_rank(&selector, VKF_OP_GEMM, fff, &panels), 1);
    free_table(&tuned);
}

static void set_verdict(vkf__verdicts *verdicts, const char *kernel, size_t config, vkf__verdict verdict)
{
    const vkf__kernel *k = kernel_named(kernel);
    vkf__verdict_set(verdicts, k, &k->configs[config], verdict);
}

static void test_select_passes_over_bad_verdicts(void **state)
{
    (void)state;
    message_record record;
    const vkf__host host = recording_host(&record);
    vkf__caps caps = discrete_caps();
    caps.subgroup_arithmetic = false; // one kernel is left
    const vkf__problem problem = {.m = 10, .n = 2000};
    vkf__verdicts verdicts = {0};
    vkf__variant variant;
    const char *why = NULL;
    vkf__selector selector = {.caps = &caps, .verdicts = &verdicts};
    assert_int_equal(vkf__verdicts_init(&host, &verdicts), VKF_OK);
    static const char *const expected[] = {"row256", "row64", "row16"};
    for (size_t i = 0; i < 3; i++) {
        assert_true(vkf__select(&selector, VKF_OP_SOFTMAX, fff, &problem, &variant, &why));
        assert_string_equal(variant.config->name, expected[i]);
        set_verdict(&verdicts, "softmax.f32_f32", i, i == 1 ? VKF_VERDICT_SLOW : VKF_VERDICT_WRONG);
    }
    // A slow one is better than none, a wrong one is not.
    assert_true(vkf__select(&selector, VKF_OP_SOFTMAX, fff, &problem, &variant, &why));
    assert_string_equal(variant.config->name, "row64");
    assert_non_null(strstr(why, "slow"));
    set_verdict(&verdicts, "softmax.f32_f32", 1, VKF_VERDICT_WRONG);
    assert_false(vkf__select(&selector, VKF_OP_SOFTMAX, fff, &problem, &variant, &why));
    assert_false(vkf__variant_serves(&selector, variant.kernel, variant.config, &problem, &why));
    assert_non_null(strstr(why, "quarantined"));
    vkf__verdicts_free(&verdicts);
}

// The least slow one of slow variants serves, whatever their order, and before what a process did not come back from.
static void test_select_takes_the_least_slow(void **state)
{
    (void)state;
    message_record record;
    const vkf__host host = recording_host(&record);
    vkf__caps caps = discrete_caps();
    caps.subgroup_arithmetic = false; // one kernel is left
    const vkf__problem problem = {.m = 10, .n = 2000};
    const vkf__kernel *softmax = kernel_named("softmax.f32_f32");
    static const double times[] = {7, 3, 0};
    vkf__verdicts verdicts = {0};
    vkf__variant variant;
    const vkf__selector selector = {.caps = &caps, .verdicts = &verdicts};
    assert_int_equal(vkf__verdicts_init(&host, &verdicts), VKF_OK);
    for (size_t i = 0; i < 3; i++)
        vkf__verdict_note(
            &verdicts, softmax, &softmax->configs[i],
            &(vkf__finding){.verdict = i < 2 ? VKF_VERDICT_SLOW : VKF_VERDICT_STARTED, .times = times[i]});
    assert_true(vkf__select(&selector, VKF_OP_SOFTMAX, fff, &problem, &variant, NULL));
    assert_string_equal(variant.config->name, "row64");
    vkf__verdict_note(&verdicts, softmax, &softmax->configs[1],
                      &(vkf__finding){.verdict = VKF_VERDICT_SLOW, .times = 7.5});
    assert_true(vkf__select(&selector, VKF_OP_SOFTMAX, fff, &problem, &variant, NULL));
    assert_string_equal(variant.config->name, "row256");
    vkf__verdicts_free(&verdicts);
}

// What lost its race is no default, but serves where it is asked for, where it was measured, and where nothing else
// does.
static void test_select_passes_over_what_was_outrun(void **state)
{
    (void)state;
    message_record record;
    const vkf__host host = recording_host(&record);
    vkf__caps caps = discrete_caps();
    caps.subgroup_arithmetic = false; // one kernel is left
    const vkf__problem problem = {.m = 10, .n = 2000};
    const vkf__kernel *softmax = kernel_named("softmax.f32_f32");
    vkf__verdicts verdicts = {0};
    vkf__variant variant;
    vkf__selector selector = {.caps = &caps, .verdicts = &verdicts};
    assert_int_equal(vkf__verdicts_init(&host, &verdicts), VKF_OK);
    vkf__race_set(&verdicts, softmax, &softmax->configs[0], VKF_RACE_SLOWER);
    vkf__race_set(&verdicts, softmax, &softmax->configs[1], VKF_RACE_FASTER);
    assert_true(vkf__select(&selector, VKF_OP_SOFTMAX, fff, &problem, &variant, NULL));
    assert_string_equal(variant.config->name, "row64");
    selector.forced = "softmax.f32_f32/row256";
    assert_true(vkf__select(&selector, VKF_OP_SOFTMAX, fff, &problem, &variant, NULL));
    assert_string_equal(variant.config->name, "row256");
    selector.forced = NULL;
    set_verdict(&verdicts, "softmax.f32_f32", 1, VKF_VERDICT_UNCOMPILED);
    set_verdict(&verdicts, "softmax.f32_f32", 2, VKF_VERDICT_STARTED);
    assert_true(vkf__select(&selector, VKF_OP_SOFTMAX, fff, &problem, &variant, NULL));
    assert_string_equal(variant.config->name, "row256");
    // Nor is a test that never ended held against the last one.
    set_verdict(&verdicts, "softmax.f32_f32", 0, VKF_VERDICT_UNCOMPILED);
    assert_true(vkf__select(&selector, VKF_OP_SOFTMAX, fff, &problem, &variant, NULL));
    assert_string_equal(variant.config->name, "row16");
    set_verdict(&verdicts, "softmax.f32_f32", 2, VKF_VERDICT_WRONG);
    assert_false(vkf__select(&selector, VKF_OP_SOFTMAX, fff, &problem, &variant, NULL));
    assert_true(vkf__select_quarantined(&selector, VKF_OP_SOFTMAX, fff, &problem, &variant));
    vkf__verdicts_free(&verdicts);
}

static void test_kernel_usable_says_why(void **state)
{
    (void)state;
    const vkf__kernel *gemm = kernel_named("gemm_tile.f32_f16_f32");
    const vkf__caps good = discrete_caps();
    const char *why = NULL;
    assert_true(vkf__kernel_supported(&good, gemm, &gemm->configs[0], &why));
    assert_string_equal(why, "usable");
    assert_true(vkf__kernel_supported(&good, gemm, &gemm->configs[0], NULL));
#define REFUSED(field, value, part)                                                \
    do {                                                                           \
        vkf__caps caps = good;                                                     \
        caps.field = (value);                                                      \
        assert_false(vkf__kernel_supported(&caps, gemm, &gemm->configs[0], &why)); \
        if (!strstr(why, part))                                                    \
            fail_msg("%s: \"%s\" does not say \"%s\"", #field, why, part);         \
    } while (0)
    REFUSED(storage_16bit, false, "16-bit");
    REFUSED(max_storage_buffers, 3, "storage buffers");
    REFUSED(max_push_constant_bytes, 12, "push constants");
    REFUSED(max_workgroup_invocations, 32, "workgroup");
    REFUSED(max_workgroup_size_x, 32, "workgroup");
    REFUSED(max_shared_memory_bytes, 1024, "shared memory");
#undef REFUSED
    vkf__config crooked = gemm->configs[0];
    crooked.tile.gemm.thread_m = 3;
    assert_false(vkf__kernel_supported(&good, gemm, &crooked, &why));
    assert_non_null(strstr(why, "contradict"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_select_gemm_config_by_cores),
        cmocka_unit_test(test_select_by_registers),
        cmocka_unit_test(test_select_gemm_config_by_room),
        cmocka_unit_test(test_select_few_rows_by_bytes_in_flight),
        cmocka_unit_test(test_select_gemm_config_on_processors),
        cmocka_unit_test(test_select_integer_dot_products),
        cmocka_unit_test(test_select_weights_in_panels_on_processors),
        cmocka_unit_test(test_select_weights_in_blocks_on_processors),
        cmocka_unit_test(test_select_products_that_round_rows),
        cmocka_unit_test(test_select_rounded_rows_by_bytes_in_flight),
        cmocka_unit_test(test_select_wide_workgroups_for_normalised_rows),
        cmocka_unit_test(test_select_row_config_by_length),
        cmocka_unit_test(test_select_a_subgroup_for_rows_of_few_steps),
        cmocka_unit_test(test_select_smaller_workgroups_where_large_ones_are_not_allowed),
        cmocka_unit_test(test_select_prefers_16bit_storage),
        cmocka_unit_test(test_select_bfloat_parameters_on_every_profile),
        cmocka_unit_test(test_select_unknown_types_are_refused),
        cmocka_unit_test(test_select_device_without_any_config),
        cmocka_unit_test(test_select_tuned_entry_overrides),
        cmocka_unit_test(test_select_rank_by_measured_layout),
        cmocka_unit_test(test_select_passes_over_bad_verdicts),
        cmocka_unit_test(test_select_takes_the_least_slow),
        cmocka_unit_test(test_select_passes_over_what_was_outrun),
        cmocka_unit_test(test_kernel_usable_says_why),
        cmocka_unit_test(test_select_norm_gradients),
    };
    return cmocka_run_group_tests_name("select", tests, NULL, NULL);
}
