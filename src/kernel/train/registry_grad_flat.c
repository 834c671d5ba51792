// Kernels of training in which an invocation handles one element, or a few elements of a row.
#include "kernel/registry_families.h"
#include "kernel/registry_row.h"
#include "shared/activation_grad.h"
#include "shared/additive_grad.h"
#include "shared/dropout.h"
#include "shared/embed_grad.h"
#include "shared/gate_grad.h"
#include "shared/pool_grad.h"
#include "shared/sink_grad.h"

// A workgroup per sequence, and then parts of rows; n is the length of a row.
static const vkf__config pool_grad_configs[] = {
    {.name = "row256", .local_size = 256, .min_n = 1024},
    {.name = "row64", .local_size = 64, .min_n = 64},
    {.name = "row16", .local_size = 16},
};

// Two sums per invocation.
static uint32_t pool_grad_shared_bytes(const vkf__config *config)
{
    return 4 * 2 * config->local_size;
}

static const char *const activation_grad_constants[VKF_ACTIVATION_GRAD_SPEC_COUNT] = {
    LOCAL_SIZE, CONSTANT(ACTIVATION_GRAD, ACTIVATION)};
static const char *const gate_grad_constants[VKF_GATE_GRAD_SPEC_COUNT] = {LOCAL_SIZE, CONSTANT(GATE_GRAD, ACTIVATION)};
static const char *const dropout_constants[VKF_DROPOUT_SPEC_COUNT] = {LOCAL_SIZE, CONSTANT(DROPOUT, HAS_RESIDUAL)};
static const char *const embed_grad_constants[VKF_EMBED_GRAD_SPEC_COUNT] = {LOCAL_SIZE};
static const char *const sink_grad_constants[VKF_SINK_GRAD_SPEC_COUNT] = {LOCAL_SIZE};
static const char *const additive_grad_constants[VKF_ADDITIVE_GRAD_SPEC_COUNT] = {LOCAL_SIZE,
                                                                                  CONSTANT(ADDITIVE_GRAD, KIND)};
static const char *const pool_grad_constants[VKF_POOL_GRAD_SPEC_COUNT] = {
    LOCAL_SIZE,
    CONSTANT(POOL_GRAD, MODE),
    CONSTANT(POOL_GRAD, NORMALISE),
};

#define FLAT(params) PARAMS(params), CONFIGS(vkf__flat_configs)

#define ACTIVATION_GRAD(x)                                                                                   \
    {                                                                                                        \
        .name = NAME_1("activation_grad", x), TYPES_1(x), .op = VKF_OP_ACTIVATION_GRAD, .needs = STORAGE(x), \
        .operand_count = 3, WHOLE_ROW(vkf_activation_grad_params), CONSTANTS(activation_grad_constants)      \
    }
#define GATE_GRAD(x)                                                                                                 \
    {                                                                                                                \
        .name = NAME_1("gate_grad", x), TYPES_1(x), .op = VKF_OP_GATE_GRAD, .needs = STORAGE(x), .operand_count = 3, \
        FLAT(vkf_gate_grad_params), CONSTANTS(gate_grad_constants)                                                   \
    }
#define DROPOUT(x)                                                                                               \
    {                                                                                                            \
        .name = NAME_1("dropout", x), TYPES_1(x), .op = VKF_OP_DROPOUT, .needs = STORAGE(x), .operand_count = 3, \
        FLAT(vkf_dropout_params), CONSTANTS(dropout_constants)                                                   \
    }
#define SINK_GRAD(x)                                                                                                 \
    {                                                                                                                \
        .name = NAME_1("sink_grad", x), TYPES_1(x), .op = VKF_OP_SINK_GRAD, .needs = STORAGE(x), .operand_count = 4, \
        FLAT(vkf_sink_grad_params), CONSTANTS(sink_grad_constants)                                                   \
    }
#define EMBED_GRAD(x)                                                                                                  \
    {                                                                                                                  \
        .name = NAME_1("embed_grad", x), TYPES_1(x), .op = VKF_OP_EMBED_GRAD, .needs = STORAGE(x), .operand_count = 3, \
        FLAT(vkf_embed_grad_params), CONSTANTS(embed_grad_constants)                                                   \
    }
#define ADDITIVE_GRAD(x)                                                                                 \
    {                                                                                                    \
        .name = NAME_1("additive_grad", x), TYPES_1(x), .op = VKF_OP_ADDITIVE_GRAD, .needs = STORAGE(x), \
        .operand_count = 4, FLAT(vkf_additive_grad_params), CONSTANTS(additive_grad_constants)           \
    }
#define POOL_GRAD(x)                                                                                                 \
    {                                                                                                                \
        .name = NAME_1("pool_grad", x), TYPES_1(x), .op = VKF_OP_POOL_GRAD, .needs = STORAGE(x), .operand_count = 4, \
        PARAMS(vkf_pool_grad_params), CONSTANTS(pool_grad_constants), CONFIGS(pool_grad_configs),                    \
        .shared_bytes = pool_grad_shared_bytes, .valid = vkf__halves_to_one                                          \
    }

static const vkf__kernel rows[] = {
    ACTIVATION_GRAD(f32), GATE_GRAD(f32), DROPOUT(f32),       SINK_GRAD(f32),
    EMBED_GRAD(f32),      POOL_GRAD(f32), ADDITIVE_GRAD(f32),
};

const vkf__family vkf__grad_flat_family = {rows, COUNT(rows)};
