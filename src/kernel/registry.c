#include "kernel/registry.h"

#include "shared/additive_scores.h"
#include "shared/argmax.h"
#include "shared/copy.h"
#include "shared/embed.h"
#include "shared/gemm.h"
#include "shared/head_mean.h"
#include "shared/layer_norm.h"
#include "shared/permute.h"
#include "shared/softmax.h"

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
        [VKF_OP_COPY] = "copy",
        [VKF_OP_HEAD_MEAN] = "head_mean",
    };
    return op < VKF_OP_COUNT ? names[op] : "unknown";
}

// {tile m, tile n, tile k, thread m, thread n}
static const vkf__config gemm_configs[] = {
    {.name = "thin", .local_size = 64, .tile = {8, 64, 16, 2, 4}, .max_m = 8},
    {.name = "large", .local_size = 128, .tile = {64, 64, 16, 8, 4}, .min_m = 48, .min_n = 48},
    {.name = "small", .local_size = 64, .tile = {32, 32, 16, 4, 4}},
};

static uint32_t gemm_shared_bytes(const vkf__config *config)
{
    // Rows of both tiles are padded by one element against bank conflicts.
    return 4 * config->tile[2] * (config->tile[0] + config->tile[1] + 2);
}

static bool gemm_valid(const vkf__config *config)
{
    const uint32_t *t = config->tile;
    return t[2] > 0 && t[2] % 4 == 0 && t[3] > 0 && t[4] > 0 && t[0] % t[3] == 0 && t[1] % t[4] == 0 &&
           (t[0] / t[3]) * (t[1] / t[4]) == config->local_size;
}

// {transpose a, transpose b, activation, has bias, add after}: linear layers with and without bias, with the activations of
// a feed-forward block; attention scores (the second) and attention times values (the third).
static const uint32_t gemm_flags[][VKF_KERNEL_MAX_FLAGS] = {
    {0, 1, VKF_SHADER_ACTIVATION_NONE, 1, 0},     {0, 1, VKF_SHADER_ACTIVATION_NONE, 0, 0},
    {0, 0, VKF_SHADER_ACTIVATION_NONE, 0, 0},     {0, 1, VKF_SHADER_ACTIVATION_RELU, 1, 0},
    {0, 1, VKF_SHADER_ACTIVATION_GELU_ERF, 1, 0},
};

// Rows of a matrix, one workgroup each: n is the row's length.
static const vkf__config row_configs[] = {
    {.name = "row256", .local_size = 256, .min_n = 1024},
    {.name = "row64", .local_size = 64, .min_n = 64},
    {.name = "row16", .local_size = 16},
};

static uint32_t row_shared_bytes(const vkf__config *config)
{
    return 4 * 2 * config->local_size;
}

static bool power_of_two(const vkf__config *config)
{
    return (config->local_size & (config->local_size - 1)) == 0;
}

static const vkf__config flat_configs[] = {
    {.name = "flat128", .local_size = 128},
    {.name = "flat64", .local_size = 64},
};

#define COUNT(array) ((uint32_t)(sizeof(array) / sizeof((array)[0])))

// In the rows below F is f32 and H half storage. Every row with H exists twice: with float16_t in storage buffers, and
// (row name f16p) with two halves to a word for devices that have no 16-bit storage. Earlier rows are preferred.
#define F VKF_DTYPE_F32
#define H VKF_DTYPE_F16
#define TYPES(...)  \
    {               \
        __VA_ARGS__ \
    }

#define GEMM(suffix, native, a, b, d)                                                                      \
    {                                                                                                      \
        .name = "gemm_tile." suffix, .op = VKF_OP_GEMM, .types = TYPES(a, b, d), .type_count = 3,          \
        .needs_storage_16bit = native, .storage_count = 4, .params_bytes = sizeof(struct vkf_gemm_params), \
        .spec_count = VKF_GEMM_SPEC_COUNT, .tile_count = 5, .configs = gemm_configs,                       \
        .config_count = COUNT(gemm_configs), .shared_bytes = gemm_shared_bytes, .valid = gemm_valid,       \
        .common_flags = gemm_flags, .common_flags_count = COUNT(gemm_flags)                                \
    }

