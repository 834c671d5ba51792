// Matrix products on cooperative matrices: of subgroups, and, by VK_NV_cooperative_matrix2, of workgroups.
#include "base/size.h"
#include "kernel/registry_families.h"
#include "kernel/registry_products.h"
#include "shared/blocks.h"
#include "shared/gemm_coopmat.h"

#define GEMM_COOPMAT_TILE(m_, n_, k_) .tile.gemm_coopmat.m = m_, .tile.gemm_coopmat.n = n_, .tile.gemm_coopmat.k = k_
#define SUBGROUP_TILE(m_, n_) .tile.gemm_coopmat.subgroup_m = m_, .tile.gemm_coopmat.subgroup_n = n_

CHECK_TILE(gemm_coopmat.m, VKF_GEMM_SPEC_TILE_M);
CHECK_TILE(gemm_coopmat.n, VKF_GEMM_SPEC_TILE_N);
CHECK_TILE(gemm_coopmat.k, VKF_GEMM_SPEC_TILE_K);
CHECK_TILE(gemm_coopmat.subgroup_m, VKF_GEMM_SPEC_THREAD_M);
CHECK_TILE(gemm_coopmat.subgroup_n, VKF_GEMM_SPEC_THREAD_N);

#define TILE_CONSTANTS LOCAL_SIZE, CONSTANT(GEMM, TILE_M), CONSTANT(GEMM, TILE_N), CONSTANT(GEMM, TILE_K)

#define COOPMAT_CONSTANTS                                                                                            \
    TILE_CONSTANTS, [VKF_GEMM_SPEC_THREAD_M] = "SUBGROUP_M", [VKF_GEMM_SPEC_THREAD_N] = "SUBGROUP_N", PRODUCT_FLAGS, \
                    CONSTANT(GEMM, FRAGMENT_M), CONSTANT(GEMM, FRAGMENT_N), CONSTANT(GEMM, FRAGMENT_K)

// The parts of a product are in f32, so that kernels with other results leave none.
static const char *const coopmat_constants_f16[VKF_GEMM_COOPMAT_SPEC_COUNT] = {COOPMAT_CONSTANTS};
static const char *const coopmat_constants_f32[VKF_GEMM_COOPMAT_SPEC_COUNT] = {COOPMAT_CONSTANTS,
                                                                               CONSTANT(GEMM, SPLIT)};
#define SPLITS_f16 0u
#define SPLITS_f32 VKF_FORM_SPLIT

// A matrix belongs to the whole workgroup, so there are no sides of an invocation.
static const char *const coopmat2_constants[VKF_GEMM_SPEC_COUNT] = {TILE_CONSTANTS, PRODUCT_FLAGS};

static const vkf__config gemm_coopmat_configs[] = {
    {.name = "128x128",
     .subgroups = 8,
     GEMM_COOPMAT_TILE(128, 128, 32),
     SUBGROUP_TILE(64, 32),
     .min_m = 256,
     .min_n = 256,
     .by_cores = true},
    {.name = "128x128w",
     .subgroups = 4,
     GEMM_COOPMAT_TILE(128, 128, 32),
     SUBGROUP_TILE(64, 64),
     .min_m = 256,
     .min_n = 256},
    {.name = "64x64",
     .subgroups = 4,
     GEMM_COOPMAT_TILE(64, 64, 32),
     SUBGROUP_TILE(32, 32),
     .min_m = 48,
     .min_n = 48,
     .by_cores = true},
    {.name = "32x32", .subgroups = 4, GEMM_COOPMAT_TILE(32, 32, 16), SUBGROUP_TILE(16, 16), .by_cores = true},
};

// As deep as a run of sums in f16 may be.
static const vkf__config gemm_coopmat2_configs[] = {
    {.name = "128x256",
     .local_size = 256,
     GEMM_TILE(128, 256, 64),
     EACH(0, 0),
     .min_m = 256,
     .min_n = 512,
     .by_cores = true},
    {.name = "128x128",
     .local_size = 256,
     GEMM_TILE(128, 128, 64),
     EACH(0, 0),
     .min_m = 96,
     .min_n = 96,
     .by_cores = true},
    {.name = "64x64", .local_size = 128, GEMM_TILE(64, 64, 64), EACH(0, 0), .by_cores = true},
};

