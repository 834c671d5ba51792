// Matrix products for software rasterisers: through texel buffers, by device addresses, and straight from storage
// buffers, all without shared memory. On a GPU each stands behind the GPU's default.
#include "kernel/registry_families.h"
#include "kernel/registry_products.h"
#include "shared/blocks.h"
#include "shared/gemm_rows.h"

// Lanes along m, each with a row and the columns of one or two panels, or with smaller shares for compilers that spill.
// thread m * thread n * tile k is how much is unrolled, and the time to compile grows with it.
static const vkf__config gemm_address_configs[] = {
    {.name = "8x32", .local_size = 8, GEMM_TILE(8, 32, 32), EACH(1, 32), .max_m = 47},
    {.name = "64x64", .local_size = 64, GEMM_TILE(64, 64, 32), EACH(1, 64), .min_m = 48, .min_n = 64},
    {.name = "128x64", .local_size = 128, GEMM_TILE(128, 64, 32), EACH(1, 64), .min_m = 128, .min_n = 64},
    {.name = "8x64", .local_size = 8, GEMM_TILE(8, 64, 32), EACH(1, 64), .max_m = 47},
    {.name = "128x64x2", .local_size = 64, GEMM_TILE(128, 64, 8), EACH(2, 64), .min_m = 128, .min_n = 64},
    {.name = "64x16", .local_size = 64, GEMM_TILE(64, 16, 8), EACH(1, 16), .min_m = 32},
    {.name = "8x32x16", .local_size = 8, GEMM_TILE(8, 32, 16), EACH(1, 32)},
};

// Lanes along m, for halves on devices without 64-bit integers.
static const vkf__config gemm_address_half_configs[] = {
    {.name = "8x32", .local_size = 8, GEMM_TILE(8, 32, 16), EACH(1, 32), .max_m = 8},
    {.name = "128x64x4", .local_size = 32, GEMM_TILE(128, 64, 4), EACH(4, 64), .min_m = 65, .min_n = 64},
    {.name = "16x32x2", .local_size = 8, GEMM_TILE(16, 32, 16), EACH(2, 32)},
    {.name = "64x64", .local_size = 64, GEMM_TILE(64, 64, 32), EACH(1, 64)},
    {.name = "64x16", .local_size = 64, GEMM_TILE(64, 16, 8), EACH(1, 16)},
};

static const vkf__config gemm_direct_configs[] = {
    {.name = "64x16", .local_size = 64, GEMM_TILE(64, 16, 8), EACH(1, 16), .min_m = 32},
    {.name = "128x8", .local_size = 64, GEMM_TILE(128, 8, 4), EACH(2, 8), .min_m = 64},
    {.name = "8x16", .local_size = 8, GEMM_TILE(8, 16, 8), EACH(1, 16)},
};

// Lanes along n, for halves, which are unpacked once for all rows of an invocation. With few rows, memory bandwidth is
// the limit. A workgroup is a subgroup.
static const vkf__config gemm_address_n_configs[] = {
    {.name = "1x32", .local_size = 8, GEMM_TILE(1, 32, 32), EACH(1, 4), .max_m = 1},
    {.name = "4x32", .local_size = 8, GEMM_TILE(4, 32, 8), EACH(4, 4), .max_m = 4},
    {.name = "8x32", .local_size = 8, GEMM_TILE(8, 32, 8), EACH(8, 4), .max_m = 24},
    {.name = "32x64", .local_size = 8, GEMM_TILE(32, 64, 8), EACH(32, 8)},
    {.name = "64x32", .local_size = 8, GEMM_TILE(64, 32, 8), EACH(64, 4)},
    {.name = "32x16", .local_size = 8, GEMM_TILE(32, 16, 16), EACH(32, 2)},
    {.name = "1x32s4", .local_size = 4, GEMM_TILE(1, 32, 32), EACH(1, 8), .max_m = 1},
    {.name = "32x32s4", .local_size = 4, GEMM_TILE(32, 32, 8), EACH(32, 8)},
};

static bool gemm_columns_valid(const vkf__config *config)
{
    const vkf__gemm_tile *t = &config->tile.gemm;
    bool depth = t->k == 4 || t->k == 8 || t->k == 12 || (t->k > 0 && t->k % 16 == 0);
    bool lanes = config->local_size > 0 && VKF_GEMM_PANEL % (2 * config->local_size) == 0;
    return depth && lanes && t->thread_m > 0 && t->m == t->thread_m && t->thread_n > 0 && t->thread_n % 2 == 0 &&
           t->n == config->local_size * t->thread_n;
}

