// Matrix products through tiles in shared memory, which every device can run, for b in elements and in blocks.
#include "kernel/registry_families.h"
#include "kernel/registry_products.h"
#include "shared/blocks.h"
#include "shared/gemm_int8.h"

const char *const vkf__gemm_constants[VKF_GEMM_SPEC_COUNT] = {PRODUCT_TILE, PRODUCT_FLAGS};
const char *const vkf__gemm_split_constants[VKF_GEMM_SPLIT_SPEC_COUNT] = {PRODUCT_TILE, PRODUCT_FLAGS,
                                                                          CONSTANT(GEMM, SPLIT)};
const char *const vkf__gemm_few_rows_constants[VKF_GEMM_FEW_ROWS_SPEC_COUNT] = {FEW_ROWS_CONSTANTS};

CHECK_TILE(gemm.m, VKF_GEMM_SPEC_TILE_M);
CHECK_TILE(gemm.n, VKF_GEMM_SPEC_TILE_N);
CHECK_TILE(gemm.k, VKF_GEMM_SPEC_TILE_K);
CHECK_TILE(gemm.thread_m, VKF_GEMM_SPEC_THREAD_M);
CHECK_TILE(gemm.thread_n, VKF_GEMM_SPEC_THREAD_N);

static const vkf__config gemm_configs[] = {
    {.name = "thin", .local_size = 64, GEMM_TILE(8, 64, 16), EACH(2, 4), .max_m = 8, .by_cores = true},
    {.name = "large", .local_size = 128, GEMM_TILE(64, 64, 16), EACH(8, 4), LARGE_TILE},
    {.name = "64x64x256", .local_size = 256, GEMM_TILE(64, 64, 16), EACH(4, 4), LARGE_TILE_FEW_REGISTERS},
    {.name = "small", .local_size = 64, GEMM_TILE(32, 32, 16), EACH(4, 4), .by_cores = true},
    {.name = "64x64", .local_size = 64, GEMM_TILE(64, 64, 16), EACH(8, 8)},
    {.name = "64x32", .local_size = 64, GEMM_TILE(64, 32, 16), EACH(8, 4)},
    {.name = "128x64", .local_size = 128, GEMM_TILE(128, 64, 16), EACH(8, 8)},
    {.name = "128x64x256", .local_size = 256, GEMM_TILE(128, 64, 16), EACH(8, 4)},
    {.name = "128x128", .local_size = 256, GEMM_TILE(128, 128, 16), EACH(8, 8), .by_cores = true, .min_registers = 96},
    {.name = "deep", .local_size = 128, GEMM_TILE(64, 64, 32), EACH(8, 4)},
};

static uint32_t gemm_shared_bytes(const vkf__config *config)
{
    // Rows of both tiles are padded by four elements against bank conflicts.
    return 4 * config->tile.gemm.k * (config->tile.gemm.m + config->tile.gemm.n + 8);
}

static bool gemm_valid(const vkf__config *config)
{
    const vkf__gemm_tile *t = &config->tile.gemm;
    return t->k >= 8 && t->k % 4 == 0 && t->thread_m > 0 && t->thread_n > 0 && t->m % 4 == 0 && t->n % 4 == 0 &&
           t->m % t->thread_m == 0 && t->n % t->thread_n == 0 &&
           (t->m / t->thread_m) * (t->n / t->thread_n) == config->local_size;
}

// For weights in blocks, tile k must also divide the depth of a block or be a multiple of it.
static bool gemm_tile_blocks_valid(const vkf__config *config)
{
    return gemm_valid(config) &&
           (VKF_BLOCKS_DEPTH % config->tile.gemm.k == 0 || config->tile.gemm.k % VKF_BLOCKS_DEPTH == 0);
}

// The kernel reads all layouts of b, and leaves partial sums where k is split.
#define TILED .shared_bytes = gemm_shared_bytes, PRODUCT, CONSTANTS(vkf__gemm_split_constants), CONFIGS(gemm_configs)

