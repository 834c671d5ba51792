// Tile parameters of the matrix products' kernels and the invariants between them. Part of registry.c.
#ifndef VKF_KERNEL_REGISTRY_GEMM_H
#define VKF_KERNEL_REGISTRY_GEMM_H

#include "kernel/registry.h"
#include "shared/blocks.h"

#define GEMM_TILE(m_, n_, k_, thread_m_, thread_n_) \
    .tile.gemm = {.m = m_, .n = n_, .k = k_, .thread_m = thread_m_, .thread_n = thread_n_}

static const vkf__config gemm_configs[] = {
    {.name = "thin", .local_size = 64, GEMM_TILE(8, 64, 16, 2, 4), .max_m = 8},
    {.name = "large", .local_size = 128, GEMM_TILE(64, 64, 16, 8, 4), .min_m = 48, .min_n = 48},
    {.name = "small", .local_size = 64, GEMM_TILE(32, 32, 16, 4, 4)},
    {.name = "64x64", .local_size = 64, GEMM_TILE(64, 64, 16, 8, 8)},
    {.name = "64x32", .local_size = 64, GEMM_TILE(64, 32, 16, 8, 4)},
    {.name = "128x64", .local_size = 128, GEMM_TILE(128, 64, 16, 8, 8)},
    {.name = "128x64x256", .local_size = 256, GEMM_TILE(128, 64, 16, 8, 4)},
    {.name = "128x128", .local_size = 256, GEMM_TILE(128, 128, 16, 8, 8)},
    {.name = "deep", .local_size = 128, GEMM_TILE(64, 64, 32, 8, 4)},
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

// The same for weights in blocks.
static bool gemm_tile_blocks_valid(const vkf__config *config)
{
    return gemm_valid(config) &&
           (VKF_BLOCKS_DEPTH % config->tile.gemm.k == 0 || config->tile.gemm.k % VKF_BLOCKS_DEPTH == 0);
}

// Few rows against a weight; k is the depth of a load.
static const vkf__config gemv_configs[] = {
    {.name = "rows1", .local_size = 64, GEMM_TILE(1, 4, 8, 1, 4), .max_m = 1},
    {.name = "rows1x128", .local_size = 128, GEMM_TILE(1, 4, 8, 1, 4), .max_m = 1},
    {.name = "rows1x2", .local_size = 64, GEMM_TILE(1, 2, 16, 1, 2), .max_m = 1},
    {.name = "rows2", .local_size = 64, GEMM_TILE(2, 4, 8, 2, 4), .max_m = 2},
    {.name = "rows4", .local_size = 64, GEMM_TILE(4, 4, 8, 4, 4), .max_m = 4},
    {.name = "rows8", .local_size = 64, GEMM_TILE(8, 4, 4, 8, 4)},
    {.name = "rows8x16", .local_size = 16, GEMM_TILE(8, 2, 4, 8, 2)},
};

static const vkf__config gemv_columns_configs[] = {
    {.name = "rows1", .local_size = 64, GEMM_TILE(1, 32, 8, 1, 4), .max_m = 1},
    {.name = "rows1x64", .local_size = 128, GEMM_TILE(1, 64, 8, 1, 4), .max_m = 1},
    {.name = "rows2", .local_size = 64, GEMM_TILE(2, 32, 8, 2, 4), .max_m = 2},
    {.name = "rows4", .local_size = 64, GEMM_TILE(4, 32, 8, 4, 4), .max_m = 4},
    {.name = "rows8", .local_size = 64, GEMM_TILE(8, 32, 4, 8, 4)},
    {.name = "rows8x16", .local_size = 16, GEMM_TILE(8, 16, 4, 8, 4)},
};

static bool gemv_valid_common(const vkf__config *config)
{
    const vkf__gemm_tile *t = &config->tile.gemm;
    uint32_t powers = config->local_size * t->m * t->n * t->k;
    return powers > 0 && (powers & (powers - 1)) == 0 && t->thread_m == t->m && t->k >= 4;
}

static bool gemv_valid(const vkf__config *config)
{
    return gemv_valid_common(config) && config->tile.gemm.thread_n == config->tile.gemm.n;
}

static bool gemv_columns_valid(const vkf__config *config)
{
    return gemv_valid_common(config) && config->tile.gemm.thread_n == 4 && config->tile.gemm.n >= 4 &&
           config->tile.gemm.n <= config->local_size;
}

static uint32_t gemv_partials(const vkf__config *config, uint32_t parts)
{
    return 4 * parts * ((config->tile.gemm.m * config->tile.gemm.n) | 1);
}

static uint32_t gemv_shared_bytes(const vkf__config *config)
{
    return gemv_partials(config, config->local_size);
}

// Subgroups are of four invocations at least.
static uint32_t gemv_subgroup_shared_bytes(const vkf__config *config)
{
    return gemv_partials(config, config->local_size / 4 + 1);
}

static uint32_t gemv_columns_shared_bytes(const vkf__config *config)
{
    return gemv_partials(config, 4 * config->local_size / config->tile.gemm.n);
}

// Weights in blocks straight from memory. Few rows keep a device busy with many parts of k; many rows are for processors, without parts.
static const vkf__config gemm_blocks_configs[] = {
    {.name = "rows1", .local_size = 64, GEMM_TILE(1, 32, 32, 1, 4), .max_m = 1},
    {.name = "rows1x128", .local_size = 128, GEMM_TILE(1, 32, 32, 1, 4), .max_m = 1},
    {.name = "rows2", .local_size = 64, GEMM_TILE(2, 32, 32, 2, 4), .max_m = 2},
    {.name = "rows4", .local_size = 64, GEMM_TILE(4, 32, 32, 4, 4), .max_m = 4},
    {.name = "rows8", .local_size = 64, GEMM_TILE(8, 32, 8, 8, 4), .max_m = 8},
    {.name = "16x32", .local_size = 8, GEMM_TILE(16, 32, 16, 16, 4), .min_m = 9},
    {.name = "8x32", .local_size = 8, GEMM_TILE(8, 32, 8, 8, 4)},
};

// By address, on processors alone: a workgroup is a subgroup of eight, or else of four. Longer chains of multiply-adds
// than tile k = 8 are slower where rows are many.
static const vkf__config gemm_blocks_address_configs[] = {
    {.name = "rows1", .local_size = 8, GEMM_TILE(1, 64, 32, 1, 8), .max_m = 1},
    {.name = "rows2", .local_size = 8, GEMM_TILE(2, 64, 32, 2, 8), .max_m = 2},
    {.name = "rows4", .local_size = 8, GEMM_TILE(4, 64, 32, 4, 8), .max_m = 4},
    {.name = "rows8", .local_size = 8, GEMM_TILE(8, 64, 8, 8, 8), .max_m = 8},
    {.name = "16x64", .local_size = 8, GEMM_TILE(16, 64, 8, 16, 8)},
    {.name = "32x64", .local_size = 8, GEMM_TILE(32, 64, 8, 32, 8), .min_m = 24},
    {.name = "32x32", .local_size = 8, GEMM_TILE(32, 32, 8, 32, 4), .min_m = 24},
    {.name = "rows1of4", .local_size = 4, GEMM_TILE(1, 32, 32, 1, 8), .max_m = 1},
    {.name = "rows4of4", .local_size = 4, GEMM_TILE(4, 32, 32, 4, 8), .max_m = 4},
    {.name = "16x32of4", .local_size = 4, GEMM_TILE(16, 32, 8, 16, 8)},
};

static bool gemm_blocks_address_valid(const vkf__config *config)
{
    const vkf__gemm_tile *t = &config->tile.gemm;
    return config->local_size > 0 && VKF_GEMM_PANEL % config->local_size == 0 && t->thread_m > 0 &&
           t->m == t->thread_m && t->thread_n > 0 && t->n == config->local_size * t->thread_n &&
           t->n % VKF_GEMM_PANEL == 0 && (t->k == 8 || t->k == 16 || t->k == VKF_BLOCKS_DEPTH);
}

// A workgroup is one subgroup.
static uint32_t workgroup_subgroup(const vkf__config *config)
{
    return config->local_size;
}

static uint32_t gemm_blocks_parts(const vkf__config *config)
{
    return 4 * config->local_size / config->tile.gemm.n;
}

static bool gemm_blocks_valid(const vkf__config *config)
{
    const vkf__gemm_tile *t = &config->tile.gemm;
    uint32_t parts = t->n > 0 ? gemm_blocks_parts(config) : 0;
    return t->thread_m > 0 && t->m == t->thread_m && t->thread_n == 4 && t->n > 0 && t->n % VKF_GEMM_PANEL == 0 &&
           (t->k == 8 || t->k == 16 || t->k == VKF_BLOCKS_DEPTH) && parts * t->n == 4 * config->local_size &&
           parts > 0 && (parts & (parts - 1)) == 0;
}

static uint32_t gemm_blocks_shared_bytes(const vkf__config *config)
{
    uint32_t parts = gemm_blocks_parts(config);
    return parts > 1 ? 4 * parts * config->tile.gemm.m * config->tile.gemm.n : 16;
}

// By integer dot products, parts of k as above.
static const vkf__config gemm_dot_configs[] = {
    {.name = "rows1", .local_size = 64, GEMM_TILE(1, 32, 32, 1, 4), .max_m = 1},
    {.name = "rows2", .local_size = 64, GEMM_TILE(2, 32, 32, 2, 4), .max_m = 2},
    {.name = "rows4", .local_size = 64, GEMM_TILE(4, 32, 32, 4, 4), .max_m = 4},
    {.name = "rows8", .local_size = 64, GEMM_TILE(8, 32, 32, 8, 4)},
};

static bool gemm_dot_valid(const vkf__config *config)
{
    return gemm_blocks_valid(config) && config->tile.gemm.k == VKF_BLOCKS_DEPTH;
}

static const vkf__config gemm_dot_tile_configs[] = {
    {.name = "large", .local_size = 128, GEMM_TILE(64, 64, 32, 8, 4), .min_m = 48, .min_n = 48},
    {.name = "small", .local_size = 64, GEMM_TILE(32, 32, 64, 4, 4)},
};

static uint32_t gemm_dot_tile_shared_bytes(const vkf__config *config)
{
    const vkf__gemm_tile *t = &config->tile.gemm;
    uint32_t blocks = t->k / VKF_BLOCKS_DEPTH;
    return blocks * (2 * 16 * (t->m + t->n + 2) + 8 * (t->m + t->n));
}

static bool gemm_dot_tile_valid(const vkf__config *config)
{
    const vkf__gemm_tile *t = &config->tile.gemm;
    return t->k > 0 && t->k % VKF_BLOCKS_DEPTH == 0 && t->thread_m > 0 && t->thread_n > 0 && t->m % t->thread_m == 0 &&
           t->n % t->thread_n == 0 && (t->m / t->thread_m) * (t->n / t->thread_n) == config->local_size;
}

// Lanes along m, each with a row and the columns of a panel or two; small shares for compilers that spill. What is
// unrolled grows with thread m * thread n * tile k, and so does the time to compile it.
static const vkf__config gemm_address_configs[] = {
    {.name = "8x32", .local_size = 8, GEMM_TILE(8, 32, 32, 1, 32), .max_m = 47},
    {.name = "64x64", .local_size = 64, GEMM_TILE(64, 64, 32, 1, 64), .min_m = 48, .min_n = 64},
    {.name = "128x64", .local_size = 128, GEMM_TILE(128, 64, 32, 1, 64), .min_m = 128, .min_n = 64},
    {.name = "8x64", .local_size = 8, GEMM_TILE(8, 64, 32, 1, 64), .max_m = 47},
    {.name = "128x64x2", .local_size = 64, GEMM_TILE(128, 64, 8, 2, 64), .min_m = 128, .min_n = 64},
    {.name = "64x16", .local_size = 64, GEMM_TILE(64, 16, 8, 1, 16), .min_m = 32},
    {.name = "8x32x16", .local_size = 8, GEMM_TILE(8, 32, 16, 1, 32)},
};

// Lanes along m, for halves, where there are no 64-bit integers.
static const vkf__config gemm_address_half_configs[] = {
    {.name = "8x32", .local_size = 8, GEMM_TILE(8, 32, 16, 1, 32), .max_m = 8},
    {.name = "128x64x4", .local_size = 32, GEMM_TILE(128, 64, 4, 4, 64), .min_m = 65, .min_n = 64},
    {.name = "16x32x2", .local_size = 8, GEMM_TILE(16, 32, 16, 2, 32)},
    {.name = "64x64", .local_size = 64, GEMM_TILE(64, 64, 32, 1, 64)},
    {.name = "64x16", .local_size = 64, GEMM_TILE(64, 16, 8, 1, 16)},
};

static const vkf__config gemm_direct_configs[] = {
    {.name = "64x16", .local_size = 64, GEMM_TILE(64, 16, 8, 1, 16), .min_m = 32},
    {.name = "128x8", .local_size = 64, GEMM_TILE(128, 8, 4, 2, 8), .min_m = 64},
    {.name = "8x16", .local_size = 8, GEMM_TILE(8, 16, 8, 1, 16)},
};

// Lanes along n, for halves, which are unpacked once for the rows of an invocation. With few rows memory decides. A
// workgroup is a subgroup.
static const vkf__config gemm_address_n_configs[] = {
    {.name = "1x32", .local_size = 8, GEMM_TILE(1, 32, 32, 1, 4), .max_m = 1},
    {.name = "4x32", .local_size = 8, GEMM_TILE(4, 32, 8, 4, 4), .max_m = 4},
    {.name = "8x32", .local_size = 8, GEMM_TILE(8, 32, 8, 8, 4), .max_m = 24},
    {.name = "32x64", .local_size = 8, GEMM_TILE(32, 64, 8, 32, 8)},
    {.name = "64x32", .local_size = 8, GEMM_TILE(64, 32, 8, 64, 4)},
    {.name = "32x16", .local_size = 8, GEMM_TILE(32, 16, 16, 32, 2)},
    {.name = "1x32s4", .local_size = 4, GEMM_TILE(1, 32, 32, 1, 8), .max_m = 1},
    {.name = "32x32s4", .local_size = 4, GEMM_TILE(32, 32, 8, 32, 8)},
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

// The same constants without shared memory: an invocation's share is what its registers hold, tile k what is unrolled.
static const vkf__config gemm_texel_configs[] = {
    {.name = "row", .local_size = 8, GEMM_TILE(1, 64, 16, 1, 8), .max_m = 1},
    {.name = "rows4", .local_size = 8, GEMM_TILE(4, 128, 4, 4, 16), .max_m = 4},
    {.name = "rows8", .local_size = 8, GEMM_TILE(8, 128, 4, 8, 16), .max_m = 8},
    {.name = "16x16", .local_size = 8, GEMM_TILE(16, 128, 4, 16, 16)},
    {.name = "16x8", .local_size = 8, GEMM_TILE(16, 64, 4, 16, 8)},
};

// Lanes of a subgroup share out the rows they fetched: for subgroups of eight.
static const vkf__config gemm_texel_shuffle_configs[] = {
    {.name = "rows8", .local_size = 8, GEMM_TILE(8, 64, 8, 8, 8), .max_m = 8},
    {.name = "rows8x16", .local_size = 8, GEMM_TILE(8, 128, 8, 8, 16), .max_m = 8},
    {.name = "rows16", .local_size = 8, GEMM_TILE(16, 32, 8, 16, 4), .max_m = 16},
    {.name = "32x4", .local_size = 8, GEMM_TILE(32, 32, 8, 32, 4)},
    {.name = "32x8", .local_size = 8, GEMM_TILE(32, 64, 4, 32, 8)},
    {.name = "16x8", .local_size = 8, GEMM_TILE(16, 64, 8, 16, 8)},
};

// Weights in blocks, whose words hold up to eight steps of k.
static const vkf__config gemm_texel_blocks_configs[] = {
    {.name = "row", .local_size = 8, GEMM_TILE(1, 64, 32, 1, 8), .max_m = 1},
    {.name = "rows4", .local_size = 8, GEMM_TILE(4, 32, 8, 4, 4), .max_m = 4},
    {.name = "rows8", .local_size = 8, GEMM_TILE(8, 64, 8, 8, 8), .max_m = 8},
    {.name = "16x8", .local_size = 8, GEMM_TILE(16, 64, 8, 16, 8)},
};

static const vkf__config gemm_texel_shuffle_blocks_configs[] = {
    {.name = "rows8", .local_size = 8, GEMM_TILE(8, 64, 8, 8, 8), .max_m = 8},
    {.name = "rows16", .local_size = 8, GEMM_TILE(16, 32, 8, 16, 4), .max_m = 16},
    {.name = "32x4", .local_size = 8, GEMM_TILE(32, 32, 8, 32, 4)},
    {.name = "32x8", .local_size = 8, GEMM_TILE(32, 64, 8, 32, 8)},
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

#endif