static bool gemm_rows_valid(const vkf__config *config)
{
    const vkf__gemm_tile *t = &config->tile.gemm;
    bool depth = t->k == 4 || t->k == 8 || t->k == 12 || (t->k > 0 && t->k % 16 == 0);
    bool columns = t->thread_n == 8 || t->thread_n == 16 || (t->thread_n > 0 && t->thread_n % VKF_GEMM_PANEL == 0);
    return depth && columns && t->n == t->thread_n && t->thread_m > 0 && t->m == config->local_size * t->thread_m;
}

// The same constants without shared memory: registers hold an invocation's share, and tile k is the unrolled depth.
static const vkf__config gemm_texel_configs[] = {
    {.name = "row", .local_size = 8, GEMM_TILE(1, 64, 16), EACH(1, 8), .max_m = 1},
    {.name = "rows4", .local_size = 8, GEMM_TILE(4, 128, 4), EACH(4, 16), .max_m = 4},
    {.name = "rows8", .local_size = 8, GEMM_TILE(8, 128, 4), EACH(8, 16), .max_m = 8},
    {.name = "16x16", .local_size = 8, GEMM_TILE(16, 128, 4), EACH(16, 16)},
    {.name = "16x8", .local_size = 8, GEMM_TILE(16, 64, 4), EACH(16, 8)},
};

// For subgroups of eight, whose lanes share the rows that they fetched.
static const vkf__config gemm_texel_shuffle_configs[] = {
    {.name = "rows8", .local_size = 8, GEMM_TILE(8, 64, 8), EACH(8, 8), .max_m = 8},
    {.name = "rows8x16", .local_size = 8, GEMM_TILE(8, 128, 8), EACH(8, 16), .max_m = 8},
    {.name = "rows16", .local_size = 8, GEMM_TILE(16, 32, 8), EACH(16, 4), .max_m = 16},
    {.name = "32x4", .local_size = 8, GEMM_TILE(32, 32, 8), EACH(32, 4)},
    {.name = "32x8", .local_size = 8, GEMM_TILE(32, 64, 4), EACH(32, 8)},
    {.name = "16x8", .local_size = 8, GEMM_TILE(16, 64, 8), EACH(16, 8)},
};

// For weights in blocks, whose words hold up to eight steps of k.
static const vkf__config gemm_texel_blocks_configs[] = {
    {.name = "row", .local_size = 8, GEMM_TILE(1, 64, 32), EACH(1, 8), .max_m = 1},
    {.name = "rows4", .local_size = 8, GEMM_TILE(4, 32, 8), EACH(4, 4), .max_m = 4},
    {.name = "rows8", .local_size = 8, GEMM_TILE(8, 64, 8), EACH(8, 8), .max_m = 8},
    {.name = "16x8", .local_size = 8, GEMM_TILE(16, 64, 8), EACH(16, 8)},
};

static const vkf__config gemm_texel_shuffle_blocks_configs[] = {
    {.name = "rows8", .local_size = 8, GEMM_TILE(8, 64, 8), EACH(8, 8), .max_m = 8},
    {.name = "rows16", .local_size = 8, GEMM_TILE(16, 32, 8), EACH(16, 4), .max_m = 16},
    {.name = "32x4", .local_size = 8, GEMM_TILE(32, 32, 8), EACH(32, 4)},
    {.name = "32x8", .local_size = 8, GEMM_TILE(32, 64, 8), EACH(32, 8)},
};

static uint32_t shuffle_subgroup(const vkf__config *config)
{
    return config->tile.gemm.n / config->tile.gemm.thread_n;
}

static bool gemm_direct_valid(const vkf__config *config)
{
    const vkf__gemm_tile *t = &config->tile.gemm;
    return t->k > 0 && t->k % 4 == 0 && t->thread_m > 0 && t->thread_n > 0 && t->thread_n % 4 == 0 &&
           VKF_GEMM_PANEL % t->thread_n == 0 && t->m % t->thread_m == 0 && t->n % t->thread_n == 0 &&
           (t->m / t->thread_m) * (t->n / t->thread_n) == config->local_size;
}

