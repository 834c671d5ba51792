// Kernels for the gradients of operators on rows, with a workgroup or a subgroup per row, and for sums over rows.
#include "kernel/registry_families.h"
#include "kernel/registry_row.h"
#include "shared/column_sum.h"
#include "shared/layer_norm_grad.h"
#include "shared/norm_gradients.h"
#include "shared/softmax_grad.h"

// A workgroup per row; n is the length of a row.
static const vkf__config row_configs[] = {
    {.name = "row256", .local_size = 256, .min_n = 1024},
    {.name = "row64", .local_size = 64, .min_n = 64},
    {.name = "row16", .local_size = 16},
};

// A subgroup per row.
static const vkf__config row_subgroup_configs[] = {
    {.name = "rows64", .local_size = 64},
};

// Four sums per invocation.
static uint32_t norm_shared_bytes(const vkf__config *config)
{
    return 4 * 4 * config->local_size;
}

static uint32_t softmax_shared_bytes(const vkf__config *config)
{
    return 4 * config->local_size;
}

static const char *const layer_norm_grad_constants[VKF_LAYER_NORM_GRAD_SPEC_COUNT] = {
    LOCAL_SIZE,
    CONSTANT(LAYER_NORM_GRAD, RMS),
    CONSTANT(LAYER_NORM_GRAD, HAS_WEIGHT),
};
static const char *const norm_stats_constants[VKF_NORM_STATS_SPEC_COUNT] = {
    LOCAL_SIZE,
    CONSTANT(LAYER_NORM_GRAD, RMS),
};
static const char *const norm_gradients_constants[VKF_NORM_GRADIENTS_SPEC_COUNT] = {
    LOCAL_SIZE,
    CONSTANT(NORM_GRADIENTS, RMS),
    CONSTANT(NORM_GRADIENTS, HAS_BIAS),
    CONSTANT(NORM_GRADIENTS, EACH),
};
static const char *const softmax_grad_constants[VKF_SOFTMAX_GRAD_SPEC_COUNT] = {LOCAL_SIZE};
static const char *const column_sum_constants[VKF_COLUMN_SUM_SPEC_COUNT] = {LOCAL_SIZE, CONSTANT(COLUMN_SUM, NORM)};

// A kernel with a subgroup per row and one with a workgroup, in this order; `row` is what they share.
#define ROW_PAIR(shader, x, row, shared)                                                                               \
    {.name = NAME_1(shader "_subgroup", x),                                                                            \
     TYPES_1(x),                                                                                                       \
     row,                                                                                                              \
     .needs = VKF_NEEDS_SUBGROUP | STORAGE(x),                                                                         \
     CONFIGS(row_subgroup_configs),                                                                                    \
     .rung = VKF_RUNG_SUBGROUP},                                                                                       \
    {                                                                                                                  \
        .name = NAME_1(shader, x), TYPES_1(x), row, .needs = STORAGE(x), CONFIGS(row_configs), .shared_bytes = shared, \
        .valid = vkf__halves_to_one                                                                                    \
    }

#define LAYER_NORM_GRAD_ROW                                                               \
    .op = VKF_OP_LAYER_NORM_GRAD, .operand_count = 4, PARAMS(vkf_layer_norm_grad_params), \
    CONSTANTS(layer_norm_grad_constants)
#define LAYER_NORM_GRAD(x) ROW_PAIR("layer_norm_grad", x, LAYER_NORM_GRAD_ROW, norm_shared_bytes)

#define NORM_STATS_ROW \
    .op = VKF_OP_NORM_STATS, .operand_count = 2, PARAMS(vkf_layer_norm_grad_params), CONSTANTS(norm_stats_constants)
#define NORM_STATS(x) ROW_PAIR("norm_stats", x, NORM_STATS_ROW, norm_shared_bytes)

// An invocation has five numbers in registers for each of its columns, and compilers fetch the next row's meanwhile.
static uint32_t most_columns(uint32_t registers)
{
    return registers >= 256 ? VKF_NORM_GRADIENTS_MOST_EACH : registers >= 128 ? 8 : 4;
}

// The invocations of a row hold all of it.
static const char *norm_gradients_unfit(const vkf__caps *caps, const vkf__config *config, const vkf__problem *problem)
{
    (void)config;
    if (caps->least_subgroup_size == 0)
        return "needs to know how small subgroups may be";
    const uint32_t longest = most_columns(caps->traits.registers) * caps->least_subgroup_size;
    return problem && problem->n > longest ? "takes shorter rows" : NULL;
}

#define NORM_GRADIENTS(x)                                                                                 \
    {                                                                                                     \
        .name = NAME_1("norm_gradients", x), TYPES_1(x), .op = VKF_OP_NORM_GRADIENTS,                     \
        .needs = VKF_NEEDS_SUBGROUP | STORAGE(x), .operand_count = 5, PARAMS(vkf_norm_gradients_params),  \
        CONSTANTS(norm_gradients_constants), CONFIGS(row_subgroup_configs), .unfit = norm_gradients_unfit \
    }

#define SOFTMAX_GRAD_ROW \
    .op = VKF_OP_SOFTMAX_GRAD, .operand_count = 3, PARAMS(vkf_softmax_grad_params), CONSTANTS(softmax_grad_constants)
#define SOFTMAX_GRAD(x) ROW_PAIR("softmax_grad", x, SOFTMAX_GRAD_ROW, softmax_shared_bytes)

// Columns beyond a row's are read again for nothing.
static const vkf__config column_sum_configs[] = {
    {.name = "flat128", .local_size = 128, .min_n = 512},
    {.name = "flat64", .local_size = 64, .min_n = 256},
    {.name = "flat32", .local_size = 32},
};

#define COLUMN_SUM(x)                                                                                                  \
    {                                                                                                                  \
        .name = NAME_1("column_sum", x), TYPES_1(x), .op = VKF_OP_COLUMN_SUM, .needs = STORAGE(x), .operand_count = 4, \
        PARAMS(vkf_column_sum_params), CONSTANTS(column_sum_constants), CONFIGS(column_sum_configs)                    \
    }

static const vkf__kernel rows[] = {
    LAYER_NORM_GRAD(f32), NORM_STATS(f32), NORM_GRADIENTS(f32), COLUMN_SUM(f32), SOFTMAX_GRAD(f32),
};

const vkf__family vkf__grad_rows_family = {rows, COUNT(rows)};
