#include "api/typical_problem.h"

#include <string.h>

#include "op/gemm.h"
#include "shared/attention.h"
#include "shared/embed.h"
#include "shared/gate.h"
#include "shared/gemm.h"
#include "shared/layer_norm.h"
#include "shared/roof.h"
#include "shared/rotary.h"
#include "shared/sample.h"

#define LINEAR(rows, name)                                                            \
    {                                                                                 \
        VKF_OP_GEMM, name, {.m = rows, .n = 768, .k = 768, .largest = 1u << 22}, true \
    }
#define PRODUCT(rows, columns, depth, layout, name)                                                              \
    {                                                                                                            \
        VKF_OP_GEMM, name, {.m = rows, .n = columns, .k = depth, .b_layout = layout, .largest = 1u << 22}, false \
    }
#define ATTENTION(queries, head_dim, name)                                                                         \
    {                                                                                                              \
        VKF_OP_ATTENTION, name, {.m = queries, .n = 512, .k = head_dim, .quads = true, .largest = 1u << 22}, false \
    }
// With enough keys for so few queries that they are split.
#define DECODING(head_dim)                                                                              \
    {                                                                                                   \
        VKF_OP_ATTENTION, "1 query in parts",                                                           \
            {.m = 1, .n = 512, .k = head_dim, .quads = true, .split = true, .largest = 1u << 22}, false \
    }
#define ROWS(op, length, name)                   \
    {                                            \
        op, name, {.m = 512, .n = length}, false \
    }
#define EACH(op)                          \
    {                                     \
        op, "any", {.m = 1u << 16}, false \
    }

const vkf__typical_problem vkf__typical_problems[] = {
    LINEAR(1, "linear of 1 row"),
    LINEAR(2, "2 rows"),
    LINEAR(8, "8 rows"),
    LINEAR(32, "32 rows"),
    LINEAR(128, "128 rows"),
    LINEAR(1024, "1024 rows"),
    PRODUCT(128, 128, 64, VKF_GEMM_B_NK, "scores"),
    PRODUCT(1, 128, 64, VKF_GEMM_B_NK, "scores of 1 query"),
    PRODUCT(128, 64, 128, VKF_GEMM_B_KN, "values"),
    PRODUCT(1, 64, 128, VKF_GEMM_B_KN, "values of 1 query"),
    ATTENTION(512, 64, "512 queries"),
    ATTENTION(1, 64, "1 query"),
    DECODING(64),
    ATTENTION(512, 128, "512 queries"),
    ATTENTION(1, 128, "1 query"),
    DECODING(128),
    ATTENTION(512, 256, "512 queries"),
    ATTENTION(1, 256, "1 query"),
    DECODING(256),
    ROWS(VKF_OP_SOFTMAX, 32, "32 columns"),
    ROWS(VKF_OP_SOFTMAX, 512, "512"),
    ROWS(VKF_OP_SOFTMAX, 4096, "4096"),
    ROWS(VKF_OP_LAYER_NORM, 32, "32 columns"),
    ROWS(VKF_OP_LAYER_NORM, 768, "768"),
    ROWS(VKF_OP_LAYER_NORM, 4096, "4096"),
    ROWS(VKF_OP_LAYER_NORM_RESIDUAL, 32, "32 columns"),
    ROWS(VKF_OP_LAYER_NORM_RESIDUAL, 768, "768"),
    ROWS(VKF_OP_LAYER_NORM_RESIDUAL, 4096, "4096"),
    ROWS(VKF_OP_ARGMAX, 32, "32 columns"),
    ROWS(VKF_OP_ARGMAX, 768, "768"),
    ROWS(VKF_OP_ARGMAX, 32768, "32768"),
    ROWS(VKF_OP_SAMPLE, 1000, "1000 columns"),
    ROWS(VKF_OP_SAMPLE, 32768, "32768"),
    ROWS(VKF_OP_TOP, 1000, "1000 columns"),
    ROWS(VKF_OP_TOP, 32768, "32768"),
    ROWS(VKF_OP_POOL, 32, "32 columns"),
    ROWS(VKF_OP_POOL, 768, "768"),
    ROWS(VKF_OP_POOL, 4096, "4096"),
    ROWS(VKF_OP_ROTARY, 64, "heads of 64"),
    ROWS(VKF_OP_ROTARY, 128, "128"),
    EACH(VKF_OP_PERMUTE),
    EACH(VKF_OP_EMBED),
    EACH(VKF_OP_ADDITIVE_SCORES),
    EACH(VKF_OP_COPY),
    EACH(VKF_OP_GATE),
    EACH(VKF_OP_REORDER),
    EACH(VKF_OP_HEAD_MEAN),
    EACH(VKF_OP_PACK),
    EACH(VKF_OP_QUANTIZE_ROWS),
    EACH(VKF_OP_ATTENTION_REDUCE),
    EACH(VKF_OP_GEMM_REDUCE),
    EACH(VKF_OP_ROOF_COPY),
    EACH(VKF_OP_ROOF_READ),
    EACH(VKF_OP_ROOF_FMA),
};

