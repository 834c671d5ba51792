// Kernels that work on the rows of a matrix, with a workgroup or a subgroup per row.
#include "base/size.h"
#include "kernel/registry_families.h"
#include "kernel/registry_row.h"
#include "shared/argmax.h"
#include "shared/layer_norm.h"
#include "shared/pool.h"
#include "shared/rotary.h"
#include "shared/sample.h"
#include "shared/softmax.h"
#include "shared/top.h"

// A workgroup per row; n is the length of a row.
static const vkf__config row_configs[] = {
    {.name = "row256", .local_size = 256, .min_n = 1024},
    {.name = "row64", .local_size = 64, .min_n = 64},
    {.name = "row16", .local_size = 16},
};

// Few rows, as in decoding, leave a device idle; then a row is read in one step.
static const vkf__config norm_configs[] = {
    {.name = "row1024", .local_size = 1024, .max_m = 8, .min_n = 2048},
    {.name = "row256", .local_size = 256, .min_n = 1024},
    {.name = "row64", .local_size = 64, .min_n = 64},
    {.name = "row16", .local_size = 16},
};

// A subgroup per row.
static const vkf__config row_subgroup_configs[] = {
    {.name = "rows64", .local_size = 64},
};

static uint32_t row_shared_bytes(const vkf__config *config)
{
    return 4 * 2 * config->local_size;
}

// A float per invocation.
static uint32_t row_float_shared_bytes(const vkf__config *config)
{
    return 4 * config->local_size;
}

// Room for the two reductions, the histogram, the sums of its groups, and the results.
static uint32_t sample_shared_bytes(const vkf__config *config)
{
    return 4 * (3 * config->local_size + VKF_SAMPLE_BINS + VKF_SAMPLE_BIN_GROUPS + 5);
}

static uint32_t sample_parts_shared_bytes(const vkf__config *config)
{
    return 4 * (3 * config->local_size + VKF_SAMPLE_PARTS_BINS + VKF_SAMPLE_PARTS_BIN_GROUPS + 5);
}

// A key, an index and a partial sum per invocation.
static uint32_t top_shared_bytes(const vkf__config *config)
{
    return 4 * 3 * config->local_size;
}

static bool sample_valid(const vkf__config *config)
{
    return vkf__halves_to_one(config) && config->local_size >= VKF_SAMPLE_BIN_GROUPS;
}

static bool sample_parts_valid(const vkf__config *config)
{
    return vkf__halves_to_one(config) && config->local_size >= VKF_SAMPLE_PARTS_BIN_GROUPS;
}

bool vkf__halves_to_one(const vkf__config *config)
{
    return vkf__is_power_of_two_u64(config->local_size);
}

// A row is as long as a vocabulary, and there are few rows.
static const vkf__config sample_configs[] = {
    {.name = "row256", .local_size = 256, .min_n = 4096},
    {.name = "row128", .local_size = 128, .min_n = 512},
    {.name = "row64", .local_size = 64},
};

static const vkf__config sample_parts_configs[] = {
    {.name = "parts256", .local_size = 256, .min_n = 4096},
    {.name = "parts64", .local_size = 64},
};

static const char *const softmax_constants[VKF_SOFTMAX_SPEC_COUNT] = {
    LOCAL_SIZE,
    CONSTANT(SOFTMAX, MASK_KIND),
    CONSTANT(SOFTMAX, KEY_MASK_KIND),
    CONSTANT(SOFTMAX, CAUSAL),
    CONSTANT(SOFTMAX, WINDOW),
    CONSTANT(SOFTMAX, FULLY_MASKED),
    CONSTANT(SOFTMAX, SCORE_FORM),
    CONSTANT(SOFTMAX, LOGARITHM),
};

#define LAYER_NORM_CONSTANTS                                                                                 \
    LOCAL_SIZE, CONSTANT(LAYER_NORM, HAS_WEIGHT), CONSTANT(LAYER_NORM, HAS_BIAS), CONSTANT(LAYER_NORM, RMS), \
        CONSTANT(LAYER_NORM, EACH)