static bool gemm_shuffle_valid(const vkf__config *config)
{
    return gemm_direct_valid(config) && config->tile.gemm.thread_m % shuffle_subgroup(config) == 0;
}

static bool gemm_texel_blocks_valid(const vkf__config *config)
{
    return gemm_direct_valid(config) && config->tile.gemm.k >= 8 && VKF_BLOCKS_DEPTH % config->tile.gemm.k == 0;
}

static bool gemm_shuffle_blocks_valid(const vkf__config *config)
{
    return gemm_shuffle_valid(config) && gemm_texel_blocks_valid(config);
}

// By address, on processors only. A workgroup is a subgroup of eight, or of four. With many rows, chains of
// multiply-adds longer than those of tile k = 8 are slower.
static const vkf__config gemm_blocks_address_configs[] = {
    {.name = "rows1", .local_size = 8, GEMM_TILE(1, 64, 32), EACH(1, 8), .max_m = 1},
    {.name = "rows2", .local_size = 8, GEMM_TILE(2, 64, 32), EACH(2, 8), .max_m = 2},
    {.name = "rows4", .local_size = 8, GEMM_TILE(4, 64, 32), EACH(4, 8), .max_m = 4},
    {.name = "rows8", .local_size = 8, GEMM_TILE(8, 64, 8), EACH(8, 8), .max_m = 8},
    {.name = "16x64", .local_size = 8, GEMM_TILE(16, 64, 8), EACH(16, 8)},
    {.name = "32x64", .local_size = 8, GEMM_TILE(32, 64, 8), EACH(32, 8), .min_m = 24},
    {.name = "32x32", .local_size = 8, GEMM_TILE(32, 32, 8), EACH(32, 4), .min_m = 24},
    {.name = "rows1of4", .local_size = 4, GEMM_TILE(1, 32, 32), EACH(1, 8), .max_m = 1},
    {.name = "rows4of4", .local_size = 4, GEMM_TILE(4, 32, 32), EACH(4, 8), .max_m = 4},
    {.name = "16x32of4", .local_size = 4, GEMM_TILE(16, 32, 8), EACH(16, 8)},
};

static bool gemm_blocks_address_valid(const vkf__config *config)
{
    const vkf__gemm_tile *t = &config->tile.gemm;
    return config->local_size > 0 && VKF_GEMM_PANEL % config->local_size == 0 && t->thread_m > 0 &&
           t->m == t->thread_m && t->thread_n > 0 && t->n == config->local_size * t->thread_n &&
           t->n % VKF_GEMM_PANEL == 0 && (t->k == 8 || t->k == 16 || t->k == VKF_BLOCKS_DEPTH);
}

// A workgroup is exactly one subgroup.
static uint32_t workgroup_subgroup(const vkf__config *config)
{
    return config->local_size;
}

// Rows of b that lie further apart share too few sets of a processor's cache: putting them into panels takes less time.
// With 768 columns the products of a layer took 384 ms in place of 353, and the panels 16; with 128 and 256 those of
// the demo model's way back as long as before, 34 ms, and the panels 12 (lavapipe, Mesa 26.2.6).
#define FAR_ROWS 512u

static const char *rows_unfit(const vkf__caps *caps, const vkf__config *config, const vkf__problem *problem)
{
    (void)caps;
    (void)config;
    const bool rows = problem && problem->b_layout == VKF_GEMM_B_KN;
    return rows && (!(problem->offers & VKF_FORM_QUADS) || problem->n >= FAR_ROWS) ? "does not read these rows of b"
                                                                                   : NULL;
}

static const char *const rows_constants[VKF_GEMM_ROWS_SPEC_COUNT] = {PRODUCT_TILE, PRODUCT_FLAGS,
                                                                     CONSTANT(GEMM, B_ROW)};

#define PANELS PRODUCT, CONSTANTS(vkf__gemm_constants), .b_layouts = B_PANELS
#define PANELS_OR_ROWS \
    PRODUCT, CONSTANTS(rows_constants), .b_layouts = B_PANELS | B_KN, .fixes_rows = true, .unfit = rows_unfit
#define TEXELS .operands = {VKF_OPERAND_TEXEL4, VKF_OPERAND_TEXEL4}, .wants = VKF_FORM_QUADS

