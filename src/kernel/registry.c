#include "kernel/registry.h"

#include "kernel/registry_attention.h"
#include "kernel/registry_gemm.h"
#include "kernel/registry_matrix.h"
#include "kernel/registry_ranks.h"

#include "shared/additive_scores.h"
#include "shared/argmax.h"
#include "shared/attention.h"
#include "shared/copy.h"
#include "shared/embed.h"
#include "shared/gate.h"
#include "shared/gemm.h"
#include "shared/gemm_reduce.h"
#include "shared/head_mean.h"
#include "shared/layer_norm.h"
#include "shared/pack.h"
#include "shared/permute.h"
#include "shared/pool.h"
#include "shared/quantize_rows.h"
#include "shared/reorder.h"
#include "shared/roof.h"
#include "shared/rotary.h"
#include "shared/sample.h"
#include "shared/softmax.h"
#include "shared/top.h"

const char *vkf__op_name(vkf__op op)
{
    static const char *const names[VKF_OP_COUNT] = {
        [VKF_OP_GEMM] = "gemm",
        [VKF_OP_SOFTMAX] = "softmax",
        [VKF_OP_LAYER_NORM] = "layer_norm",
        [VKF_OP_LAYER_NORM_RESIDUAL] = "layer_norm_residual",
        [VKF_OP_PERMUTE] = "permute",
        [VKF_OP_EMBED] = "embed",
        [VKF_OP_ADDITIVE_SCORES] = "additive_scores",
        [VKF_OP_ARGMAX] = "argmax",
        [VKF_OP_SAMPLE] = "sample",
        [VKF_OP_TOP] = "top",
        [VKF_OP_REORDER] = "reorder",
        [VKF_OP_COPY] = "copy",
        [VKF_OP_HEAD_MEAN] = "head_mean",
        [VKF_OP_POOL] = "pool",
        [VKF_OP_ROTARY] = "rotary",
        [VKF_OP_GATE] = "gate",
        [VKF_OP_ROOF_COPY] = "roof_copy",
        [VKF_OP_ROOF_READ] = "roof_read",
        [VKF_OP_ROOF_FMA] = "roof_fma",
        [VKF_OP_PACK] = "pack",
        [VKF_OP_QUANTIZE_ROWS] = "quantize_rows",
        [VKF_OP_ATTENTION] = "attention",
        [VKF_OP_ATTENTION_REDUCE] = "attention_reduce",
        [VKF_OP_GEMM_REDUCE] = "gemm_reduce",
    };
    return op < VKF_OP_COUNT ? names[op] : "unknown";
}

const vkf__matrix_shape *vkf__matrix_shape_of(const vkf__caps *caps, vkf__matrix_type type)
{
    switch (type) {
    case VKF_MATRIX_F16:
        return vkf__matrix_find(&caps->matrix, VK_COMPONENT_TYPE_FLOAT16_KHR);
    case VKF_MATRIX_BF16:
        return vkf__matrix_find(&caps->matrix, VK_COMPONENT_TYPE_BFLOAT16_KHR);
    default:
        return NULL;
    }
}

// Rows of a matrix, one workgroup each: n is the row's length.
static const vkf__config row_configs[] = {
    {.name = "row256", .local_size = 256, .min_n = 1024},
    {.name = "row64", .local_size = 64, .min_n = 64},
    {.name = "row16", .local_size = 16},
};

// The same, a subgroup each.
static const vkf__config row_subgroup_configs[] = {
    {.name = "rows64", .local_size = 64},
};

static uint32_t row_shared_bytes(const vkf__config *config)
{
    return 4 * 2 * config->local_size;
}

// A float for each invocation.
static uint32_t row_float_shared_bytes(const vkf__config *config)
{
    return 4 * config->local_size;
}

// The two of the reductions, the histogram, the sums of its groups, and what was found.
static uint32_t sample_shared_bytes(const vkf__config *config)
{
    return 4 * (3 * config->local_size + VKF_SAMPLE_BINS + VKF_SAMPLE_BIN_GROUPS + 3);
}

// A magnitude and a sum for each invocation.
static uint32_t quantize_rows_shared_bytes(const vkf__config *config)
{
    return 4 * 2 * config->local_size;
}

static bool quantize_rows_valid(const vkf__config *config)
{
    return config->local_size % (VKF_QUANTIZE_ROWS_DEPTH / VKF_QUANTIZE_ROWS_RUN) == 0;
}

// A key and an index for each invocation, and its part of a sum.
static uint32_t top_shared_bytes(const vkf__config *config)
{
    return 4 * 3 * config->local_size;
}

static bool sample_valid(const vkf__config *config)
{
    return (config->local_size & (config->local_size - 1)) == 0 && config->local_size >= VKF_SAMPLE_BIN_GROUPS;
}

static bool power_of_two(const vkf__config *config)
{
    return (config->local_size & (config->local_size - 1)) == 0;
}

// A row is as long as a vocabulary, and rows are few.
static const vkf__config sample_configs[] = {
    {.name = "row256", .local_size = 256, .min_n = 4096},
    {.name = "row128", .local_size = 128, .min_n = 512},
    {.name = "row64", .local_size = 64},
};

static const vkf__config flat_configs[] = {
    {.name = "flat128", .local_size = 128},
    {.name = "flat64", .local_size = 64},
};

static const vkf__config roof_configs[] = {
    {.name = "roof256", .local_size = 256},
    {.name = "roof128", .local_size = 128},
    {.name = "roof64", .local_size = 64},
};

// {vectors to an invocation}; {chains of multiply-adds}

#define COUNT(array) ((uint32_t)(sizeof(array) / sizeof((array)[0])))

