// Kernels in which an invocation handles one element, or a few elements of a row.
#include "base/size.h"
#include "kernel/registry_families.h"
#include "kernel/registry_row.h"
#include "shared/activation.h"
#include "shared/additive_scores.h"
#include "shared/copy.h"
#include "shared/embed.h"
#include "shared/gate.h"
#include "shared/gemm_reduce.h"
#include "shared/head_mean.h"
#include "shared/index.h"
#include "shared/pack.h"
#include "shared/permute.h"
#include "shared/quantize_linear.h"
#include "shared/quantize_rows.h"
#include "shared/reorder.h"

const vkf__config vkf__flat_configs[] = {
    {.name = "flat128", .local_size = 128},
    {.name = "flat64", .local_size = 64},
};

// The elements count as one row, of which a workgroup may take any number. On processors large ones take less time:
// with 1024 invocations two gradients of 262,144 elements and two of 393,216 took 1.7 ms, and 3.6 with 128 (lavapipe,
// Mesa 26.2.6).
const vkf__config vkf__whole_row_configs[] = {
    {.name = "flat1024", .local_size = 1024},
    {.name = "flat128", .local_size = 128},
    {.name = "flat64", .local_size = 64},
};

const char *vkf__whole_row_unfit(const vkf__caps *caps, const vkf__config *config, const vkf__problem *problem)
{
    (void)problem;
    return config->local_size > 128 && !caps->traits.prefers_large_workgroups ? "takes more invocations than pay"
                                                                              : NULL;
}

// Each workgroup with a part of a row that is normalised reads all of it. So it takes as much of one as it can.
static const vkf__config quantize_rows_configs[] = {
    {.name = "norm1024", .local_size = 1024}, {.name = "norm512", .local_size = 512},
    {.name = "norm256", .local_size = 256},   {.name = "flat128", .local_size = 128},
    {.name = "flat64", .local_size = 64},
};

static const char *quantize_rows_unfit(const vkf__caps *caps, const vkf__config *config, const vkf__problem *problem)
{
    (void)caps;
    return problem && !(problem->wants & VKF_FORM_NORMED) && config->local_size > vkf__flat_configs[0].local_size
               ? "is for rows that are normalised"
               : NULL;
}

// A magnitude, a sum and two sums of moments per invocation.
static uint32_t quantize_rows_shared_bytes(const vkf__config *config)
{
    return 4 * 4 * config->local_size;
}

static bool quantize_rows_valid(const vkf__config *config)
{
    return vkf__is_power_of_two_u64(config->local_size) &&
           config->local_size % (VKF_QUANTIZE_ROWS_DEPTH / VKF_QUANTIZE_ROWS_RUN) == 0;
}

static const char *const embed_constants[VKF_EMBED_SPEC_COUNT] = {
    LOCAL_SIZE,
    CONSTANT(EMBED, HAS_POSITIONS),
    CONSTANT(EMBED, PADDING_LEADS),
};
static const char *const gemm_reduce_constants[VKF_GEMM_REDUCE_SPEC_COUNT] = {
    LOCAL_SIZE,
    CONSTANT(GEMM_REDUCE, ACTIVATION),
    CONSTANT(GEMM_REDUCE, HAS_BIAS),
    CONSTANT(GEMM_REDUCE, ADD_AFTER),
};
static const char *const activation_constants[VKF_ACTIVATION_SPEC_COUNT] = {LOCAL_SIZE,
                                                                            CONSTANT(ACTIVATION, ACTIVATION)};
static const char *const gate_constants[VKF_GATE_SPEC_COUNT] = {LOCAL_SIZE, CONSTANT(GATE, ACTIVATION)};
static const char *const quantize_rows_constants[VKF_QUANTIZE_ROWS_SPEC_COUNT] = {
    LOCAL_SIZE, CONSTANT(QUANTIZE_ROWS, EVEN_ODD), CONSTANT(QUANTIZE_ROWS, NORM), CONSTANT(QUANTIZE_ROWS, GATE),
    CONSTANT(QUANTIZE_ROWS, ACTIVATION)};