static const char *const layer_norm_constants[VKF_LAYER_NORM_SPEC_COUNT] = {LAYER_NORM_CONSTANTS};
static const char *const layer_norm_residual_constants[VKF_LAYER_NORM_RESIDUAL_SPEC_COUNT] = {
    LAYER_NORM_CONSTANTS, CONSTANT(LAYER_NORM, RESIDUAL_AFTER)};

static const char *const rotary_constants[VKF_ROTARY_SPEC_COUNT] = {
    LOCAL_SIZE,
    CONSTANT(ROTARY, WEIGHT),
    CONSTANT(ROTARY, HAS_TABLE),
    CONSTANT(ROTARY, POSITIONS),
    CONSTANT(ROTARY, INTERLEAVED),
};
static const char *const pool_constants[VKF_POOL_SPEC_COUNT] = {
    LOCAL_SIZE,
    CONSTANT(POOL, MODE),
    CONSTANT(POOL, NORMALISE),
};
static const char *const argmax_constants[VKF_ARGMAX_SPEC_COUNT] = {LOCAL_SIZE};
static const char *const sample_constants[VKF_SAMPLE_SPEC_COUNT] = {LOCAL_SIZE, CONSTANT(SAMPLE, HAS_SEEN)};
static const char *const top_constants[VKF_TOP_SPEC_COUNT] = {LOCAL_SIZE};

// What the rows with a subgroup, or with a workgroup, per row of the matrix have besides what both share.
#define BY_SUBGROUP CONFIGS(row_subgroup_configs), .rung = VKF_RUNG_SUBGROUP
#define BY_WORKGROUP(configs, shared) CONFIGS(configs), .shared_bytes = shared, .valid = vkf__halves_to_one

// Both, in this order; `row` is what they share, row##_BY_WORKGROUP belongs to the second.
#define ROW_PAIR(shader, x, y, row)                                                                    \
    {.name = NAME_2(shader "_subgroup", x, y),                                                         \
     TYPES_2(x, y),                                                                                    \
     row,                                                                                              \
     .needs = VKF_NEEDS_SUBGROUP | STORAGE_2(x, y),                                                    \
     BY_SUBGROUP},                                                                                     \
    {                                                                                                  \
        .name = NAME_2(shader, x, y), TYPES_2(x, y), row, .needs = STORAGE_2(x, y), row##_BY_WORKGROUP \
    }

#define SOFTMAX_ROW                                                                            \
    .op = VKF_OP_SOFTMAX, .operand_count = VKF_SOFTMAX_BINDING_SINKS,                          \
    .operands[VKF_SOFTMAX_BINDING_SLOPES - 1] = VKF_OPERAND_VALUES,                            \
    .operands[VKF_SOFTMAX_BINDING_SINKS - 1] = VKF_OPERAND_VALUES, PARAMS(vkf_softmax_params), \
    CONSTANTS(softmax_constants)
#define SOFTMAX_ROW_BY_WORKGROUP BY_WORKGROUP(row_configs, row_shared_bytes)
#define SOFTMAX(x, out) ROW_PAIR("softmax", x, out, SOFTMAX_ROW)

#define LAYER_NORM_ROW \
    .op = VKF_OP_LAYER_NORM, .operand_count = 4, PARAMS(vkf_layer_norm_params), CONSTANTS(layer_norm_constants)
#define LAYER_NORM_ROW_BY_WORKGROUP BY_WORKGROUP(norm_configs, row_shared_bytes)
#define LAYER_NORM(x, w) ROW_PAIR("layer_norm", x, w, LAYER_NORM_ROW)

#define LAYER_NORM_RESIDUAL_ROW                                                          \
    .op = VKF_OP_LAYER_NORM_RESIDUAL, .operand_count = 5, PARAMS(vkf_layer_norm_params), \
    CONSTANTS(layer_norm_residual_constants)
#define LAYER_NORM_RESIDUAL_ROW_BY_WORKGROUP BY_WORKGROUP(norm_configs, row_shared_bytes)
#define LAYER_NORM_RESIDUAL(x, w) ROW_PAIR("layer_norm_residual", x, w, LAYER_NORM_RESIDUAL_ROW)