// In the rows below F is f32, H half and B bfloat16 storage. Every row with H exists twice: with float16_t in storage
// buffers, and (row name f16p) with two halves to a word for devices that have no 16-bit storage. Earlier rows are
// preferred.
#define F VKF_DTYPE_F32
#define H VKF_DTYPE_F16
#define B VKF_DTYPE_BF16
#define TYPES(...)  \
    {               \
        __VA_ARGS__ \
    }

#define EVERY_LAYOUT (1u << VKF_GEMM_B_KN | 1u << VKF_GEMM_B_NK | 1u << VKF_GEMM_B_PANELS)
#define GEMM(suffix, native, a, b, d)                                                                             \
    {                                                                                                             \
        .name = "gemm_tile." suffix, .op = VKF_OP_GEMM, .types = TYPES(a, b, d), .type_count = 3,                 \
        .needs = (native) ? VKF_NEEDS_STORAGE_16BIT : 0, .operand_count = 4,                                      \
        .params_bytes = sizeof(struct vkf_gemm_params), .spec_count = VKF_GEMM_SPLIT_SPEC_COUNT, .tile_count = 5, \
        .configs = gemm_configs, .transposes_a = true, .splits = true, .b_layouts = EVERY_LAYOUT,                 \
        .config_count = COUNT(gemm_configs), .shared_bytes = gemm_shared_bytes, .valid = gemm_valid               \
    }

#define ROW_SHARING(shader, kind, suffix, native, t0, t1, storage, params, specs, shared)   \
    {                                                                                       \
        .name = shader "." suffix, .op = kind, .types = TYPES(t0, t1), .type_count = 2,     \
        .needs = (native) ? VKF_NEEDS_STORAGE_16BIT : 0, .operand_count = storage,          \
        .params_bytes = sizeof(struct params), .spec_count = specs, .configs = row_configs, \
        .config_count = COUNT(row_configs), .shared_bytes = shared, .valid = power_of_two   \
    }
#define ROW(...) ROW_SHARING(__VA_ARGS__, row_shared_bytes)

// The same with a subgroup to a row.
#define ROW_SUBGROUP(shader, kind, suffix, native, t0, t1, storage, params, specs)                        \
    {                                                                                                     \
        .name = shader "_subgroup." suffix, .op = kind, .types = TYPES(t0, t1), .type_count = 2,          \
        .needs = VKF_NEEDS_SUBGROUP | ((native) ? VKF_NEEDS_STORAGE_16BIT : 0), .operand_count = storage, \
        .params_bytes = sizeof(struct params), .spec_count = specs, .configs = row_subgroup_configs,      \
        .config_count = COUNT(row_subgroup_configs), .rank = rank_row_subgroup                            \
    }
#define ROW_PAIR(...) ROW_SUBGROUP(__VA_ARGS__), ROW(__VA_ARGS__)
#define ROW_FLOAT_PAIR(...) ROW_SUBGROUP(__VA_ARGS__), ROW_SHARING(__VA_ARGS__, row_float_shared_bytes)

#define SOFTMAX(suffix, native, x, out) \
    ROW_PAIR("softmax", VKF_OP_SOFTMAX, suffix, native, x, out, 4, vkf_softmax_params, VKF_SOFTMAX_SPEC_COUNT)
#define LAYER_NORM(suffix, native, x, w) \
    ROW_PAIR("layer_norm", VKF_OP_LAYER_NORM, suffix, native, x, w, 4, vkf_layer_norm_params, VKF_LAYER_NORM_SPEC_COUNT)
#define LAYER_NORM_RESIDUAL(suffix, native, x, w)                                                               \
    ROW_PAIR("layer_norm_residual", VKF_OP_LAYER_NORM_RESIDUAL, suffix, native, x, w, 5, vkf_layer_norm_params, \
             VKF_LAYER_NORM_RESIDUAL_SPEC_COUNT)
#define ARGMAX(suffix, native, x) \
    ROW("argmax", VKF_OP_ARGMAX, suffix, native, x, VKF_DTYPE_I32, 2, vkf_argmax_params, VKF_ARGMAX_SPEC_COUNT)

#define SAMPLE(suffix, x)                                                                                          \
    {                                                                                                              \
        .name = "sample." suffix, .op = VKF_OP_SAMPLE, .types = TYPES(x, VKF_DTYPE_I32), .type_count = 2,          \
        .operand_count = 3, .params_bytes = sizeof(struct vkf_sample_params), .spec_count = VKF_SAMPLE_SPEC_COUNT, \
        .configs = sample_configs, .config_count = COUNT(sample_configs), .shared_bytes = sample_shared_bytes,     \
        .valid = sample_valid                                                                                      \
    }

#define TOP(suffix, x)                                                                                              \
    {                                                                                                               \
        .name = "top." suffix, .op = VKF_OP_TOP, .types = TYPES(x), .type_count = 1, .operand_count = 3,            \
        .params_bytes = sizeof(struct vkf_top_params), .spec_count = VKF_TOP_SPEC_COUNT, .configs = sample_configs, \
        .config_count = COUNT(sample_configs), .shared_bytes = top_shared_bytes, .valid = power_of_two              \
    }

#define POOL(suffix, native, x)                                                                                    \
    {                                                                                                              \
        .name = "pool." suffix, .op = VKF_OP_POOL, .types = TYPES(x), .type_count = 1,                             \
        .needs = (native) ? VKF_NEEDS_STORAGE_16BIT : 0, .operand_count = 3,                                       \
        .params_bytes = sizeof(struct vkf_pool_params), .spec_count = VKF_POOL_SPEC_COUNT, .configs = row_configs, \
        .config_count = COUNT(row_configs), .shared_bytes = row_float_shared_bytes, .valid = power_of_two          \
    }