static const char *const quantize_linear_constants[VKF_QUANTIZE_LINEAR_SPEC_COUNT] = {
    LOCAL_SIZE, CONSTANT(QUANTIZE_LINEAR, X), CONSTANT(QUANTIZE_LINEAR, OUT), CONSTANT(QUANTIZE_LINEAR, ZERO),
    CONSTANT(QUANTIZE_LINEAR, HAS_SCALE)};
static const char *const permute_constants[VKF_PERMUTE_SPEC_COUNT] = {LOCAL_SIZE};
static const char *const additive_constants[VKF_ADDITIVE_SPEC_COUNT] = {LOCAL_SIZE};
static const char *const copy_constants[VKF_COPY_SPEC_COUNT] = {LOCAL_SIZE};
static const char *const index_constants[VKF_INDEX_SPEC_COUNT] = {LOCAL_SIZE, CONSTANT(INDEX, MODE)};
static const char *const pack_constants[VKF_PACK_SPEC_COUNT] = {LOCAL_SIZE};
static const char *const reorder_constants[VKF_REORDER_SPEC_COUNT] = {LOCAL_SIZE};
static const char *const head_mean_constants[VKF_HEAD_MEAN_SPEC_COUNT] = {LOCAL_SIZE};

#define FLAT(params) PARAMS(params), CONFIGS(vkf__flat_configs)

#define EMBED(table, out)                                                                                             \
    {                                                                                                                 \
        .name = NAME_2("embed", table, out), TYPES_2(table, out), .op = VKF_OP_EMBED, .needs = STORAGE_2(table, out), \
        .operand_count = 4, FLAT(vkf_embed_params), CONSTANTS(embed_constants)                                        \
    }
#define COPY_BY(shader, x, out)                                                                         \
    {                                                                                                   \
        .name = NAME_2(shader, x, out), TYPES_2(x, out), .op = VKF_OP_COPY, .needs = STORAGE_2(x, out), \
        .operand_count = 2, FLAT(vkf_copy_params), CONSTANTS(copy_constants)                            \
    }
#define COPY(x, out) COPY_BY("copy", x, out)
#define GEMM_REDUCE(b, d)                                                                                       \
    {                                                                                                           \
        .name = NAME_2("gemm_reduce", b, d), TYPES_2(b, d), .op = VKF_OP_GEMM_REDUCE, .needs = STORAGE_2(b, d), \
        .operand_count = 3, FLAT(vkf_gemm_reduce_params), CONSTANTS(gemm_reduce_constants)                      \
    }
#define PERMUTE(x)                                                                                               \
    {                                                                                                            \
        .name = NAME_1("permute", x), TYPES_1(x), .op = VKF_OP_PERMUTE, .needs = STORAGE(x), .operand_count = 2, \
        FLAT(vkf_permute_params), CONSTANTS(permute_constants)                                                   \
    }
#define ADDITIVE(x)                                                                                          \
    {                                                                                                        \
        .name = NAME_1("additive_scores", x), TYPES_1(x), .op = VKF_OP_ADDITIVE_SCORES, .needs = STORAGE(x), \
        .operand_count = 4, FLAT(vkf_additive_params), CONSTANTS(additive_constants)                         \
    }
#define GATE(x)                                                                                            \
    {                                                                                                      \
        .name = NAME_1("gate", x), TYPES_1(x), .op = VKF_OP_GATE, .needs = STORAGE(x), .operand_count = 2, \
        FLAT(vkf_gate_params), CONSTANTS(gate_constants)                                                   \
    }
#define ACTIVATION(x)                                                                                                  \
    {                                                                                                                  \
        .name = NAME_1("activation", x), TYPES_1(x), .op = VKF_OP_ACTIVATION, .needs = STORAGE(x), .operand_count = 2, \
        WHOLE_ROW(vkf_activation_params), CONSTANTS(activation_constants)                                              \
    }
#define PACK(x)                                                                                            \
    {                                                                                                      \
        .name = NAME_1("pack", x), TYPES_1(x), .op = VKF_OP_PACK, .needs = STORAGE(x), .operand_count = 2, \
        FLAT(vkf_pack_params), CONSTANTS(pack_constants)                                                   \
    }
#define INDEX(x)                                                                                             \
    {                                                                                                        \
        .name = NAME_1("index", x), TYPES_1(x), .op = VKF_OP_INDEX, .needs = STORAGE(x), .operand_count = 3, \
        FLAT(vkf_index_params), CONSTANTS(index_constants)                                                   \
    }