static const vkf__config gemm_coopmat2_element_configs[] = {
    {.name = "16x32", .subgroups = 1, GEMM_TILE(16, 32, 16), EACH(0, 0)},
};

static bool gemm_coopmat_valid(const vkf__config *config)
{
    const vkf__gemm_coopmat_tile *t = &config->tile.gemm_coopmat;
    return t->k > 0 && t->k % 8 == 0 && t->subgroup_m > 0 && t->subgroup_m % 8 == 0 && t->subgroup_n > 0 &&
           t->subgroup_n % 8 == 0 && t->m % t->subgroup_m == 0 && t->n % t->subgroup_n == 0 &&
           t->n % VKF_GEMM_PANEL == 0 && VKF_GEMM_SPLIT_STEP % t->k == 0 &&
           (t->m / t->subgroup_m) * (t->n / t->subgroup_n) == config->subgroups;
}

// A weight's blocks are as deep as whole tiles.
static bool gemm_coopmat_blocks_valid(const vkf__config *config)
{
    return gemm_coopmat_valid(config) && VKF_BLOCKS_DEPTH % config->tile.gemm_coopmat.k == 0;
}

static void gemm_matrix_tile(const vkf__config *config, uint32_t out_mnk[3])
{
    const vkf__gemm_coopmat_tile *t = &config->tile.gemm_coopmat;
    out_mnk[0] = t->subgroup_m;
    out_mnk[1] = t->subgroup_n;
    out_mnk[2] = t->k;
}

// A tile in chunks of eight elements, with one more per line as padding; the larger of the two ways to store it.
static uint32_t tile_chunks(uint32_t rows, uint32_t depth)
{
    uint32_t by_rows = rows * (depth / 8 + 1), by_depth = depth * (rows / 8 + 1);
    return by_rows > by_depth ? by_rows : by_depth;
}

// Two tiles each of a and b. In the end a row of matrices per subgroup takes their place.
static uint32_t gemm_coopmat_shared(const vkf__caps *caps, const vkf__kernel *kernel, const vkf__config *config,
                                    const vkf__problem *problem)
{
    const vkf__gemm_coopmat_tile *t = &config->tile.gemm_coopmat;
    uint32_t tiles = 2 * (tile_chunks(t->m, t->k) + tile_chunks(t->n, t->k));
    uint32_t sums = config->subgroups * vkf__matrix_shape_of(caps, kernel, config)->m * (t->subgroup_n / 4 + 1);
    (void)problem;
    return 16 * (tiles > sums ? tiles : sums);
}

static bool gemm_coopmat2_valid(const vkf__config *config)
{
    const vkf__gemm_tile *t = &config->tile.gemm;
    return t->m > 0 && t->n > 0 && t->n % VKF_GEMM_PANEL == 0 && t->k > 0 && t->thread_m == 0 && t->thread_n == 0 &&
           config->subgroups <= 1;
}

// Checks the device's flexible matrices of a workgroup or of a subgroup, with sums of a type. Clamped loads of a
// workgroup go by half of a tile's depth.
static const char *flexible_unfit(const vkf__caps *caps, const vkf__config *config, VkComponentTypeKHR sums,
                                  VkScopeKHR scope)
{
    const vkf__gemm_tile *t = &config->tile.gemm;
    const uint32_t depth = scope == VK_SCOPE_WORKGROUP_KHR ? t->k / 2 : t->k;
    bool fits = t->k <= caps->matrix.flexible_max_dimension &&
                vkf__matrix_find_flexible(&caps->matrix, VK_COMPONENT_TYPE_FLOAT16_KHR, sums, scope, config->local_size,
                                          t->m, t->n, depth);
    return fits ? NULL : "the device lists no matrices that its tiles are multiples of";
}

static const char *workgroup_unfit(const vkf__caps *caps, const vkf__config *config, VkComponentTypeKHR sums)
{
    if (config->local_size > caps->matrix.workgroup_scope_max_invocations)
        return "needs a larger workgroup for a matrix";
    return flexible_unfit(caps, config, sums, VK_SCOPE_WORKGROUP_KHR);
}