#define ROTARY(suffix, native, x, out) \
    ROW_FLOAT_PAIR("rotary", VKF_OP_ROTARY, suffix, native, x, out, 4, vkf_rotary_params, VKF_ROTARY_SPEC_COUNT)

#define FLAT(shader, kind, suffix, native, t0, t1, count, storage, params, specs)            \
    {                                                                                        \
        .name = shader "." suffix, .op = kind, .types = TYPES(t0, t1), .type_count = count,  \
        .needs = (native) ? VKF_NEEDS_STORAGE_16BIT : 0, .operand_count = storage,           \
        .params_bytes = sizeof(struct params), .spec_count = specs, .configs = flat_configs, \
        .config_count = COUNT(flat_configs)                                                  \
    }

#define PERMUTE(suffix, native, x) \
    FLAT("permute", VKF_OP_PERMUTE, suffix, native, x, x, 1, 2, vkf_permute_params, VKF_PERMUTE_SPEC_COUNT)
#define EMBED(suffix, native, table, out) \
    FLAT("embed", VKF_OP_EMBED, suffix, native, table, out, 2, 4, vkf_embed_params, VKF_EMBED_SPEC_COUNT)
#define ADDITIVE(suffix, native, x)                                                                  \
    FLAT("additive_scores", VKF_OP_ADDITIVE_SCORES, suffix, native, x, x, 1, 4, vkf_additive_params, \
         VKF_ADDITIVE_SPEC_COUNT)
#define COPY(suffix, native, x, out) \
    FLAT("copy", VKF_OP_COPY, suffix, native, x, out, 2, 2, vkf_copy_params, VKF_COPY_SPEC_COUNT)

#define GATE(suffix, native, x) \
    FLAT("gate", VKF_OP_GATE, suffix, native, x, x, 1, 2, vkf_gate_params, VKF_GATE_SPEC_COUNT)
#define PACK(suffix, native, x) \
    FLAT("pack", VKF_OP_PACK, suffix, native, x, x, 1, 2, vkf_pack_params, VKF_PACK_SPEC_COUNT)

// Moves 16 bits, whatever they mean.
#define PACK_HALF_AS(suffix, x)                                                                                \
    {                                                                                                          \
        .name = "pack." suffix, .module = "pack.f16p", .op = VKF_OP_PACK, .types = TYPES(x), .type_count = 1,  \
        .operand_count = 2, .params_bytes = sizeof(struct vkf_pack_params), .spec_count = VKF_PACK_SPEC_COUNT, \
        .configs = flat_configs, .config_count = COUNT(flat_configs)                                           \
    }

#define QUANTIZE_ROWS(suffix, x)                                                                                  \
    {                                                                                                             \
        .name = "quantize_rows." suffix, .op = VKF_OP_QUANTIZE_ROWS, .types = TYPES(x), .type_count = 1,          \
        .operand_count = 2, .params_bytes = sizeof(struct vkf_quantize_rows_params),                              \
        .spec_count = VKF_QUANTIZE_ROWS_SPEC_COUNT, .configs = flat_configs, .config_count = COUNT(flat_configs), \
        .shared_bytes = quantize_rows_shared_bytes, .valid = quantize_rows_valid                                  \
    }

#define GEMM_TEXEL_ROW(shader, suffix, of, need, a, b, d, list, check, order, lanes)                              \
    {                                                                                                             \
        .name = shader "." suffix, .module = shader "." of, .op = VKF_OP_GEMM, .types = TYPES(a, b, d),           \
        .type_count = 3, .needs = need, .operand_count = 4, .operands = {VKF_OPERAND_TEXEL4, VKF_OPERAND_TEXEL4}, \
        .b_layouts = 1u << VKF_GEMM_B_PANELS, .quads = true, .params_bytes = sizeof(struct vkf_gemm_params),      \
        .spec_count = VKF_GEMM_SPEC_COUNT, .tile_count = 5, .configs = list, .config_count = COUNT(list),         \
        .valid = check, .rank = order, .subgroup_size = lanes                                                     \
    }
#define GEMM_TEXEL(suffix, of, native, a, b, d)                                                                       \
    GEMM_TEXEL_ROW("gemm_texel_shuffle", suffix, of, VKF_NEEDS_SHUFFLE | ((native) ? VKF_NEEDS_STORAGE_16BIT : 0), a, \
                   b, d, gemm_texel_shuffle_configs, gemm_shuffle_valid, rank_shuffle, shuffle_subgroup),             \
        GEMM_TEXEL_ROW("gemm_texel", suffix, of, (native) ? VKF_NEEDS_STORAGE_16BIT : 0, a, b, d, gemm_texel_configs, \
                       gemm_direct_valid, rank_texel, NULL)

#define GEMM_ROWS(shader, suffix, native, a, b, d, access, list, order)                                             \
    {                                                                                                               \
        .name = shader "." suffix, .op = VKF_OP_GEMM, .types = TYPES(a, b, d), .type_count = 3,                     \
        .needs = (native) ? VKF_NEEDS_STORAGE_16BIT : 0, .operand_count = 4, .operands = access,                    \
        .b_layouts = 1u << VKF_GEMM_B_PANELS, .transposes_a = true, .params_bytes = sizeof(struct vkf_gemm_params), \
        .spec_count = VKF_GEMM_SPEC_COUNT, .tile_count = 5, .configs = list, .config_count = COUNT(list),           \
        .valid = gemm_rows_valid, .rank = order                                                                     \
    }
