// The kernels on cooperative matrices: tile parameters, and what they need of a device's matrices. Part of registry.c.
#ifndef VKF_KERNEL_REGISTRY_MATRIX_H
#define VKF_KERNEL_REGISTRY_MATRIX_H

#include "base/size.h"
#include "kernel/registry.h"
#include "shared/attention_coopmat.h"
#include "shared/gemm_coopmat.h"

#define GEMM_COOPMAT_TILE(m_, n_, k_, subgroup_m_, subgroup_n_) \
    .tile.gemm_coopmat = {.m = m_, .n = n_, .k = k_, .subgroup_m = subgroup_m_, .subgroup_n = subgroup_n_}
#define ATTENTION_COOPMAT_TILE(rows_, keys_, subgroups_) \
    .tile.attention_coopmat = {.rows = rows_, .keys = keys_, .subgroups = subgroups_}

static const vkf__config gemm_coopmat_configs[] = {
    {.name = "128x128", .subgroups = 8, GEMM_COOPMAT_TILE(128, 128, 32, 64, 32), .min_m = 256, .min_n = 256},
    {.name = "128x128w", .subgroups = 4, GEMM_COOPMAT_TILE(128, 128, 32, 64, 64), .min_m = 256, .min_n = 256},
    {.name = "64x64", .subgroups = 4, GEMM_COOPMAT_TILE(64, 64, 32, 32, 32), .min_m = 48, .min_n = 48},
    {.name = "32x32", .subgroups = 4, GEMM_COOPMAT_TILE(32, 32, 16, 16, 16)},
};

static const vkf__config gemm_coopmat2_configs[] = {
    {.name = "128x256", .local_size = 256, GEMM_TILE(128, 256, 64, 0, 0), .min_m = 256, .min_n = 512},
    {.name = "128x128", .local_size = 256, GEMM_TILE(128, 128, 64, 0, 0), .min_m = 96, .min_n = 96},
    {.name = "64x64", .local_size = 128, GEMM_TILE(64, 64, 64, 0, 0)},
};

static const vkf__config gemm_coopmat2_element_configs[] = {
    {.name = "16x32", .subgroups = 1, GEMM_TILE(16, 32, 16, 0, 0)},
};

static const vkf__config attention_coopmat_configs[] = {
    {.name = "rows32", .subgroups = 4, ATTENTION_COOPMAT_TILE(32, 32, 4), .max_k = 64, .min_m = 64},
    {.name = "rows16", .subgroups = 4, ATTENTION_COOPMAT_TILE(16, 32, 4)},
};

static bool gemm_coopmat_valid(const vkf__config *config)
{
    const vkf__gemm_coopmat_tile *t = &config->tile.gemm_coopmat;
    return t->k > 0 && t->k % 8 == 0 && t->subgroup_m > 0 && t->subgroup_m % 8 == 0 && t->subgroup_n > 0 &&
           t->subgroup_n % 8 == 0 && t->m % t->subgroup_m == 0 && t->n % t->subgroup_n == 0 &&
           t->n % VKF_GEMM_PANEL == 0 && (t->m / t->subgroup_m) * (t->n / t->subgroup_n) == config->subgroups;
}

static const char *gemm_unfit(const vkf__caps *caps, const vkf__config *config, vkf__matrix_type type)
{
    const vkf__gemm_coopmat_tile *t = &config->tile.gemm_coopmat;
    const vkf__matrix_shape *shape = vkf__matrix_shape_of(caps, type);
    bool fits = t->subgroup_m % shape->m == 0 && t->subgroup_n % shape->n == 0 && t->k % shape->k == 0;
    return fits ? NULL : "its tiles are no multiples of the device's matrices";
}

static const char *gemm_coopmat_unfit(const vkf__caps *caps, const vkf__config *config, const vkf__problem *problem)
{
    (void)problem;
    return gemm_unfit(caps, config, VKF_MATRIX_F16);
}

static const char *gemm_coopmat_bf16_unfit(const vkf__caps *caps, const vkf__config *config,
                                           const vkf__problem *problem)
{
    (void)problem;
    return gemm_unfit(caps, config, VKF_MATRIX_BF16);
}

// A tile in chunks of eight elements with one chunk more per line; the larger of the two ways to store it.
static uint32_t tile_chunks(uint32_t rows, uint32_t depth)
{
    uint32_t by_rows = rows * (depth / 8 + 1), by_depth = depth * (rows / 8 + 1);
    return by_rows > by_depth ? by_rows : by_depth;
}

// Two tiles of a and b each; over them, in the end, a row of matrices of every subgroup.
static uint32_t gemm_shared(const vkf__caps *caps, const vkf__config *config, vkf__matrix_type type)
{
    const vkf__gemm_coopmat_tile *t = &config->tile.gemm_coopmat;
    uint32_t tiles = 2 * (tile_chunks(t->m, t->k) + tile_chunks(t->n, t->k));
    uint32_t sums = config->subgroups * vkf__matrix_shape_of(caps, type)->m * (t->subgroup_n / 4 + 1);
    return 16 * (tiles > sums ? tiles : sums);
}

