// Matrix products with weights in blocks: straight from memory, and by integer dot products. All kinds of blocks share
// modules, which are named by the types of a and d, or of d alone.
#include "base/blocks.h"
#include "base/size.h"
#include "kernel/registry_families.h"
#include "kernel/registry_products.h"
#include "shared/blocks.h"
#include "shared/gemm_rounds.h"

// With few rows, many invocations share k to keep a device busy: the more of them, the fewer columns there are for a
// core. Blocks of q4 are about half as many bytes as those of q8, so an invocation has two of them under way.
#define SHARED_DEPTH(name_, local_size_, m_, k_) \
    .name = name_, .local_size = local_size_, GEMM_TILE(m_, 32, k_), EACH(m_, 4), .by_cores = true

// For processors, whose lanes do not share k.
#define MANY_ROWS                                                                       \
    {.name = "16x32", .local_size = 8, GEMM_TILE(16, 32, 16), EACH(16, 4), .min_m = 9}, \
    {                                                                                   \
        .name = "8x32", .local_size = 8, GEMM_TILE(8, 32, 8), EACH(8, 4)                \
    }

// Weights in blocks straight from memory. Compilers load all of an unrolled block of several rows at once, for which up
// to 96 registers have no room.
static const vkf__config gemm_blocks_q8_configs[] = {
    {SHARED_DEPTH("rows1", 64, 1, 32), .max_m = 1},
    {SHARED_DEPTH("rows1x256", 256, 1, 32), .max_m = 1},
    {SHARED_DEPTH("rows2", 64, 2, 32), .max_m = 2, .min_registers = 128},
    {SHARED_DEPTH("rows4", 64, 4, 32), .max_m = 4, .min_registers = 128},
    {SHARED_DEPTH("rows4x256", 256, 4, 32), .max_m = 4, .min_registers = 128},
    {SHARED_DEPTH("rows2k8", 64, 2, 8), .max_m = 2, .max_registers = 96},
    {SHARED_DEPTH("rows4k8", 64, 4, 8), .max_m = 4, .max_registers = 96},
    {SHARED_DEPTH("rows8", 64, 8, 8), .max_m = 8},
    {SHARED_DEPTH("rows8x256", 256, 8, 8), .max_m = 8},
    MANY_ROWS,
};

static const vkf__config gemm_blocks_q4_configs[] = {
    {SHARED_DEPTH("rows1", 64, 1, 32), .max_m = 1},
    {SHARED_DEPTH("rows1x256", 256, 1, 64), .max_m = 1, .min_registers = 128},
    {SHARED_DEPTH("rows2", 64, 2, 32), .max_m = 2, .min_registers = 128},
    {SHARED_DEPTH("rows4", 64, 4, 32), .max_m = 4, .min_registers = 128},
    {SHARED_DEPTH("rows4x256", 256, 4, 32), .max_m = 4, .min_registers = 128},
    {SHARED_DEPTH("rows2k8", 64, 2, 8), .max_m = 2, .max_registers = 96},
    {SHARED_DEPTH("rows4k8", 64, 4, 8), .max_m = 8, .max_registers = 96},
    {SHARED_DEPTH("rows8", 64, 8, 8), .max_m = 8, .min_registers = 128},
    {SHARED_DEPTH("rows8x256", 256, 8, 8), .max_m = 8, .min_registers = 128},
    MANY_ROWS,
};

static uint32_t gemm_blocks_parts(const vkf__config *config)
{
    return 4 * config->local_size / config->tile.gemm.n;
}

static bool gemm_blocks_valid(const vkf__config *config)
{
    const vkf__gemm_tile *t = &config->tile.gemm;
    uint32_t parts = t->n > 0 ? gemm_blocks_parts(config) : 0;
    bool turns = t->k == 8 || t->k == 16 || (t->k > 0 && t->k % VKF_BLOCKS_DEPTH == 0);
    return t->thread_m > 0 && t->m == t->thread_m && t->thread_n == 4 && t->n > 0 && t->n % VKF_GEMM_PANEL == 0 &&
           turns && parts * t->n == 4 * config->local_size && vkf__is_power_of_two_u64(parts);
}

static uint32_t gemm_blocks_shared_bytes(const vkf__caps *caps, const vkf__kernel *kernel, const vkf__config *config,
                                         const vkf__problem *problem)
{
    (void)caps;
    (void)kernel;
    const uint32_t sums = config->tile.gemm.m * config->tile.gemm.n + vkf__norm_sums(config, problem);
    return (uint32_t)vkf__align_u64(4 * gemm_blocks_parts(config) * (uint64_t)sums, 16);
}