#define ROTARY_ROW .op = VKF_OP_ROTARY, .operand_count = 4, PARAMS(vkf_rotary_params), CONSTANTS(rotary_constants)
#define ROTARY_ROW_BY_WORKGROUP BY_WORKGROUP(row_configs, row_float_shared_bytes)
#define ROTARY(x, out) ROW_PAIR("rotary", x, out, ROTARY_ROW)

// The output holds indices, which the name does not mention.
#define AND_INDEX(x) .types = {ELEMENT_##x, VKF_DTYPE_I32}, .type_count = 2
#define ARGMAX(x)                                                                                                \
    {                                                                                                            \
        .name = NAME_1("argmax", x), AND_INDEX(x), .op = VKF_OP_ARGMAX, .needs = STORAGE(x), .operand_count = 2, \
        PARAMS(vkf_argmax_params), CONSTANTS(argmax_constants), BY_WORKGROUP(row_configs, row_shared_bytes)      \
    }
#define SAMPLE(x)                                                                                                \
    {                                                                                                            \
        .name = NAME_1("sample", x), AND_INDEX(x), .op = VKF_OP_SAMPLE, .needs = STORAGE(x), .operand_count = 3, \
        PARAMS(vkf_sample_params), CONSTANTS(sample_constants), CONFIGS(sample_configs),                         \
        .shared_bytes = sample_shared_bytes, .valid = sample_valid                                               \
    }
#define SAMPLE_PARTS(x)                                                                                                \
    {                                                                                                                  \
        .name = NAME_1("sample_parts", x), AND_INDEX(x), .op = VKF_OP_SAMPLE, .needs = STORAGE(x), .operand_count = 4, \
        PARAMS(vkf_sample_params), CONSTANTS(sample_constants), CONFIGS(sample_parts_configs),                         \
        .shared_bytes = sample_parts_shared_bytes, .valid = sample_parts_valid, .rung = VKF_RUNG_PARTS,                \
        .by_parts = true                                                                                               \
    }
#define TOP(x)                                                                                                       \
    {                                                                                                                \
        .name = NAME_1("top", x), TYPES_1(x), .op = VKF_OP_TOP, .needs = STORAGE(x), .operand_count = 3,             \
        PARAMS(vkf_top_params), CONSTANTS(top_constants), CONFIGS(sample_configs), .shared_bytes = top_shared_bytes, \
        .valid = vkf__halves_to_one                                                                                  \
    }
#define POOL(x)                                                                                               \
    {                                                                                                         \
        .name = NAME_1("pool", x), TYPES_1(x), .op = VKF_OP_POOL, .needs = STORAGE(x), .operand_count = 3,    \
        PARAMS(vkf_pool_params), CONSTANTS(pool_constants), BY_WORKGROUP(row_configs, row_float_shared_bytes) \
    }

static const vkf__kernel rows[] = {
    SOFTMAX(f32, f32),
    SOFTMAX(f16, f16),
    SOFTMAX(f16p, f16p),
    LAYER_NORM(f32, f32),
    LAYER_NORM(f32, f16),
    LAYER_NORM(f32, f16p),
    LAYER_NORM(f32, bf16p),
    LAYER_NORM(f16, f16),
    LAYER_NORM(f16p, f16p),
    LAYER_NORM_RESIDUAL(f32, f32),
    LAYER_NORM_RESIDUAL(f32, f16),
    LAYER_NORM_RESIDUAL(f32, f16p),
    LAYER_NORM_RESIDUAL(f32, bf16p),
    LAYER_NORM_RESIDUAL(f16, f16),
    LAYER_NORM_RESIDUAL(f16p, f16p),
    ARGMAX(f32),
    ARGMAX(f16),
    ARGMAX(f16p),
    SAMPLE(f32),
    SAMPLE_PARTS(f32),
    TOP(f32),
    POOL(f32),
    POOL(f16),
    POOL(f16p),
    ROTARY(f32, f32),
    ROTARY(f32, f16),
    ROTARY(f32, f16p),
    ROTARY(f16, f16),
    ROTARY(f16p, f16p),
};

const vkf__family vkf__rows_family = {rows, COUNT(rows)};
