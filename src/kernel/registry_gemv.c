// Products of few rows with a weight, in which the invocations of a workgroup share the sums along k.
#include "base/size.h"
#include "kernel/registry_families.h"
#include "kernel/registry_products.h"

// Here k is the depth of a load. An H200 reads nine of a Llama's weights in f16 fastest with the first: 1.03 times as
// fast as with rows1x2, 1.04 as with rows1x256, 1.20 as with rows1 (geometric means; driver 580.159). Other GPUs were
// not measured.
static const vkf__config gemv_configs[] = {
    {.name = "rows1x128", .local_size = 128, GEMM_TILE(1, 2, 16), EACH(1, 2), .max_m = 1, .by_cores = true},
    {.name = "rows1", .local_size = 64, GEMM_TILE(1, 4, 8), EACH(1, 4), .max_m = 1, .by_cores = true},
    {.name = "rows1x2", .local_size = 64, GEMM_TILE(1, 2, 16), EACH(1, 2), .max_m = 1, .by_cores = true},
    {.name = "rows1x256", .local_size = 256, GEMM_TILE(1, 4, 8), EACH(1, 4), .max_m = 1, .by_cores = true},
    {.name = "rows2", .local_size = 64, GEMM_TILE(2, 4, 8), EACH(2, 4), .max_m = 2},
    {.name = "rows4", .local_size = 64, GEMM_TILE(4, 4, 8), EACH(4, 4), .max_m = 4},
    {.name = "rows8", .local_size = 64, GEMM_TILE(8, 4, 4), EACH(8, 4), .min_registers = 128},
    {.name = "rows8x2", .local_size = 64, GEMM_TILE(8, 2, 4), EACH(8, 2)},
    {.name = "rows8x16", .local_size = 16, GEMM_TILE(8, 2, 4), EACH(8, 2)},
};

static const vkf__config gemv_columns_configs[] = {
    {.name = "rows1", .local_size = 64, GEMM_TILE(1, 32, 8), EACH(1, 4), .max_m = 1},
    {.name = "rows1x64", .local_size = 128, GEMM_TILE(1, 64, 8), EACH(1, 4), .max_m = 1},
    {.name = "rows2", .local_size = 64, GEMM_TILE(2, 32, 8), EACH(2, 4), .max_m = 2},
    {.name = "rows4", .local_size = 64, GEMM_TILE(4, 32, 8), EACH(4, 4), .max_m = 4},
    {.name = "rows8", .local_size = 64, GEMM_TILE(8, 32, 4), EACH(8, 4)},
    {.name = "rows8x16", .local_size = 16, GEMM_TILE(8, 16, 4), EACH(8, 4)},
};

static bool gemv_valid_common(const vkf__config *config)
{
    const vkf__gemm_tile *t = &config->tile.gemm;
    uint32_t powers = config->local_size * t->m * t->n * t->k;
    return vkf__is_power_of_two_u64(powers) && t->thread_m == t->m && t->k >= 4;
}

static bool gemv_valid(const vkf__config *config)
{
    return gemv_valid_common(config) && config->tile.gemm.thread_n == config->tile.gemm.n && config->tile.gemm.n >= 2;
}

static bool gemv_columns_valid(const vkf__config *config)
{
    return gemv_valid_common(config) && config->tile.gemm.thread_n == 4 && config->tile.gemm.n >= 4 &&
           config->tile.gemm.n <= config->local_size;
}

// The stride of the parts is odd, against bank conflicts.
static uint32_t gemv_partials(const vkf__config *config, const vkf__problem *problem, uint32_t parts)
{
    return 4 * parts * ((config->tile.gemm.m * config->tile.gemm.n + vkf__norm_sums(config, problem)) | 1);
}

static uint32_t gemv_shared_bytes(const vkf__caps *caps, const vkf__kernel *kernel, const vkf__config *config,
                                  const vkf__problem *problem)
{
    (void)caps;
    (void)kernel;
    return gemv_partials(config, problem, config->local_size);
}

// A subgroup has at least four invocations.
static uint32_t gemv_subgroup_shared_bytes(const vkf__caps *caps, const vkf__kernel *kernel, const vkf__config *config,
                                           const vkf__problem *problem)
{
    (void)caps;
    (void)kernel;
    return gemv_partials(config, problem, config->local_size / 4 + 1);
}

static uint32_t gemv_columns_shared_bytes(const vkf__config *config)
{
    return gemv_partials(config, NULL, 4 * config->local_size / config->tile.gemm.n);
}

// Its module has the constants of the others, but it neither gates nor normalises.
#define COLUMNS_PRODUCT PRODUCT, CONSTANTS(vkf__gemm_few_rows_constants), .walks_columns = true

// The kernels for (n, k) go along the rows of b, with a subgroup or a workgroup to add up. Those for the other layouts
// go along its columns.
#define GEMV_SUBGROUP(a, b, d)                                                                        \
    {                                                                                                 \
        .name = NAME_3("gemv_subgroup", a, b, d), TYPES_3(a, b, d), FEW_ROWS,                         \
        .offers = VKF_FORM_GATED | VKF_FORM_NORMED, .needs = VKF_NEEDS_SUBGROUP | STORAGE_3(a, b, d), \
        .b_layouts = B_NK, CONFIGS(gemv_configs), .valid = gemv_valid,                                \
        .shared_bytes_here = gemv_subgroup_shared_bytes, .rung = VKF_RUNG_SUBGROUP                    \
    }
#define GEMV_WORKGROUP(a, b, d)                                                                                  \
    {                                                                                                            \
        .name = NAME_3("gemv", a, b, d), TYPES_3(a, b, d), FEW_ROWS, .offers = VKF_FORM_GATED | VKF_FORM_NORMED, \
        .needs = STORAGE_3(a, b, d), .b_layouts = B_NK, CONFIGS(gemv_configs), .valid = gemv_valid,              \
        .shared_bytes_here = gemv_shared_bytes, .rung = VKF_RUNG_FEW_ROWS                                        \
    }
#define GEMV_COLUMNS(a, b, d)                                                                                    \
    {                                                                                                            \
        .name = NAME_3("gemv_columns", a, b, d), TYPES_3(a, b, d), COLUMNS_PRODUCT, .needs = STORAGE_3(a, b, d), \
        .b_layouts = B_KN | B_PANELS, CONFIGS(gemv_columns_configs), .valid = gemv_columns_valid,                \
        .shared_bytes = gemv_columns_shared_bytes, .rung = VKF_RUNG_FEW_ROWS                                     \
    }
#define GEMV(a, b, d) GEMV_SUBGROUP(a, b, d), GEMV_WORKGROUP(a, b, d), GEMV_COLUMNS(a, b, d)

// All read vectors and quads of words, so that 16-bit storage matters only to what is stored.
static const vkf__kernel rows[] = {
    GEMV(f32, f32, f32),
    GEMV(f32, f16p, f32),
    GEMV(f32, bf16p, f32),
    GEMV(f16, f16, f16),
    GEMV(f16p, f16p, f16p),
    // Logits.
    GEMV(f16p, f16p, f32),
};

const vkf__family vkf__gemv_family = {rows, COUNT(rows)};