// The format of its buffer gives a its type, so modules are named by the types of b and d.
#define GEMM_TEXEL_SHUFFLE(a, b, d)                                                                          \
    {                                                                                                        \
        .name = NAME_3("gemm_texel_shuffle", a, b, d), TYPES_3(a, b, d), PANELS, TEXELS,                     \
        .module = "gemm_texel_shuffle." #b "_" #d, .needs = VKF_NEEDS_SHUFFLE | STORAGE_2(b, d),             \
        CONFIGS(gemm_texel_shuffle_configs), .valid = gemm_shuffle_valid, .subgroup_size = shuffle_subgroup, \
        .rung = VKF_RUNG_TEXEL_SHUFFLE                                                                       \
    }
#define GEMM_TEXEL_ALONE(a, b, d)                                                                                   \
    {                                                                                                               \
        .name = NAME_3("gemm_texel", a, b, d), TYPES_3(a, b, d), PANELS, TEXELS, .module = "gemm_texel." #b "_" #d, \
        .needs = STORAGE_2(b, d), CONFIGS(gemm_texel_configs), .valid = gemm_direct_valid, .rung = VKF_RUNG_TEXEL   \
    }
#define GEMM_TEXEL(a, b, d) GEMM_TEXEL_SHUFFLE(a, b, d), GEMM_TEXEL_ALONE(a, b, d)

// The same for weights in blocks. The kind of blocks is a constant, so modules are named by the type of d.
#define GEMM_TEXEL_SHUFFLE_BLOCKS(a, b, d)                                                      \
    {                                                                                           \
        .name = NAME_3("gemm_texel_shuffle_blocks", a, b, d), TYPES_3(a, b, d), PANELS, TEXELS, \
        .module = "gemm_texel_shuffle_blocks." #d, .needs = VKF_NEEDS_SHUFFLE | STORAGE(d),     \
        CONFIGS(gemm_texel_shuffle_blocks_configs), .valid = gemm_shuffle_blocks_valid,         \
        .subgroup_size = shuffle_subgroup, .rung = VKF_RUNG_TEXEL_SHUFFLE                       \
    }
#define GEMM_TEXEL_BLOCKS_ALONE(a, b, d)                                                            \
    {                                                                                               \
        .name = NAME_3("gemm_texel_blocks", a, b, d), TYPES_3(a, b, d), PANELS, TEXELS,             \
        .module = "gemm_texel_blocks." #d, .needs = STORAGE(d), CONFIGS(gemm_texel_blocks_configs), \
        .valid = gemm_texel_blocks_valid, .rung = VKF_RUNG_TEXEL                                    \
    }
#define GEMM_TEXEL_BLOCKS(a, b, d) GEMM_TEXEL_SHUFFLE_BLOCKS(a, b, d), GEMM_TEXEL_BLOCKS_ALONE(a, b, d)

#define BOTH_ADDRESSES .operands = {VKF_OPERAND_ADDRESS, VKF_OPERAND_ADDRESS}
#define GEMM_BLOCKS_ADDRESS(a, b, d)                                                                            \
    {                                                                                                           \
        .name = NAME_3("gemm_blocks_address", a, b, d), TYPES_3(a, b, d), PANELS, BOTH_ADDRESSES,               \
        .module = "gemm_blocks_address." #a "_" #d, .needs = VKF_NEEDS_INT64 | VKF_NEEDS_SUBGROUP | STORAGE(d), \
        .wants = VKF_FORM_QUADS, .walks_columns = true, CONFIGS(gemm_blocks_address_configs),                   \
        .valid = gemm_blocks_address_valid, .subgroup_size = workgroup_subgroup, .rung = VKF_RUNG_ADDRESS       \
    }

// Lanes along n. Halves take part in arithmetic as 16-bit floats.
#define LANES_f32 0u
#define LANES_f16 (VKF_NEEDS_STORAGE_16BIT | VKF_NEEDS_FLOAT16)
#define LANES_bf16p 0u
#define GEMM_ADDRESS_N(a, b, d)                                                                        \
    {                                                                                                  \
        .name = NAME_3("gemm_address_n", a, b, d), TYPES_3(a, b, d), PANELS, BOTH_ADDRESSES,           \
        .needs = VKF_NEEDS_INT64 | VKF_NEEDS_SUBGROUP | LANES_##a | LANES_##b | LANES_##d,             \
        .offers = VKF_FORM_TRANSPOSED_A, CONFIGS(gemm_address_n_configs), .valid = gemm_columns_valid, \
        .subgroup_size = workgroup_subgroup, .rung = VKF_RUNG_ADDRESS_COLUMNS                          \
    }