#define ROW(shader, kind, suffix, native, t0, t1, storage, params, specs)                                              \
    {                                                                                                                  \
        .name = shader "." suffix, .op = kind, .types = TYPES(t0, t1), .type_count = 2, .needs_storage_16bit = native, \
        .storage_count = storage, .params_bytes = sizeof(struct params), .spec_count = specs, .configs = row_configs,  \
        .config_count = COUNT(row_configs), .shared_bytes = row_shared_bytes, .valid = power_of_two                    \
    }

#define SOFTMAX(suffix, native, x, out) \
    ROW("softmax", VKF_OP_SOFTMAX, suffix, native, x, out, 4, vkf_softmax_params, VKF_SOFTMAX_SPEC_COUNT)
#define LAYER_NORM(suffix, native, x, w) \
    ROW("layer_norm", VKF_OP_LAYER_NORM, suffix, native, x, w, 4, vkf_layer_norm_params, VKF_LAYER_NORM_SPEC_COUNT)
#define LAYER_NORM_RESIDUAL(suffix, native, x, w)                                                          \
    ROW("layer_norm_residual", VKF_OP_LAYER_NORM_RESIDUAL, suffix, native, x, w, 5, vkf_layer_norm_params, \
        VKF_LAYER_NORM_RESIDUAL_SPEC_COUNT)
#define ARGMAX(suffix, native, x) \
    ROW("argmax", VKF_OP_ARGMAX, suffix, native, x, VKF_DTYPE_I32, 2, vkf_argmax_params, VKF_ARGMAX_SPEC_COUNT)

#define FLAT(shader, kind, suffix, native, t0, t1, count, storage, params, specs)                       \
    {                                                                                                   \
        .name = shader "." suffix, .op = kind, .types = TYPES(t0, t1), .type_count = count,             \
        .needs_storage_16bit = native, .storage_count = storage, .params_bytes = sizeof(struct params), \
        .spec_count = specs, .configs = flat_configs, .config_count = COUNT(flat_configs)               \
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
    SOFTMAX("f32_f32", false, F, F),
    SOFTMAX("f16_f16", true, H, H),
    SOFTMAX("f16p_f16p", false, H, H),
    LAYER_NORM("f32_f32", false, F, F),
    LAYER_NORM("f32_f16", true, F, H),
    LAYER_NORM("f32_f16p", false, F, H),
    LAYER_NORM("f16_f16", true, H, H),
    LAYER_NORM("f16p_f16p", false, H, H),
    LAYER_NORM_RESIDUAL("f32_f32", false, F, F),
    LAYER_NORM_RESIDUAL("f32_f16", true, F, H),
    LAYER_NORM_RESIDUAL("f32_f16p", false, F, H),
    LAYER_NORM_RESIDUAL("f16_f16", true, H, H),
    LAYER_NORM_RESIDUAL("f16p_f16p", false, H, H),
    PERMUTE("f32", false, F),
    PERMUTE("f16", true, H),
    PERMUTE("f16p", false, H),
    EMBED("f32_f32", false, F, F),
    EMBED("f16_f32", true, H, F),
    EMBED("f16p_f32", false, H, F),
    EMBED("f16_f16", true, H, H),
    EMBED("f16p_f16p", false, H, H),
    ADDITIVE("f32", false, F),
    ADDITIVE("f16", true, H),
    ADDITIVE("f16p", false, H),
    ARGMAX("f32", false, F),
    ARGMAX("f16", true, H),
    ARGMAX("f16p", false, H),
    COPY("f32_f32", false, F, F),
    COPY("f32_f16", true, F, H),
    COPY("f32_f16p", false, F, H),
    COPY("f16_f32", true, H, F),
    COPY("f16p_f32", false, H, F),
    COPY("f16_f16", true, H, H),
    COPY("f16p_f16p", false, H, H),
    FLAT("head_mean", VKF_OP_HEAD_MEAN, "f32", false, F, F, 1, 2, vkf_head_mean_params, VKF_HEAD_MEAN_SPEC_COUNT),
};

const uint32_t vkf__kernel_count = COUNT(vkf__kernels);