// By integer dot products.
static const vkf__config gemm_dot_q8_configs[] = {
    {SHARED_DEPTH("rows1", 64, 1, 32), .max_m = 1},
    {SHARED_DEPTH("rows1x256", 256, 1, 32), .max_m = 1},
    {SHARED_DEPTH("rows2", 64, 2, 32), .max_m = 2},
    {SHARED_DEPTH("rows4", 64, 4, 32), .max_m = 4},
    {SHARED_DEPTH("rows4x256", 256, 4, 32), .max_m = 4},
    {SHARED_DEPTH("rows8", 64, 8, 32)},
    {SHARED_DEPTH("rows8x256", 256, 8, 32)},
};

static const vkf__config gemm_dot_q4_configs[] = {
    {SHARED_DEPTH("rows1", 64, 1, 32), .max_m = 1},
    {SHARED_DEPTH("rows1x256", 256, 1, 64), .max_m = 1},
    {SHARED_DEPTH("rows2", 64, 2, 32), .max_m = 2},
    {SHARED_DEPTH("rows4", 64, 4, 32), .max_m = 4},
    {SHARED_DEPTH("rows4x256", 256, 4, 32), .max_m = 4},
    {SHARED_DEPTH("rows8", 64, 8, 32)},
    {SHARED_DEPTH("rows8x256", 256, 8, 32)},
};

static bool gemm_dot_valid(const vkf__config *config)
{
    return gemm_blocks_valid(config) && config->tile.gemm.k % VKF_BLOCKS_DEPTH == 0;
}

// By integer dot products of rows that the workgroup rounds itself.
#define ROUNDED_ROWS 8u

static const char *const rounds_constants[VKF_GEMM_ROUNDS_SPEC_COUNT] = {
    FEW_ROWS_CONSTANTS,
    CONSTANT(GEMM, KEPT_BLOCKS),
};

static uint32_t gemm_dot_rounds_bytes(const vkf__config *config, const vkf__problem *problem)
{
    const uint64_t row_blocks = problem ? problem->k / VKF_BLOCKS_DEPTH : 1;
    const uint64_t sums = 4ull * gemm_blocks_parts(config) * config->tile.gemm.m * config->tile.gemm.n;
    const uint64_t bytes = vkf__align_u64(sums + VKF_GEMM_ROUNDS_BLOCK_BYTES * row_blocks * config->tile.gemm.m, 16);
    return bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX;
}

static uint32_t gemm_dot_rounds_shared_bytes(const vkf__caps *caps, const vkf__kernel *kernel,
                                             const vkf__config *config, const vkf__problem *problem)
{
    (void)caps;
    (void)kernel;
    return gemm_dot_rounds_bytes(config, problem);
}

// Whether rounded rows leave a core room for as many workgroups as it has to have. All that is known of its shared
// memory is what one workgroup may have. Another workgroup has to load while one rounds, and those that fit have to
// bring as many bytes under way as hide the memory's latency, unless they are all that there are.
static bool keeps_a_core_busy(const vkf__caps *caps, const vkf__config *config, const vkf__problem *problem,
                              vkf_dtype weight)
{
    const vkf__gemm_tile *t = &config->tile.gemm;
    const uint32_t resident = caps->max_shared_memory_bytes / gemm_dot_rounds_bytes(config, problem);
    const double step = (double)config->local_size * t->k * t->thread_n * vkf__element_bytes(weight);
    const bool all_fit = vkf__config_workgroups(config, problem) <= (uint64_t)resident * caps->traits.cores;
    return resident >= 2 && (all_fit || resident * step >= caps->traits.core_bytes_in_flight);
}

static const char *gemm_dot_rounds_unfit(const vkf__caps *caps, const vkf__config *config, const vkf__problem *problem,
                                         vkf_dtype weight)
{
    if (problem && problem->m > ROUNDED_ROWS)
        return "is limited to fewer rows";
    if (problem && caps->traits.core_bytes_in_flight > 0 && !keeps_a_core_busy(caps, config, problem, weight))
        return "would leave too few workgroups room in shared memory";
    return NULL;
}

static const char *gemm_dot_rounds_q8_unfit(const vkf__caps *caps, const vkf__config *config,
                                            const vkf__problem *problem)
{
    return gemm_dot_rounds_unfit(caps, config, problem, VKF_DTYPE_Q8);
}

static const char *gemm_dot_rounds_q4_unfit(const vkf__caps *caps, const vkf__config *config,
                                            const vkf__problem *problem)
{
    return gemm_dot_rounds_unfit(caps, config, problem, VKF_DTYPE_Q4);
}