const uint32_t vkf__typical_problem_count = sizeof vkf__typical_problems / sizeof vkf__typical_problems[0];

const uint32_t vkf__typical_head_dims[VKF_TYPICAL_HEAD_DIMS] = {64, 128, 256};

vkf__problem vkf__typical_problem_for(const vkf__selector *selector, const vkf__typical_problem *typical,
                                      const vkf_dtype *types)
{
    vkf__problem problem = typical->problem;
    if (!typical->linear)
        return problem;
    // As for a weight that is loaded: many rows decide.
    vkf__problem rows = problem, panels = problem;
    rows.m = panels.m = 128;
    rows.b_layout = VKF_GEMM_B_NK;
    panels.b_layout = VKF_GEMM_B_PANELS;
    panels.quads = true;
    bool wants_panels =
        vkf__select_rank(selector, VKF_OP_GEMM, types, &panels) < vkf__select_rank(selector, VKF_OP_GEMM, types, &rows);
    problem.b_layout = wants_panels ? VKF_GEMM_B_PANELS : VKF_GEMM_B_NK;
    problem.quads = wants_panels;
    return problem;
}

static void set_flag(const vkf__kernel *kernel, uint32_t spec_id, uint32_t value, uint32_t *flags)
{
    if (spec_id > kernel->tile_count && spec_id < kernel->spec_count)
        flags[spec_id] = value;
}

static uint32_t linear_layout(const vkf__kernel *kernel)
{
    static const uint32_t layouts[] = {VKF_GEMM_B_NK, VKF_GEMM_B_PANELS, VKF_GEMM_B_KN};
    uint32_t i = 0;
    while (i < 2 && !(kernel->b_layouts >> layouts[i] & 1))
        i++;
    return layouts[i];
}

// Kernels whose invocations share a row leave nothing but parts.
static bool leaves_parts(const vkf__kernel *kernel, const vkf__config *config)
{
    return kernel->shares_rows && config->tile.attention.lanes > 1;
}

void vkf__typical_flags(const vkf__kernel *kernel, const vkf__config *config, uint32_t head_dim, uint32_t *out_flags)
{
    memset(out_flags, 0, VKF_KERNEL_MAX_SPEC * sizeof *out_flags);
    switch (kernel->op) {
    case VKF_OP_GEMM:
        set_flag(kernel, VKF_GEMM_SPEC_B_LAYOUT, vkf__gemm_layout_flag(kernel->types[1], linear_layout(kernel)),
                 out_flags);
        set_flag(kernel, VKF_GEMM_SPEC_HAS_BIAS, 1, out_flags);
        break;
    case VKF_OP_ATTENTION:
        set_flag(kernel, VKF_ATTENTION_SPEC_HEAD_DIM, head_dim, out_flags);
        set_flag(kernel, VKF_ATTENTION_SPEC_V_HEAD_DIM, head_dim, out_flags);
        set_flag(kernel, VKF_ATTENTION_SPEC_PARTIAL, leaves_parts(kernel, config), out_flags);
        if (kernel->operands[0] == VKF_OPERAND_TEXEL || kernel->operands[0] == VKF_OPERAND_TEXEL4)
            set_flag(kernel, VKF_ATTENTION_SPEC_TEXEL_WIDTH, kernel->operands[0] == VKF_OPERAND_TEXEL4 ? 4 : 1,
                     out_flags);
        break;
    case VKF_OP_ROOF_COPY:
    case VKF_OP_ROOF_READ:
        set_flag(kernel, VKF_ROOF_COPY_SPEC_EACH, 16, out_flags);
        break;
    case VKF_OP_ROOF_FMA:
        set_flag(kernel, VKF_ROOF_FMA_SPEC_CHAINS, 4, out_flags);
        break;
    case VKF_OP_LAYER_NORM:
    case VKF_OP_LAYER_NORM_RESIDUAL:
        set_flag(kernel, VKF_LAYER_NORM_SPEC_HAS_WEIGHT, 1, out_flags);
        set_flag(kernel, VKF_LAYER_NORM_SPEC_HAS_BIAS, 1, out_flags);
        break;
    case VKF_OP_EMBED:
        set_flag(kernel, VKF_EMBED_SPEC_HAS_POSITIONS, 1, out_flags);
        break;
    case VKF_OP_ROTARY:
        set_flag(kernel, VKF_ROTARY_SPEC_HAS_TABLE, 1, out_flags);
        break;
    case VKF_OP_SAMPLE:
        set_flag(kernel, VKF_SAMPLE_SPEC_HAS_SEEN, 1, out_flags);
        break;
    case VKF_OP_GATE:
        set_flag(kernel, VKF_GATE_SPEC_ACTIVATION, VKF_SHADER_ACTIVATION_SILU, out_flags);
        break;
    default:
        break;
    }
}
