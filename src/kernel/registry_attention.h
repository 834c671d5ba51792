// Tile parameters of fused attention's kernels and the invariants between them. Part of registry.c.
#ifndef VKF_KERNEL_REGISTRY_ATTENTION_H
#define VKF_KERNEL_REGISTRY_ATTENTION_H

#include "kernel/registry.h"

#define ATTENTION_TILE(queries_, keys_, lanes_, fence_) \
    .tile.attention = {.queries = queries_, .keys = keys_, .lanes = lanes_, .fence = fence_}
#define ATTENTION_TILED_TILE(queries_, keys_, lanes_, depth_) \
    .tile.attention_tiled = {.queries = queries_, .keys = keys_, .lanes = lanes_, .depth = depth_}

// Fused attention. More queries and keys do more arithmetic per load and take longer to compile: worth it for long sequences alone.
static const vkf__config attention_texel_configs[] = {
    {.name = "shared8", .local_size = 8, ATTENTION_TILE(1, 4, 8, 0)},
    {.name = "q4k4", .local_size = 8, ATTENTION_TILE(4, 4, 1, 0), .max_k = 128, .min_m = 64, .min_n = 64},
    {.name = "q1k4", .local_size = 8, ATTENTION_TILE(1, 4, 1, 0)},
    {.name = "q4k2", .local_size = 8, ATTENTION_TILE(4, 2, 1, 0), .max_k = 128},
    {.name = "q8k4", .local_size = 8, ATTENTION_TILE(8, 4, 1, 0), .max_k = 64},
    {.name = "q2k4", .local_size = 8, ATTENTION_TILE(2, 4, 1, 0)},
};

static const vkf__config attention_address_configs[] = {
    {.name = "shared8", .local_size = 8, ATTENTION_TILE(1, 4, 8, 0)},
    {.name = "q1k16", .local_size = 8, ATTENTION_TILE(1, 16, 1, 8), .max_k = 64, .min_m = 8, .min_n = 16},
    {.name = "q1k8", .local_size = 8, ATTENTION_TILE(1, 8, 1, 8)},
    {.name = "q1k16f16", .local_size = 8, ATTENTION_TILE(1, 16, 1, 16), .max_k = 128},
    {.name = "q2k4", .local_size = 8, ATTENTION_TILE(2, 4, 1, 0)},
};

// Halves are unpacked once for all the queries of an invocation.
static const vkf__config attention_address_half_configs[] = {
    {.name = "shared8", .local_size = 8, ATTENTION_TILE(1, 4, 8, 0)},
    {.name = "q4k4", .local_size = 8, ATTENTION_TILE(4, 4, 1, 0), .max_k = 128, .min_m = 32, .min_n = 16},
    {.name = "q2k8", .local_size = 8, ATTENTION_TILE(2, 8, 1, 0), .max_k = 64, .min_m = 32, .min_n = 16},
    {.name = "q1k4", .local_size = 8, ATTENTION_TILE(1, 4, 1, 0)},
};

static const vkf__config attention_storage_configs[] = {
    {.name = "q1k4", .local_size = 64, ATTENTION_TILE(1, 4, 1, 0), .max_k = 64, .min_m = 64},
    {.name = "q1k4x32", .local_size = 32, ATTENTION_TILE(1, 4, 1, 0), .max_k = 64, .min_m = 32},
    {.name = "q1k1", .local_size = 8, ATTENTION_TILE(1, 1, 1, 0)},
};

static const vkf__config attention_tiled_configs[] = {
    {.name = "d64", .local_size = 64, ATTENTION_TILED_TILE(4, 32, 8, 32), .max_k = 64},
    {.name = "d64x2", .local_size = 64, ATTENTION_TILED_TILE(2, 32, 8, 32), .max_k = 64},
    {.name = "d64x128", .local_size = 128, ATTENTION_TILED_TILE(4, 32, 8, 32), .max_k = 64},
    {.name = "d128", .local_size = 64, ATTENTION_TILED_TILE(4, 32, 16, 32), .max_k = 128},
    {.name = "d128x128", .local_size = 128, ATTENTION_TILED_TILE(4, 64, 16, 32), .max_k = 128},
    {.name = "d256", .local_size = 64, ATTENTION_TILED_TILE(2, 32, 32, 32)},
};

// Vectors of four that the tiles of keys and rows take, one column of padding included.
static uint32_t attention_tile_vectors(const vkf__config *config, uint32_t *out_rows)
{
    const vkf__attention_tiled_tile *t = &config->tile.attention_tiled;
    uint32_t rows = t->queries * config->local_size / t->lanes;
    *out_rows = rows;
    return (rows + t->keys) * (t->depth / 4 + 1);
}

static uint32_t attention_tiled_shared_bytes(const vkf__config *config)
{
    uint32_t rows = 0, vectors = attention_tile_vectors(config, &rows);
    const vkf__attention_tiled_tile *t = &config->tile.attention_tiled;
    return 16 * (vectors + rows * (t->keys / 4 + 1) + rows * (t->lanes / 4 + 1));
}

static bool attention_tiled_valid(const vkf__config *config)
{
    const vkf__attention_tiled_tile *t = &config->tile.attention_tiled;
    uint32_t powers = t->keys * t->lanes, rows = 0;
    if (powers == 0 || (powers & (powers - 1)) != 0 || t->lanes < 4 || t->lanes > t->keys ||
        config->local_size % t->lanes != 0 || t->depth == 0 || t->depth % 4 != 0)
        return false;
    uint32_t widest = config->max_k > 0 ? config->max_k : 256;
    return attention_tile_vectors(config, &rows) >= 4 * ((widest + 3) / 4);
}

// 32-bit registers that the rows of an invocation may fill, of the 255 that it can address on the GPUs that we know.
#define ROW_REGISTERS 231u

// A processor keeps in its cache what does not fit. A single row is always taken: there may be no other kernel.
static const char *attention_unfit(const vkf__caps *caps, const vkf__config *config, const vkf__problem *problem)
{
    const vkf__attention_tile *t = &config->tile.attention;
    if (!problem || caps->type == VKF_DEVICE_TYPE_CPU || t->queries == 1)
        return NULL;
    // Query, sums, and the scores of a step.
    uint64_t registers = t->queries * (2 * (uint64_t)problem->k + t->keys);
    return registers > ROW_REGISTERS ? "would keep more in registers than there are" : NULL;
}

static bool attention_valid(const vkf__config *config)
{
    const vkf__attention_tile *t = &config->tile.attention;
    return t->queries > 0 && t->keys > 0 && t->lanes > 0 && config->local_size % t->lanes == 0;
}

#endif