#define AB_ADDRESS TYPES(VKF_OPERAND_ADDRESS, VKF_OPERAND_ADDRESS)
#define GEMM_COLUMNS(suffix, need, a, b, d)                                                                         \
    {                                                                                                               \
        .name = "gemm_address_n." suffix, .op = VKF_OP_GEMM, .types = TYPES(a, b, d), .type_count = 3,              \
        .needs = VKF_NEEDS_INT64 | VKF_NEEDS_SUBGROUP | (need), .operand_count = 4, .operands = AB_ADDRESS,         \
        .b_layouts = 1u << VKF_GEMM_B_PANELS, .transposes_a = true, .params_bytes = sizeof(struct vkf_gemm_params), \
        .spec_count = VKF_GEMM_SPEC_COUNT, .tile_count = 5, .configs = gemm_address_n_configs,                      \
        .config_count = COUNT(gemm_address_n_configs), .valid = gemm_columns_valid, .rank = rank_address_n,         \
        .subgroup_size = workgroup_subgroup                                                                         \
    }
#define HALF_LANES (VKF_NEEDS_STORAGE_16BIT | VKF_NEEDS_FLOAT16)
#define B_ADDRESS TYPES(VKF_OPERAND_STORAGE, VKF_OPERAND_ADDRESS)
#define GEMM_DIRECT(suffix, native, a, b, d, list)                                                    \
    GEMM_ROWS("gemm_address", suffix, native, a, b, d, B_ADDRESS, gemm_address_##list, rank_address), \
        GEMM_ROWS("gemm_direct", suffix, native, a, b, d, ALL_STORAGE, gemm_direct_configs, rank_direct)

#define ATTENTION(shader, suffix, of, native, q, kv, out, access, rows_of_four, spec, list, order)                    \
    {                                                                                                                 \
        .name = shader "." suffix, .module = of, .op = VKF_OP_ATTENTION, .types = TYPES(q, kv, out), .type_count = 3, \
        .needs = (native) ? VKF_NEEDS_STORAGE_16BIT : 0, .operand_count = 6, .operands = access,                      \
        .quads = rows_of_four, .params_bytes = sizeof(struct vkf_attention_params), .spec_count = spec,               \
        .tile_count = 4, .splits = true, .shares_rows = true, .configs = list, .config_count = COUNT(list),           \
        .unfit = attention_unfit, .valid = attention_valid, .rank = order                                             \
    }
#define ALL_TEXEL4 TYPES(VKF_OPERAND_TEXEL4, VKF_OPERAND_TEXEL4, VKF_OPERAND_TEXEL4)
#define ALL_TEXEL TYPES(VKF_OPERAND_TEXEL, VKF_OPERAND_TEXEL, VKF_OPERAND_TEXEL)
#define KV_ADDRESS TYPES(VKF_OPERAND_STORAGE, VKF_OPERAND_ADDRESS, VKF_OPERAND_ADDRESS)
#define ALL_STORAGE TYPES(VKF_OPERAND_STORAGE)
#define ATTENTION_TEXEL4(suffix, of, native, in, out)                                                   \
    ATTENTION("attention_texel4", suffix, "attention_texel." of, native, in, in, out, ALL_TEXEL4, true, \
              VKF_ATTENTION_TEXEL_SPEC_COUNT, attention_texel_configs, rank_texel)
#define ATTENTION_TEXEL(suffix, of, native, in, out)                                                   \
    ATTENTION("attention_texel", suffix, "attention_texel." of, native, in, in, out, ALL_TEXEL, false, \
              VKF_ATTENTION_TEXEL_SPEC_COUNT, attention_texel_configs, rank_texel_single)
#define ATTENTION_ADDRESS(suffix, native, in, out)                                                                 \
    ATTENTION("attention_address", suffix, NULL, native, in, in, out, KV_ADDRESS, false, VKF_ATTENTION_SPEC_COUNT, \
              attention_address_configs, rank_address)
#define ATTENTION_ADDRESS_HALF(suffix, native, in, out)                                                           \
    ATTENTION("attention_address", suffix, NULL, native, in, in, out, KV_ADDRESS, true, VKF_ATTENTION_SPEC_COUNT, \
              attention_address_half_configs, rank_address)
#define ATTENTION_DIRECT(suffix, native, in, out)                                                                  \
    ATTENTION("attention_direct", suffix, NULL, native, in, in, out, ALL_STORAGE, false, VKF_ATTENTION_SPEC_COUNT, \
              attention_storage_configs, rank_direct)
#define ATTENTION_TILED(suffix, native, in, out) ATTENTION_TILED_OF(suffix, native, in, in, out)
#define ATTENTION_TILED_OF(suffix, native, q, kv, out)                                                                \
    {                                                                                                                 \
        .name = "attention_tiled." suffix, .op = VKF_OP_ATTENTION, .types = TYPES(q, kv, out), .type_count = 3,       \
        .needs = (native) ? VKF_NEEDS_STORAGE_16BIT : 0, .operand_count = 6, .splits = true,                          \
        .params_bytes = sizeof(struct vkf_attention_params), .spec_count = VKF_ATTENTION_SPEC_COUNT, .tile_count = 4, \
        .configs = attention_tiled_configs, .config_count = COUNT(attention_tiled_configs),                           \
        .shared_bytes = attention_tiled_shared_bytes, .valid = attention_tiled_valid, .rank = rank_tiled              \
    }
// Types of queries, of keys and values, and of the output.
#define ATTENTION_COOPMAT(suffix, native, q, kv, out)                                                             \
    {                                                                                                             \
        .name = "attention_coopmat." suffix, .op = VKF_OP_ATTENTION, .types = TYPES(q, kv, out), .type_count = 3, \
        .needs = VKF_NEEDS_MATRIX | ((native) ? VKF_NEEDS_STORAGE_16BIT : 0), .operand_count = 6, .splits = true, \
        .params_bytes = sizeof(struct vkf_attention_params), .spec_count = VKF_ATTENTION_COOPMAT_SPEC_COUNT,      \
        .tile_count = 4, .unused_spec = 1u << VKF_ATTENTION_SPEC_FENCE, .matrix = VKF_MATRIX_F16, .rounds = true, \
        .configs = attention_coopmat_configs, .config_count = COUNT(attention_coopmat_configs),                   \
        .shared_bytes_here = attention_coopmat_shared, .unfit = attention_coopmat_unfit,                          \
        .valid = attention_coopmat_valid, .rank = rank_matrix                                                     \
    }

#define GEMM_MATRIX(shader, suffix, need, a, b, d, list, check, fit, shared, order, ...)                         \
    {                                                                                                            \
        .name = shader "." suffix, .op = VKF_OP_GEMM, .types = TYPES(a, b, d), .type_count = 3,                  \
        .needs = VKF_NEEDS_MATRIX | (need), .operand_count = 4, .b_layouts = EVERY_LAYOUT, .transposes_a = true, \
        .params_bytes = sizeof(struct vkf_gemm_params), .tile_count = 5, .rounds = true, .configs = list,        \
        .config_count = COUNT(list), .shared_bytes_here = shared, .unfit = fit, .valid = check, .rank = order,   \
        __VA_ARGS__                                                                                              \
    }
#define GEMM_COOPMAT(suffix, native, a, b, d)                                                                  \
    GEMM_MATRIX("gemm_coopmat", suffix, (native) ? VKF_NEEDS_STORAGE_16BIT : 0, a, b, d, gemm_coopmat_configs, \
                gemm_coopmat_valid, gemm_coopmat_unfit, gemm_coopmat_shared, rank_matrix,                      \
                .spec_count = VKF_GEMM_COOPMAT_SPEC_COUNT, .matrix = VKF_MATRIX_F16)
#define GEMM_COOPMAT_BF16(suffix, a, b, d)                                                                        \
    GEMM_MATRIX("gemm_coopmat", suffix, VKF_NEEDS_MATRIX_BF16, a, b, d, gemm_coopmat_configs, gemm_coopmat_valid, \
                gemm_coopmat_bf16_unfit, gemm_coopmat_bf16_shared, rank_matrix,                                   \
                .spec_count = VKF_GEMM_COOPMAT_SPEC_COUNT, .matrix = VKF_MATRIX_BF16)
#define NO_THREADS (1u << VKF_GEMM_SPEC_THREAD_M | 1u << VKF_GEMM_SPEC_THREAD_N)
#define GEMM_COOPMAT2(suffix, need, a, b, d)                                                                     \
    GEMM_MATRIX("gemm_coopmat2", suffix,                                                                         \
                VKF_NEEDS_STORAGE_16BIT | VKF_NEEDS_MATRIX_FLEXIBLE | VKF_NEEDS_MATRIX_TENSOR | (need), a, b, d, \
                gemm_coopmat2_configs, gemm_coopmat2_valid, gemm_coopmat2_unfit, gemm_coopmat2_shared,           \
                rank_matrix_tensor, .spec_count = VKF_GEMM_SPEC_COUNT, .unused_spec = NO_THREADS)
#define GEMM_COOPMAT2_ELEMENT(suffix, a, b, d)                                                                 \
    GEMM_MATRIX("gemm_coopmat2_element", suffix, VKF_NEEDS_STORAGE_16BIT | VKF_NEEDS_MATRIX_FLEXIBLE, a, b, d, \
                gemm_coopmat2_element_configs, gemm_coopmat2_valid, gemm_coopmat2_element_unfit, NULL,         \
                rank_matrix_element, .spec_count = VKF_GEMM_SPEC_COUNT, .unused_spec = NO_THREADS)

#define GEMV_ROW(shader, suffix, need, layouts, a, b, d, list, check, shared, order)                           \
    {                                                                                                          \
        .name = shader "." suffix, .op = VKF_OP_GEMM, .types = TYPES(a, b, d), .type_count = 3, .needs = need, \
        .operand_count = 4, .b_layouts = layouts, .params_bytes = sizeof(struct vkf_gemm_params),              \
        .spec_count = VKF_GEMM_SPEC_COUNT, .tile_count = 5, .configs = list, .config_count = COUNT(list),      \
        .shared_bytes = shared, .valid = check, .rank = order                                                  \
    }
#define GEMV(suffix, native, a, b, d)                                                                                 \
    GEMV_ROW("gemv_subgroup", suffix, VKF_NEEDS_SUBGROUP | ((native) ? VKF_NEEDS_STORAGE_16BIT : 0),                  \
             1u << VKF_GEMM_B_NK, a, b, d, gemv_configs, gemv_valid, gemv_subgroup_shared_bytes, rank_gemv_subgroup), \
        GEMV_ROW("gemv", suffix, (native) ? VKF_NEEDS_STORAGE_16BIT : 0, 1u << VKF_GEMM_B_NK, a, b, d, gemv_configs,  \
                 gemv_valid, gemv_shared_bytes, rank_gemv),                                                           \
        GEMV_ROW("gemv_columns", suffix, (native) ? VKF_NEEDS_STORAGE_16BIT : 0,                                      \
                 1u << VKF_GEMM_B_KN | 1u << VKF_GEMM_B_PANELS, a, b, d, gemv_columns_configs, gemv_columns_valid,    \
                 gemv_columns_shared_bytes, rank_gemv)

// Weights in blocks. The kinds share modules, named by the types of a and d; `need` is what the storage of d asks for.
#define GEMM_BLOCKS_ROW(shader, suffix, of, need, a, b, d, list, check, shared, ...)                                   \
    {                                                                                                                  \
        .name = shader "." suffix, .module = shader "." of, .op = VKF_OP_GEMM, .types = TYPES(a, b, d),                \
        .type_count = 3, .needs = need, .operand_count = 4, .b_layouts = 1u << VKF_GEMM_B_PANELS,                      \
        .params_bytes = sizeof(struct vkf_gemm_params), .tile_count = 5, .configs = list, .config_count = COUNT(list), \
        .shared_bytes = shared, .valid = check, __VA_ARGS__                                                            \
    }
#define GEMM_BLOCKS(suffix, of, need, a, b, d)                                                                     \
    GEMM_BLOCKS_ROW("gemm_tile_blocks", suffix, of, need, a, b, d, gemm_configs, gemm_tile_blocks_valid,           \
                    gemm_shared_bytes, .splits = true, .spec_count = VKF_GEMM_SPLIT_SPEC_COUNT),                   \
        GEMM_BLOCKS_ROW("gemm_blocks_address", suffix, of, VKF_NEEDS_INT64 | VKF_NEEDS_SUBGROUP | (need), a, b, d, \
                        gemm_blocks_address_configs, gemm_blocks_address_valid, NULL, .operands = AB_ADDRESS,      \
                        .quads = true, .spec_count = VKF_GEMM_SPEC_COUNT, .subgroup_size = workgroup_subgroup,     \
                        .rank = rank_address),                                                                     \
        GEMM_BLOCKS_ROW("gemm_blocks", suffix, of, need, a, b, d, gemm_blocks_configs, gemm_blocks_valid,          \
                        gemm_blocks_shared_bytes, .quads = true, .spec_count = VKF_GEMM_SPEC_COUNT,                \
                        .rank = rank_blocks)
// Through texel buffers, whose format says what a is.
#define GEMM_TEXEL_BLOCKS(suffix, of, need, a, b, d)                                                              \
    GEMM_TEXEL_ROW("gemm_texel_shuffle_blocks", suffix, of, VKF_NEEDS_SHUFFLE | (need), a, b, d,                  \
                   gemm_texel_shuffle_blocks_configs, gemm_shuffle_blocks_valid, rank_shuffle, shuffle_subgroup), \
        GEMM_TEXEL_ROW("gemm_texel_blocks", suffix, of, need, a, b, d, gemm_texel_blocks_configs,                 \
                       gemm_texel_blocks_valid, rank_texel, NULL)
#define BLOCKS(q, type)                                                                                             \
    GEMM_BLOCKS("f32_" q "_f32", "f32_f32", 0, F, type, F), GEMM_BLOCKS("f16_" q "_f32", "f16_f32", 0, H, type, F), \
        GEMM_BLOCKS("f16_" q "_f16", "f16_f16", VKF_NEEDS_STORAGE_16BIT, H, type, H),                               \
        GEMM_BLOCKS("f16p_" q "_f16p", "f16p_f16p", 0, H, type, H),                                                 \
        GEMM_TEXEL_BLOCKS("f32_" q "_f32", "f32", 0, F, type, F),                                                   \
        GEMM_TEXEL_BLOCKS("f16_" q "_f32", "f32", 0, H, type, F),                                                   \
        GEMM_TEXEL_BLOCKS("f16_" q "_f16", "f16", VKF_NEEDS_STORAGE_16BIT, H, type, H),                             \
        GEMM_TEXEL_BLOCKS("f16p_" q "_f16p", "f16p", 0, H, type, H)

// By integer dot products: a is in the words that VKF_OP_QUANTIZE_ROWS leaves.
#define GEMM_DOT(suffix, of, need, type, d)                                                                           \
    GEMM_BLOCKS_ROW("gemm_dot", suffix, of, VKF_NEEDS_INTEGER_DOT | (need), VKF_DTYPE_I32, type, d, gemm_dot_configs, \
                    gemm_dot_valid, gemm_blocks_shared_bytes, .spec_count = VKF_GEMM_SPEC_COUNT, .rank = rank_gemv),  \
        GEMM_BLOCKS_ROW("gemm_dot_tile", suffix, of, VKF_NEEDS_INTEGER_DOT | (need), VKF_DTYPE_I32, type, d,          \
                        gemm_dot_tile_configs, gemm_dot_tile_valid, gemm_dot_tile_shared_bytes, .splits = true,       \
                        .spec_count = VKF_GEMM_SPLIT_SPEC_COUNT)
#define DOT(q, type) \
    GEMM_DOT("i32_" q "_f32", "f32", 0, type, F), GEMM_DOT("i32_" q "_f16", "f16", VKF_NEEDS_STORAGE_16BIT, type, H)

#define ATTENTION_REDUCE(suffix, native, out)                                                                      \
    FLAT("attention_reduce", VKF_OP_ATTENTION_REDUCE, suffix, native, out, out, 1, 2, vkf_attention_reduce_params, \
         VKF_ATTENTION_REDUCE_SPEC_COUNT)

#define GEMM_REDUCE(suffix, native, b, d)                                                       \
    FLAT("gemm_reduce", VKF_OP_GEMM_REDUCE, suffix, native, b, d, 2, 3, vkf_gemm_reduce_params, \
         VKF_GEMM_REDUCE_SPEC_COUNT)

#define ROOF(shader, kind, operands_used, params, specs)                                                       \
    {                                                                                                          \
        .name = shader ".f32", .op = kind, .types = TYPES(F), .type_count = 1, .operand_count = operands_used, \
        .params_bytes = sizeof(struct params), .spec_count = specs, .configs = roof_configs,                   \
        .config_count = COUNT(roof_configs)                                                                    \
    }

const vkf__kernel vkf__kernels[] = {
    GEMM("f32_f32_f32", false, F, F, F),
    GEMM("f32_f16_f32", true, F, H, F),
    GEMM("f32_f16p_f32", false, F, H, F),
    GEMM("f16_f16_f16", true, H, H, H),
    GEMM("f16p_f16p_f16p", false, H, H, H),
    GEMM("f16_f16_f32", true, H, H, F),
    GEMM("f16p_f16p_f32", false, H, H, F),
    GEMM("f32_f16_f16", true, F, H, H),
    GEMM("f32_f16p_f16p", false, F, H, H),
    GEMM("f32_bf16p_f32", false, F, B, F),
    GEMM_COOPMAT("f32_f16_f32", false, F, H, F),
    GEMM_COOPMAT("f16_f16_f32", false, H, H, F),
    GEMM_COOPMAT("f16_f16_f16", true, H, H, H),
    GEMM_COOPMAT("f32_f16_f16", true, F, H, H),
    GEMM_COOPMAT_BF16("f32_bf16_f32", F, B, F),
    GEMM_COOPMAT2("f32_f16_f32", VKF_NEEDS_MATRIX_CONVERSION, F, H, F),
    GEMM_COOPMAT2("f16_f16_f32", 0, H, H, F),
    GEMM_COOPMAT2("f16_f16_f16", 0, H, H, H),
    GEMM_COOPMAT2("f32_f16_f16", VKF_NEEDS_MATRIX_CONVERSION, F, H, H),
    GEMM_COOPMAT2_ELEMENT("f32_f16_f32", F, H, F),
    GEMM_COOPMAT2_ELEMENT("f16_f16_f16", H, H, H),
    GEMM_TEXEL("f32_f32_f32", "f32_f32", false, F, F, F),
    GEMM_TEXEL("f32_f16_f32", "f16_f32", true, F, H, F),
    GEMM_TEXEL("f32_f16p_f32", "f16p_f32", false, F, H, F),
    GEMM_TEXEL("f16_f16_f16", "f16_f16", true, H, H, H),
    GEMM_TEXEL("f16p_f16p_f16p", "f16p_f16p", false, H, H, H),
    GEMM_TEXEL("f16_f16_f32", "f16_f32", true, H, H, F),
    GEMM_TEXEL("f16p_f16p_f32", "f16p_f32", false, H, H, F),
    GEMM_TEXEL("f32_f16_f16", "f16_f16", true, F, H, H),
    GEMM_TEXEL("f32_f16p_f16p", "f16p_f16p", false, F, H, H),
    GEMM_TEXEL("f32_bf16p_f32", "bf16p_f32", false, F, B, F),
    ATTENTION_TEXEL4("f32_f32", "f32", false, F, F),
    ATTENTION_TEXEL4("f16_f16", "f16", true, H, H),
    ATTENTION_TEXEL4("f16_f16p", "f16p", false, H, H),
    ATTENTION_TEXEL4("f16_f32", "f32", false, H, F),
    ATTENTION_TEXEL("f32_f32", "f32", false, F, F),
    ATTENTION_TEXEL("f16_f16", "f16", true, H, H),
    ATTENTION_TEXEL("f16_f16p", "f16p", false, H, H),
    ATTENTION_TEXEL("f16_f32", "f32", false, H, F),
    ATTENTION_ADDRESS("f32_f32_f32", false, F, F),
    ATTENTION_ADDRESS_HALF("f16_f16_f16", true, H, H),
    ATTENTION_ADDRESS_HALF("f16p_f16_f16p", false, H, H),
    ATTENTION_ADDRESS_HALF("f16_f16_f32", true, H, F),
    ATTENTION_ADDRESS_HALF("f16p_f16_f32", false, H, F),
    ATTENTION_TILED("f32_f32_f32", false, F, F),
    ATTENTION_TILED("f16_f16_f16", true, H, H),
    ATTENTION_TILED("f16p_f16p_f16p", false, H, H),
    ATTENTION_TILED("f16p_f16p_f32", false, H, F),
    ATTENTION_DIRECT("f32_f32_f32", false, F, F),
    ATTENTION_DIRECT("f16_f16_f16", true, H, H),
    ATTENTION_DIRECT("f16p_f16p_f16p", false, H, H),
    ATTENTION_DIRECT("f16_f16_f32", true, H, F),
    ATTENTION_DIRECT("f16p_f16p_f32", false, H, F),
    // Keys and values in half the bytes behind activations in f32.
    ATTENTION("attention_texel4", "f32_f16_f32", "attention_texel.f32", false, F, H, F, ALL_TEXEL4, true,
              VKF_ATTENTION_TEXEL_SPEC_COUNT, attention_texel_configs, rank_texel),
    ATTENTION("attention_texel", "f32_f16_f32", "attention_texel.f32", false, F, H, F, ALL_TEXEL, false,
              VKF_ATTENTION_TEXEL_SPEC_COUNT, attention_texel_configs, rank_texel_single),
    ATTENTION_TILED_OF("f32_f16p_f32", false, F, H, F),
    ATTENTION("attention_direct", "f32_f16p_f32", NULL, false, F, H, F, ALL_STORAGE, false, VKF_ATTENTION_SPEC_COUNT,
              attention_storage_configs, rank_direct),
    ATTENTION_COOPMAT("f16_f16_f16", true, H, H, H),
    ATTENTION_COOPMAT("f16_f16_f32", false, H, H, F),
    ATTENTION_REDUCE("f32", false, F),
    ATTENTION_REDUCE("f16", true, H),
    ATTENTION_REDUCE("f16p", false, H),
    GEMM_DIRECT("f32_f32_f32", false, F, F, F, configs),
    GEMM_COLUMNS("f32_f16_f32", HALF_LANES, F, H, F),
    GEMM_DIRECT("f32_f16_f32", true, F, H, F, half_configs),
    GEMM_DIRECT("f32_f16p_f32", false, F, H, F, half_configs),
    GEMM_COLUMNS("f32_bf16p_f32", 0, F, B, F),
    GEMM_DIRECT("f32_bf16p_f32", false, F, B, F, half_configs),
    GEMM_COLUMNS("f16_f16_f16", HALF_LANES, H, H, H),
    GEMM_COLUMNS("f16_f16_f32", HALF_LANES, H, H, F),
    GEMM_DIRECT("f16_f16_f16", true, H, H, H, half_configs),
    GEMM_DIRECT("f16p_f16p_f16p", false, H, H, H, half_configs),
    GEMV("f32_f32_f32", false, F, F, F),
    GEMV("f32_f16_f32", true, F, H, F),
    GEMV("f32_f16p_f32", false, F, H, F),
    GEMV("f32_bf16p_f32", false, F, B, F),
    GEMV("f16_f16_f16", true, H, H, H),
    GEMV("f16p_f16p_f16p", false, H, H, H),
    BLOCKS("q8", VKF_DTYPE_Q8),
    BLOCKS("q4", VKF_DTYPE_Q4),
    DOT("q8", VKF_DTYPE_Q8),
    DOT("q4", VKF_DTYPE_Q4),
    GEMM_REDUCE("f32_f32", false, F, F),
    GEMM_REDUCE("f16_f32", true, H, F),
    GEMM_REDUCE("f16p_f32", false, H, F),
    GEMM_REDUCE("bf16p_f32", false, B, F),
    GEMM_REDUCE("f16_f16", true, H, H),
    GEMM_REDUCE("f16p_f16p", false, H, H),
    SOFTMAX("f32_f32", false, F, F),
    SOFTMAX("f16_f16", true, H, H),
    SOFTMAX("f16p_f16p", false, H, H),
    LAYER_NORM("f32_f32", false, F, F),
    LAYER_NORM("f32_f16", true, F, H),
    LAYER_NORM("f32_f16p", false, F, H),
    LAYER_NORM("f32_bf16p", false, F, B),
    LAYER_NORM("f16_f16", true, H, H),
    LAYER_NORM("f16p_f16p", false, H, H),
    LAYER_NORM_RESIDUAL("f32_f32", false, F, F),
    LAYER_NORM_RESIDUAL("f32_f16", true, F, H),
    LAYER_NORM_RESIDUAL("f32_f16p", false, F, H),
    LAYER_NORM_RESIDUAL("f32_bf16p", false, F, B),
    LAYER_NORM_RESIDUAL("f16_f16", true, H, H),
    LAYER_NORM_RESIDUAL("f16p_f16p", false, H, H),
    PERMUTE("f32", false, F),
    PERMUTE("f16", true, H),
    PERMUTE("f16p", false, H),
    EMBED("f32_f32", false, F, F),
    EMBED("f16_f32", true, H, F),
    EMBED("f16p_f32", false, H, F),
    EMBED("bf16p_f32", false, B, F),
    EMBED("f16_f16", true, H, H),
    EMBED("f16p_f16p", false, H, H),
    ADDITIVE("f32", false, F),
    ADDITIVE("f16", true, H),
    ADDITIVE("f16p", false, H),
    ARGMAX("f32", false, F),
    ARGMAX("f16", true, H),
    ARGMAX("f16p", false, H),
    SAMPLE("f32", F),
    TOP("f32", F),
    FLAT("reorder", VKF_OP_REORDER, "i32", false, VKF_DTYPE_I32, VKF_DTYPE_I32, 1, 2, vkf_reorder_params,
         VKF_REORDER_SPEC_COUNT),
    POOL("f32", false, F),
    POOL("f16", true, H),
    POOL("f16p", false, H),
    ROTARY("f32_f32", false, F, F),
    ROTARY("f32_f16", true, F, H),
    ROTARY("f32_f16p", false, F, H),
    ROTARY("f16_f16", true, H, H),
    ROTARY("f16p_f16p", false, H, H),
    GATE("f32", false, F),
    GATE("f16", true, H),
    GATE("f16p", false, H),
    PACK("f32", false, F),
    PACK("f16", true, H),
    PACK("f16p", false, H),
    PACK_HALF_AS("bf16", B),
    QUANTIZE_ROWS("f32", F),
    QUANTIZE_ROWS("f16p", H),
    COPY("f32_f32", false, F, F),
    COPY("f32_f16", true, F, H),
    COPY("f32_f16p", false, F, H),
    COPY("f16_f32", true, H, F),
    COPY("f16p_f32", false, H, F),
    COPY("bf16p_f32", false, B, F),
    COPY("f16_f16", true, H, H),
    COPY("f16p_f16p", false, H, H),
    FLAT("head_mean", VKF_OP_HEAD_MEAN, "f32", false, F, F, 1, 2, vkf_head_mean_params, VKF_HEAD_MEAN_SPEC_COUNT),
    ROOF("roof_copy", VKF_OP_ROOF_COPY, 2, vkf_roof_copy_params, VKF_ROOF_COPY_SPEC_COUNT),
    ROOF("roof_read", VKF_OP_ROOF_READ, 2, vkf_roof_copy_params, VKF_ROOF_COPY_SPEC_COUNT),
    ROOF("roof_fma", VKF_OP_ROOF_FMA, 1, vkf_roof_fma_params, VKF_ROOF_FMA_SPEC_COUNT),
};

const uint32_t vkf__kernel_count = COUNT(vkf__kernels);