static uint32_t gemm_coopmat_shared(const vkf__caps *caps, const vkf__config *config, const vkf__problem *problem)
{
    (void)problem;
    return gemm_shared(caps, config, VKF_MATRIX_F16);
}

static uint32_t gemm_coopmat_bf16_shared(const vkf__caps *caps, const vkf__config *config, const vkf__problem *problem)
{
    (void)problem;
    return gemm_shared(caps, config, VKF_MATRIX_BF16);
}

static bool gemm_coopmat2_valid(const vkf__config *config)
{
    const vkf__gemm_tile *t = &config->tile.gemm;
    return t->m > 0 && t->n > 0 && t->n % VKF_GEMM_PANEL == 0 && t->k > 0 && t->thread_m == 0 && t->thread_n == 0 &&
           config->subgroups <= 1;
}

// For matrices of a workgroup, or of a subgroup.
static const char *flexible_unfit(const vkf__caps *caps, const vkf__config *config, VkScopeKHR scope)
{
    const vkf__gemm_tile *t = &config->tile.gemm;
    bool fits = vkf__matrix_find_flexible(&caps->matrix, VK_COMPONENT_TYPE_FLOAT16_KHR, scope, config->local_size, t->m,
                                          t->n, t->k);
    return fits ? NULL : "the device lists no matrices that its tiles are multiples of";
}

static const char *gemm_coopmat2_unfit(const vkf__caps *caps, const vkf__config *config, const vkf__problem *problem)
{
    (void)problem;
    if (config->local_size > caps->matrix.workgroup_scope_max_invocations)
        return "needs a larger workgroup for a matrix";
    return flexible_unfit(caps, config, VK_SCOPE_WORKGROUP_KHR);
}

static const char *gemm_coopmat2_element_unfit(const vkf__caps *caps, const vkf__config *config,
                                               const vkf__problem *problem)
{
    (void)problem;
    return flexible_unfit(caps, config, VK_SCOPE_SUBGROUP_KHR);
}

// The driver's own.
static uint32_t gemm_coopmat2_shared(const vkf__caps *caps, const vkf__config *config, const vkf__problem *problem)
{
    (void)config;
    (void)problem;
    return caps->matrix.workgroup_scope_reserved_bytes;
}

static bool attention_coopmat_valid(const vkf__config *config)
{
    const vkf__attention_coopmat_tile *t = &config->tile.attention_coopmat;
    return t->rows > 0 && t->rows % 8 == 0 && t->keys > 0 && t->keys % 8 == 0 && t->subgroups > 0 &&
           t->subgroups == config->subgroups;
}

// 32-bit registers of an invocation that queries and sums may fill.
#define MATRIX_REGISTERS 96u

static const char *attention_coopmat_unfit(const vkf__caps *caps, const vkf__config *config,
                                           const vkf__problem *problem)
{
    const vkf__attention_coopmat_tile *t = &config->tile.attention_coopmat;
    const vkf__matrix_shape *shape = vkf__matrix_shape_of(caps, VKF_MATRIX_F16);
    if (t->rows % shape->m != 0 || t->keys % shape->n != 0 || t->keys % shape->k != 0)
        return "its tiles are no multiples of the device's matrices";
    // Queries of 16 bits and sums of 32, shared out among a subgroup. A processor keeps them in its cache.
    uint64_t registers = problem ? (uint64_t)t->rows * ((uint64_t)problem->k / 2 + problem->k) : 0;
    if (caps->type != VKF_DEVICE_TYPE_CPU && registers > (uint64_t)MATRIX_REGISTERS * caps->subgroup_size)
        return "would keep more in registers than there are";
    return NULL;
}

// A step of keys and values, and a line per row, see the shader; for heads as wide as the wider of the two.
static uint32_t attention_coopmat_shared(const vkf__caps *caps, const vkf__config *config, const vkf__problem *problem)
{
    const vkf__attention_coopmat_tile *t = &config->tile.attention_coopmat;
    const vkf__matrix_shape *shape = vkf__matrix_shape_of(caps, VKF_MATRIX_F16);
    uint64_t width = problem ? problem->k : 1, scores = t->keys / 4, later = t->keys / 8 + shape->n / 4;
    uint64_t line = (scores > later ? scores : later) + 1;
    uint64_t units = t->keys * (vkf__align_u64(width, shape->k) / 8 + vkf__align_u64(width, shape->n) / 8 + 2) +
                     (uint64_t)t->subgroups * t->rows * line;
    return units < UINT32_MAX / 16 ? (uint32_t)(16 * units) : UINT32_MAX;
}

#endif