// Lanes along m. The rest is PANELS, or the layouts of b that the kernel is compiled for, and its configs.
#define GEMM_ADDRESS(a, b, d, ...)                                                           \
    {                                                                                        \
        .name = NAME_3("gemm_address", a, b, d), TYPES_3(a, b, d), __VA_ARGS__,              \
        .operands = {VKF_OPERAND_STORAGE, VKF_OPERAND_ADDRESS}, .needs = STORAGE_3(a, b, d), \
        .offers = VKF_FORM_TRANSPOSED_A, .valid = gemm_rows_valid, .rung = VKF_RUNG_ADDRESS  \
    }
#define GEMM_DIRECT(a, b, d)                                                                           \
    {                                                                                                  \
        .name = NAME_3("gemm_direct", a, b, d), TYPES_3(a, b, d), PANELS, .needs = STORAGE_3(a, b, d), \
        .offers = VKF_FORM_TRANSPOSED_A, CONFIGS(gemm_direct_configs), .valid = gemm_rows_valid,       \
        .rung = VKF_RUNG_DIRECT                                                                        \
    }
#define GEMM_ROWS(a, b, d) GEMM_ADDRESS(a, b, d, PANELS, CONFIGS(gemm_address_half_configs)), GEMM_DIRECT(a, b, d)

static const vkf__kernel rows[] = {
    GEMM_TEXEL(f32, f32, f32),
    GEMM_TEXEL(f32, f16, f32),
    GEMM_TEXEL(f32, f16p, f32),
    GEMM_TEXEL(f16, f16, f16),
    GEMM_TEXEL(f16p, f16p, f16p),
    GEMM_TEXEL(f16, f16, f32),
    GEMM_TEXEL(f16p, f16p, f32),
    GEMM_TEXEL(f32, f16, f16),
    GEMM_TEXEL(f32, f16p, f16p),
    GEMM_TEXEL(f32, bf16p, f32),
    GEMM_ADDRESS(f32, f32, f32, PANELS_OR_ROWS, CONFIGS(gemm_address_configs)),
    GEMM_DIRECT(f32, f32, f32),
    GEMM_ADDRESS_N(f32, f16, f32),
    GEMM_ROWS(f32, f16, f32),
    GEMM_ROWS(f32, f16p, f32),
    GEMM_ADDRESS_N(f32, bf16p, f32),
    GEMM_ROWS(f32, bf16p, f32),
    GEMM_ADDRESS_N(f16, f16, f16),
    GEMM_ADDRESS_N(f16, f16, f32),
    GEMM_ROWS(f16, f16, f16),
    GEMM_ROWS(f16p, f16p, f16p),
    GEMM_BLOCKS_ADDRESS(f32, q8, f32),
    GEMM_BLOCKS_ADDRESS(f16, q8, f32),
    GEMM_BLOCKS_ADDRESS(f16, q8, f16),
    GEMM_BLOCKS_ADDRESS(f16p, q8, f16p),
    GEMM_TEXEL_BLOCKS(f32, q8, f32),
    GEMM_TEXEL_BLOCKS(f16, q8, f32),
    GEMM_TEXEL_BLOCKS(f16, q8, f16),
    GEMM_TEXEL_BLOCKS(f16p, q8, f16p),
    GEMM_BLOCKS_ADDRESS(f32, q4, f32),
    GEMM_BLOCKS_ADDRESS(f16, q4, f32),
    GEMM_BLOCKS_ADDRESS(f16, q4, f16),
    GEMM_BLOCKS_ADDRESS(f16p, q4, f16p),
    GEMM_TEXEL_BLOCKS(f32, q4, f32),
    GEMM_TEXEL_BLOCKS(f16, q4, f32),
    GEMM_TEXEL_BLOCKS(f16, q4, f16),
    GEMM_TEXEL_BLOCKS(f16p, q4, f16p),
};

const vkf__family vkf__software_gemm_family = {rows, COUNT(rows)};