#define GEMM(a, b, d)                                                                                              \
    {                                                                                                              \
        .name = NAME_3("gemm_tile", a, b, d), TYPES_3(a, b, d), TILED, .needs = STORAGE_3(a, b, d),                \
        .b_layouts = B_KN | B_NK | B_PANELS, .offers = VKF_FORM_SPLIT | VKF_FORM_TRANSPOSED_A, .valid = gemm_valid \
    }

// All kinds of blocks share modules, which are named by the types of a and d.
#define GEMM_BLOCKS(a, b, d)                                                                                           \
    {                                                                                                                  \
        .name = NAME_3("gemm_tile_blocks", a, b, d), TYPES_3(a, b, d), TILED, .module = "gemm_tile_blocks." #a "_" #d, \
        .needs = STORAGE(d), .b_layouts = B_PANELS, .offers = VKF_FORM_SPLIT, .valid = gemm_tile_blocks_valid          \
    }

static const vkf__config gemm_half_configs[] = {
    {.name = "large", .local_size = 128, GEMM_TILE(64, 64, 32), EACH(8, 4), LARGE_TILE},
    {.name = "64x64x256", .local_size = 256, GEMM_TILE(64, 64, 32), EACH(4, 4), LARGE_TILE_FEW_REGISTERS},
    {.name = "64x64", .local_size = 64, GEMM_TILE(64, 64, 32), EACH(8, 8), .min_m = 48, .min_n = 48},
    {.name = "128x128",
     .local_size = 256,
     GEMM_TILE(128, 128, 32),
     EACH(8, 8),
     .min_m = 96,
     .min_n = 96,
     .by_cores = true,
     .min_registers = 96},
    {.name = "small", .local_size = 64, GEMM_TILE(32, 32, 32), EACH(4, 4), .by_cores = true},
};

static uint32_t gemm_half_shared_bytes(const vkf__config *config)
{
    // Quads of k of both tiles are padded by two lines against bank conflicts.
    return 2 * config->tile.gemm.k * (config->tile.gemm.m + config->tile.gemm.n + 4);
}

// Two runs, of even and of odd k, are as long as a tile is deep.
static bool gemm_half_valid(const vkf__config *config)
{
    return gemm_valid(config) && config->tile.gemm.k % 8 == 0 && config->tile.gemm.k <= 2 * VKF_GEMM_HALF_RUN;
}

// A weight's blocks are as deep as whole tiles.
static bool gemm_half_blocks_valid(const vkf__config *config)
{
    return gemm_half_valid(config) && VKF_BLOCKS_DEPTH % config->tile.gemm.k == 0;
}

// With f32 or f16 activations, which are rounded to halves where they are not halves.
#define HALVES                                                                 \
    PRODUCT, CONSTANTS(vkf__gemm_split_constants), CONFIGS(gemm_half_configs), \
        .shared_bytes = gemm_half_shared_bytes, .rounds = true, .half_sums = true, .rung = VKF_RUNG_HALVES
#define GEMM_HALF(a, b, d)                                                                    \
    {                                                                                         \
        .name = NAME_3("gemm_half", a, b, d), TYPES_3(a, b, d), HALVES,                       \
        .needs = VKF_NEEDS_FLOAT16 | STORAGE_3(a, b, d), .b_layouts = B_KN | B_NK | B_PANELS, \
        .offers = VKF_FORM_SPLIT | VKF_FORM_TRANSPOSED_A, .valid = gemm_half_valid            \
    }
#define GEMM_HALF_BLOCKS(a, b, d)                                                                                \
    {                                                                                                            \
        .name = NAME_3("gemm_half_blocks", a, b, d), TYPES_3(a, b, d), HALVES,                                   \
        .module = "gemm_half_blocks." #a "_" #d, .needs = VKF_NEEDS_FLOAT16 | STORAGE(d), .b_layouts = B_PANELS, \
        .offers = VKF_FORM_SPLIT, .valid = gemm_half_blocks_valid                                                \
    }