static const char *gemm_coopmat2_unfit(const vkf__caps *caps, const vkf__config *config, const vkf__problem *problem)
{
    (void)problem;
    return workgroup_unfit(caps, config, VK_COMPONENT_TYPE_FLOAT32_KHR);
}

// Its sums end in f32, so that matrices with these are wanted, too.
static const char *gemm_coopmat2_half_unfit(const vkf__caps *caps, const vkf__config *config,
                                            const vkf__problem *problem)
{
    const char *why = workgroup_unfit(caps, config, VK_COMPONENT_TYPE_FLOAT16_KHR);
    return why ? why : gemm_coopmat2_unfit(caps, config, problem);
}

static const char *gemm_coopmat2_element_unfit(const vkf__caps *caps, const vkf__config *config,
                                               const vkf__problem *problem)
{
    (void)problem;
    return flexible_unfit(caps, config, VK_COMPONENT_TYPE_FLOAT32_KHR, VK_SCOPE_SUBGROUP_KHR);
}

// The driver reserves this memory for itself.
static uint32_t gemm_coopmat2_shared(const vkf__caps *caps, const vkf__kernel *kernel, const vkf__config *config,
                                     const vkf__problem *problem)
{
    (void)kernel;
    (void)config;
    (void)problem;
    return caps->matrix.workgroup_scope_reserved_bytes;
}

static bool gemm_coopmat_half_valid(const vkf__config *config)
{
    return gemm_coopmat_valid(config) && config->tile.gemm_coopmat.k <= VKF_GEMM_HALF_RUN;
}

static bool gemm_coopmat2_half_valid(const vkf__config *config)
{
    return gemm_coopmat2_valid(config) && config->tile.gemm.k <= VKF_GEMM_HALF_RUN;
}

#define MATRIX PRODUCT, .b_layouts = B_KN | B_NK | B_PANELS, .rounds = true