#define HEAD_MEAN(x)                                                                                                 \
    {                                                                                                                \
        .name = NAME_1("head_mean", x), TYPES_1(x), .op = VKF_OP_HEAD_MEAN, .needs = STORAGE(x), .operand_count = 2, \
        FLAT(vkf_head_mean_params), CONSTANTS(head_mean_constants)                                                   \
    }
// These move 16 bits, whatever the bits mean.
#define PACK_HALF_AS(x)                                                                                      \
    {                                                                                                        \
        .name = NAME_1("pack", x), TYPES_1(x), .module = "pack.f16p", .op = VKF_OP_PACK, .operand_count = 2, \
        FLAT(vkf_pack_params), CONSTANTS(pack_constants)                                                     \
    }
#define REORDER(x)                                                                                                    \
    {                                                                                                                 \
        .name = NAME_1("reorder", x), TYPES_1(x), .op = VKF_OP_REORDER, .operand_count = 2, FLAT(vkf_reorder_params), \
        CONSTANTS(reorder_constants)                                                                                  \
    }
#define QUANTIZE_ROWS(x)                                                                                 \
    {                                                                                                    \
        .name = NAME_1("quantize_rows", x), TYPES_1(x), .op = VKF_OP_QUANTIZE_ROWS, .needs = STORAGE(x), \
        .operand_count = 3, PARAMS(vkf_quantize_rows_params), CONFIGS(quantize_rows_configs),            \
        CONSTANTS(quantize_rows_constants), .offers = VKF_FORM_NORMED, .unfit = quantize_rows_unfit,     \
        .shared_bytes = quantize_rows_shared_bytes, .valid = quantize_rows_valid                         \
    }

// Types are constants of one module.
#define QUANTIZE_LINEAR(x, out)                                                                      \
    {                                                                                                \
        .name = NAME_2("quantize_linear", x, out), TYPES_2(x, out), .module = "quantize_linear.f32", \
        .op = VKF_OP_QUANTIZE_LINEAR, .operand_count = 4, FLAT(vkf_quantize_linear_params),          \
        CONSTANTS(quantize_linear_constants)                                                         \
    }

static const vkf__kernel rows[] = {
    GEMM_REDUCE(f32, f32),
    GEMM_REDUCE(f16, f32),
    GEMM_REDUCE(f16p, f32),
    GEMM_REDUCE(bf16p, f32),
    GEMM_REDUCE(f16, f16),
    GEMM_REDUCE(f16p, f16p),
    PERMUTE(f32),
    PERMUTE(f16),
    PERMUTE(f16p),
    EMBED(f32, f32),
    EMBED(f16, f32),
    EMBED(f16p, f32),
    EMBED(bf16p, f32),
    EMBED(f16, f16),
    EMBED(f16p, f16p),
    ADDITIVE(f32),
    ADDITIVE(f16),
    ADDITIVE(f16p),
    REORDER(i32),
    GATE(f32),
    GATE(f16),
    GATE(f16p),
    ACTIVATION(f32),
    ACTIVATION(f16),
    ACTIVATION(f16p),
    PACK(f32),
    PACK(f16),
    PACK(f16p),
    PACK_HALF_AS(bf16),
    QUANTIZE_ROWS(f32),
    QUANTIZE_ROWS(f16p),
    COPY(f32, f32),
    COPY(f32, f16),
    COPY(f32, f16p),
    COPY(f16, f32),
    COPY(f16p, f32),
    COPY(f32, bf16p),
    COPY(bf16p, f32),
    COPY(f16, f16),
    COPY(f16p, f16p),
    COPY(q8, f32),
    COPY_BY("copy_blocks", f32, q8),
    INDEX(f32),
    INDEX(f16),
    INDEX(f16p),
    HEAD_MEAN(f32),
    QUANTIZE_LINEAR(f32, i8),
    QUANTIZE_LINEAR(f32, u8),
    QUANTIZE_LINEAR(i8, f32),
    QUANTIZE_LINEAR(u8, f32),
    QUANTIZE_LINEAR(i32, f32),
    QUANTIZE_LINEAR(i8, i32),
    QUANTIZE_LINEAR(u8, i32),
};

const vkf__family vkf__flat_family = {rows, COUNT(rows)};