// Of bytes, with a sign or without: that is a constant, and so is the output's type.
static const char *const gemm_int8_constants[VKF_GEMM_INT8_SPEC_COUNT] = {
    LOCAL_SIZE,
    CONSTANT(GEMM_INT8, TILE),
    CONSTANT(GEMM_INT8, FLOAT),
    CONSTANT(GEMM_INT8, TRANSPOSE_B),
    CONSTANT(GEMM_INT8, A_UNSIGNED),
    CONSTANT(GEMM_INT8, B_UNSIGNED),
    CONSTANT(GEMM_INT8, A_ZERO),
    CONSTANT(GEMM_INT8, B_ZERO),
    CONSTANT(GEMM_INT8, A_SCALE),
    CONSTANT(GEMM_INT8, B_SCALE),
};

static const vkf__config gemm_int8_configs[] = {
    {.name = "64x64", .local_size = 256, .tile.gemm = {.m = 64, .n = 64}, .min_m = 33},
    {.name = "32x32", .local_size = 64, .tile.gemm = {.m = 32, .n = 32}},
};

static uint32_t gemm_int8_shared_bytes(const vkf__config *config)
{
    return 4 * 2 * 8 * (config->tile.gemm.m + 1);
}

static bool gemm_int8_valid(const vkf__config *config)
{
    const uint32_t side = config->tile.gemm.m / VKF_GEMM_INT8_EACH;
    return config->tile.gemm.m % VKF_GEMM_INT8_EACH == 0 && config->tile.gemm.n == config->tile.gemm.m &&
           config->local_size == side * side;
}

#define GEMM_INT8(shader, a, d, needs_, rung_)                                                                         \
    {                                                                                                                  \
        .name = NAME_2(shader, a, d), .module = shader ".i32", TYPES_2(a, d), .op = VKF_OP_GEMM_INT8, .needs = needs_, \
        .operand_count = 4, PARAMS(vkf_gemm_int8_params), CONSTANTS(gemm_int8_constants), .tile_count = 1,             \
        CONFIGS(gemm_int8_configs), .shared_bytes = gemm_int8_shared_bytes, .valid = gemm_int8_valid, .rung = rung_    \
    }
static const vkf__kernel rows[] = {
    // Weights in elements.
    GEMM(f32, f32, f32),
    GEMM(f32, f16, f32),
    GEMM(f32, f16p, f32),
    GEMM(f16, f16, f16),
    GEMM(f16p, f16p, f16p),
    GEMM(f16, f16, f32),
    GEMM(f16p, f16p, f32),
    GEMM(f32, f16, f16),
    GEMM(f32, f16p, f16p),
    GEMM(f32, bf16p, f32),
    // Weights in blocks.
    EVERY_BLOCK_TYPE(GEMM_BLOCKS),
    // Sums of short runs in f16. Only caches are filled with halves from activations in f32, which is little work.
    GEMM_HALF(f32, f16, f32),
    GEMM_HALF(f16, f16, f16),
    GEMM_HALF(f16, f16, f32),
    GEMM_HALF_BLOCKS(f32, q8, f32),
    GEMM_HALF_BLOCKS(f16, q8, f32),
    GEMM_HALF_BLOCKS(f16, q8, f16),
    GEMM_HALF_BLOCKS(f32, q4, f32),
    GEMM_HALF_BLOCKS(f16, q4, f32),
    GEMM_HALF_BLOCKS(f16, q4, f16),
    GEMM_INT8("gemm_int8_dot", i8, i32, VKF_NEEDS_INTEGER_DOT, VKF_RUNG_INTEGER_DOTS),
    GEMM_INT8("gemm_int8_dot", i8, f32, VKF_NEEDS_INTEGER_DOT, VKF_RUNG_INTEGER_DOTS),
    GEMM_INT8("gemm_int8", i8, i32, 0, VKF_RUNG_PLAIN),
    GEMM_INT8("gemm_int8", i8, f32, 0, VKF_RUNG_PLAIN),
};

const vkf__family vkf__gemm_family = {rows, COUNT(rows)};