// a and b are fetched in words, whatever their type.
#define COOPMAT_TILES(d)                                                                              \
    CONSTANTS(coopmat_constants_##d), CONFIGS(gemm_coopmat_configs), .matrix_tile = gemm_matrix_tile, \
                                                                     .shared_bytes_here = gemm_coopmat_shared
#define COOPMAT(d) COOPMAT_TILES(d), .rung = VKF_RUNG_MATRICES
#define GEMM_COOPMAT(a, b, d)                                                           \
    {                                                                                   \
        .name = NAME_3("gemm_coopmat", a, b, d), TYPES_3(a, b, d), MATRIX,              \
        .offers = VKF_FORM_TRANSPOSED_A | SPLITS_##d, .matrix = VKF_MATRIX_F16,         \
        .needs = VKF_NEEDS_MATRIX | STORAGE(d), .valid = gemm_coopmat_valid, COOPMAT(d) \
    }
// With sums of short runs in f16, for the types of gemm_half.
#define GEMM_COOPMAT_HALF(a, b, d)                                                                      \
    {                                                                                                   \
        .name = NAME_3("gemm_coopmat_half", a, b, d), TYPES_3(a, b, d), MATRIX,                         \
        .offers = VKF_FORM_TRANSPOSED_A | SPLITS_##d, .matrix = VKF_MATRIX_F16_SUMS, .half_sums = true, \
        .needs = VKF_NEEDS_MATRIX | STORAGE(d), .valid = gemm_coopmat_half_valid, COOPMAT_TILES(d),     \
        .rung = VKF_RUNG_MATRICES_HALF                                                                  \
    }
#define GEMM_COOPMAT_BF16(a, b, d)                                                                              \
    {                                                                                                           \
        .name = NAME_3("gemm_coopmat", a, b, d), TYPES_3(a, b, d), MATRIX,                                      \
        .offers = VKF_FORM_TRANSPOSED_A | SPLITS_##d, .matrix = VKF_MATRIX_BF16,                                \
        .needs = VKF_NEEDS_MATRIX | VKF_NEEDS_MATRIX_BF16 | STORAGE(d), .valid = gemm_coopmat_valid, COOPMAT(d) \
    }
// Weights in blocks. All kinds of blocks share modules, which are named by the types of a and d.
#define GEMM_COOPMAT_BLOCKS(a, b, d)                                                                          \
    {                                                                                                         \
        .name = NAME_3("gemm_coopmat_blocks", a, b, d), TYPES_3(a, b, d), PRODUCT, .rounds = true,            \
        .module = "gemm_coopmat_blocks." #a "_" #d, .b_layouts = B_PANELS, .offers = SPLITS_##d,              \
        .matrix = VKF_MATRIX_F16, .needs = VKF_NEEDS_MATRIX | STORAGE(d), .valid = gemm_coopmat_blocks_valid, \
        COOPMAT(d)                                                                                            \
    }

// A factor in f32 is converted from one matrix use to another.
#define CONVERSION_f32 VKF_NEEDS_MATRIX_CONVERSION
#define CONVERSION_f16 0u
#define FLEXIBLE (VKF_NEEDS_MATRIX | VKF_NEEDS_MATRIX_FLEXIBLE | VKF_NEEDS_MATRIX_ELEMENT)
#define GEMM_COOPMAT2(a, b, d)                                                                               \
    {                                                                                                        \
        .name = NAME_3("gemm_coopmat2", a, b, d), TYPES_3(a, b, d), MATRIX, .offers = VKF_FORM_TRANSPOSED_A, \
        CONSTANTS(coopmat2_constants),                                                                       \
        .needs = FLEXIBLE | VKF_NEEDS_MATRIX_TENSOR | CONVERSION_##a | STORAGE_3(a, b, d),                   \
        CONFIGS(gemm_coopmat2_configs), .valid = gemm_coopmat2_valid, .unfit = gemm_coopmat2_unfit,          \
        .shared_bytes_here = gemm_coopmat2_shared, .rung = VKF_RUNG_TENSORS                                  \
    }
#define GEMM_COOPMAT2_HALF(a, b, d)                                                                               \
    {                                                                                                             \
        .name = NAME_3("gemm_coopmat2_half", a, b, d), TYPES_3(a, b, d), MATRIX, .offers = VKF_FORM_TRANSPOSED_A, \
        CONSTANTS(coopmat2_constants), .half_sums = true,                                                         \
        .needs = FLEXIBLE | VKF_NEEDS_MATRIX_TENSOR | CONVERSION_##a | STORAGE_3(a, b, d),                        \
        CONFIGS(gemm_coopmat2_configs), .valid = gemm_coopmat2_half_valid, .unfit = gemm_coopmat2_half_unfit,     \
        .shared_bytes_here = gemm_coopmat2_shared, .rung = VKF_RUNG_TENSORS_HALF                                  \
    }
// Weights in blocks, whose elements the driver has decoded one by one on their way into a workgroup's matrices.
#define COOPMAT2_BLOCKS(kernel, a, b, d)                                                                        \
    .name = NAME_3(kernel, a, b, d), TYPES_3(a, b, d), PRODUCT, .rounds = true, .module = kernel "." #a "_" #d, \
    .b_layouts = B_PANELS, CONSTANTS(coopmat2_constants)
#define COOPMAT2_DECODED(a, d)                                                                                 \
    .needs = FLEXIBLE | VKF_NEEDS_MATRIX_TENSOR | VKF_NEEDS_MATRIX_DECODED | CONVERSION_##a | STORAGE_2(a, d), \
    .shared_bytes_here = gemm_coopmat2_shared
#define GEMM_COOPMAT2_BLOCKS(a, b, d)                                                                             \
    {                                                                                                             \
        COOPMAT2_BLOCKS("gemm_coopmat2_blocks", a, b, d), COOPMAT2_DECODED(a, d), CONFIGS(gemm_coopmat2_configs), \
            .valid = gemm_coopmat2_valid, .unfit = gemm_coopmat2_unfit, .rung = VKF_RUNG_TENSORS                  \
    }
#define GEMM_COOPMAT2_HALF_BLOCKS(a, b, d)                                                        \
    {                                                                                             \
        COOPMAT2_BLOCKS("gemm_coopmat2_half_blocks", a, b, d), COOPMAT2_DECODED(a, d),            \
            .half_sums = true, CONFIGS(gemm_coopmat2_configs), .valid = gemm_coopmat2_half_valid, \
            .unfit = gemm_coopmat2_half_unfit, .rung = VKF_RUNG_TENSORS_HALF                      \
    }
#define GEMM_COOPMAT2_ELEMENT_BLOCKS(a, b, d)                                                                          \
    {                                                                                                                  \
        COOPMAT2_BLOCKS("gemm_coopmat2_element_blocks", a, b, d),                                                      \
            .needs = FLEXIBLE | STORAGE_2(a, d), CONFIGS(gemm_coopmat2_element_configs), .valid = gemm_coopmat2_valid, \
            .unfit = gemm_coopmat2_element_unfit, .rung = VKF_RUNG_MATRIX_ELEMENTS                                     \
    }
#define GEMM_COOPMAT2_ELEMENT(a, b, d)                                                                                 \
    {                                                                                                                  \
        .name = NAME_3("gemm_coopmat2_element", a, b, d), TYPES_3(a, b, d), MATRIX, .offers = VKF_FORM_TRANSPOSED_A,   \
        CONSTANTS(coopmat2_constants), .needs = FLEXIBLE | STORAGE_3(a, b, d), CONFIGS(gemm_coopmat2_element_configs), \
        .valid = gemm_coopmat2_valid, .unfit = gemm_coopmat2_element_unfit, .rung = VKF_RUNG_MATRIX_ELEMENTS           \
    }

static const vkf__kernel rows[] = {
    GEMM_COOPMAT(f32, f16, f32),
    GEMM_COOPMAT(f16, f16, f32),
    GEMM_COOPMAT(f16, f16, f16),
    GEMM_COOPMAT(f32, f16, f16),
    GEMM_COOPMAT_BF16(f32, bf16, f32),
    GEMM_COOPMAT2(f32, f16, f32),
    GEMM_COOPMAT2(f16, f16, f32),
    GEMM_COOPMAT2(f16, f16, f16),
    GEMM_COOPMAT2(f32, f16, f16),
    GEMM_COOPMAT2_ELEMENT(f32, f16, f32),
    GEMM_COOPMAT2_ELEMENT(f16, f16, f16),
    GEMM_COOPMAT_BLOCKS(f32, q8, f32),
    GEMM_COOPMAT_BLOCKS(f16, q8, f32),
    GEMM_COOPMAT_BLOCKS(f16, q8, f16),
    GEMM_COOPMAT_BLOCKS(f32, q4, f32),
    GEMM_COOPMAT_BLOCKS(f16, q4, f32),
    GEMM_COOPMAT_BLOCKS(f16, q4, f16),
    GEMM_COOPMAT_HALF(f32, f16, f32),
    GEMM_COOPMAT_HALF(f16, f16, f32),
    GEMM_COOPMAT_HALF(f16, f16, f16),
    GEMM_COOPMAT2_HALF(f32, f16, f32),
    GEMM_COOPMAT2_HALF(f16, f16, f32),
    GEMM_COOPMAT2_HALF(f16, f16, f16),
    GEMM_COOPMAT2_BLOCKS(f32, q8, f32),
    GEMM_COOPMAT2_BLOCKS(f16, q8, f32),
    GEMM_COOPMAT2_BLOCKS(f16, q8, f16),
    GEMM_COOPMAT2_BLOCKS(f32, q4, f32),
    GEMM_COOPMAT2_BLOCKS(f16, q4, f32),
    GEMM_COOPMAT2_BLOCKS(f16, q4, f16),
    GEMM_COOPMAT2_HALF_BLOCKS(f32, q8, f32),
    GEMM_COOPMAT2_HALF_BLOCKS(f16, q8, f32),
    GEMM_COOPMAT2_HALF_BLOCKS(f16, q8, f16),
    GEMM_COOPMAT2_HALF_BLOCKS(f32, q4, f32),
    GEMM_COOPMAT2_HALF_BLOCKS(f16, q4, f32),
    GEMM_COOPMAT2_HALF_BLOCKS(f16, q4, f16),
    GEMM_COOPMAT2_ELEMENT_BLOCKS(f16, q8, f16),
    GEMM_COOPMAT2_ELEMENT_BLOCKS(f16, q4, f16),
};

const vkf__family vkf__gemm_matrix_family = {rows, COUNT(rows)};