static const vkf__config gemm_dot_tile_configs[] = {
    {.name = "large", .local_size = 128, GEMM_TILE(64, 64, 32), EACH(8, 4), LARGE_TILE},
    {.name = "64x64x256", .local_size = 256, GEMM_TILE(64, 64, 32), EACH(4, 4), LARGE_TILE_FEW_REGISTERS},
    {.name = "small", .local_size = 64, GEMM_TILE(32, 32, 64), EACH(4, 4), .by_cores = true},
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

#define GEMM_BLOCKS(a, b, d)                                                                                 \
    {                                                                                                        \
        .name = NAME_3("gemm_blocks", a, b, d), TYPES_3(a, b, d), FEW_ROWS,                                  \
        .offers = VKF_FORM_GATED | VKF_FORM_NORMED, .module = "gemm_blocks." #a "_" #d, .needs = STORAGE(d), \
        .b_layouts = B_PANELS, .wants = VKF_FORM_QUADS, CONFIGS(gemm_blocks_##b##_configs),                  \
        .valid = gemm_blocks_valid, .shared_bytes_here = gemm_blocks_shared_bytes, .rung = VKF_RUNG_BLOCKS   \
    }

// a consists of the words that VKF_OP_QUANTIZE_ROWS writes.
#define GEMM_DOT(b, d)                                                                                           \
    {                                                                                                            \
        .name = NAME_3("gemm_dot", i32, b, d), TYPES_3(i32, b, d), FEW_ROWS, .offers = VKF_FORM_GATED,           \
        .module = "gemm_dot." #d, .needs = VKF_NEEDS_INTEGER_DOT | STORAGE(d), .b_layouts = B_PANELS,            \
        CONFIGS(gemm_dot_##b##_configs), .valid = gemm_dot_valid, .shared_bytes_here = gemm_blocks_shared_bytes, \
        .rung = VKF_RUNG_FEW_ROWS                                                                                \
    }
// a consists of activations, which are read in quads and therefore need no 16-bit storage.
#define GEMM_DOT_ROUNDS(a, b, d)                                                                                      \
    {                                                                                                                 \
        .name = NAME_3("gemm_dot_rounds", a, b, d), TYPES_3(a, b, d), PRODUCT, CONSTANTS(rounds_constants),           \
        .walks_columns = true, .offers = VKF_FORM_GATED | VKF_FORM_NORMED, .rounds_rows = true,                       \
        .wants = VKF_FORM_QUADS, .module = "gemm_dot_rounds." #a "_" #d, .needs = VKF_NEEDS_INTEGER_DOT | STORAGE(d), \
        .b_layouts = B_PANELS, CONFIGS(gemm_dot_##b##_configs), .valid = gemm_dot_valid,                              \
        .unfit = gemm_dot_rounds_##b##_unfit, .shared_bytes_here = gemm_dot_rounds_shared_bytes,                      \
        .rung = VKF_RUNG_ROUNDED_ROWS                                                                                 \
    }
#define GEMM_DOT_TILE(b, d)                                                                                            \
    {                                                                                                                  \
        .name = NAME_3("gemm_dot_tile", i32, b, d), TYPES_3(i32, b, d), PRODUCT, CONSTANTS(vkf__gemm_split_constants), \
        .module = "gemm_dot_tile." #d, .needs = VKF_NEEDS_INTEGER_DOT | STORAGE(d), .b_layouts = B_PANELS,             \
        .offers = VKF_FORM_SPLIT, CONFIGS(gemm_dot_tile_configs), .valid = gemm_dot_tile_valid,                        \
        .shared_bytes = gemm_dot_tile_shared_bytes                                                                     \
    }

static const vkf__kernel rows[] = {
    EVERY_BLOCK_TYPE(GEMM_BLOCKS), GEMM_DOT(q8, f32),
    GEMM_DOT_TILE(q8, f32),        GEMM_DOT(q8, f16),
    GEMM_DOT_TILE(q8, f16),        GEMM_DOT(q4, f32),
    GEMM_DOT_TILE(q4, f32),        GEMM_DOT(q4, f16),
    GEMM_DOT_TILE(q4, f16),        GEMM_DOT_ROUNDS(f32, q8, f32),
    GEMM_DOT_ROUNDS(f16, q8, f32), GEMM_DOT_ROUNDS(f16, q8, f16),
    GEMM_DOT_ROUNDS(f32, q4, f32), GEMM_DOT_ROUNDS(f16, q4, f32),
    GEMM_DOT_ROUNDS(f16, q4, f16),
};

const vkf__family vkf__gemm_blocks_family = {rows, COUNT(rows)};
