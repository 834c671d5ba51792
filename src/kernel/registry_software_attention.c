// Fused attention for software rasterisers: through texel buffers, by device addresses, and straight from storage
// buffers, all without shared memory. On a GPU each stands behind the GPU's default. But a device that binds only four
// storage buffers can run no others than those on texels.
#include "kernel/registry_families.h"
#include "kernel/registry_heads.h"

#define ATTENTION_TILE(queries_, keys_, lanes_, fence_) \
    .tile.attention = {.queries = queries_, .keys = keys_, .lanes = lanes_, .fence = fence_}

CHECK_TILE(attention.queries, VKF_ATTENTION_SPEC_QUERIES);
CHECK_TILE(attention.keys, VKF_ATTENTION_SPEC_KEYS);
CHECK_TILE(attention.lanes, VKF_ATTENTION_SPEC_SPLIT_LANES);
CHECK_TILE(attention.fence, VKF_ATTENTION_SPEC_FENCE);

#define TILE_CONSTANTS                                                                                     \
    LOCAL_SIZE, CONSTANT(ATTENTION, QUERIES), CONSTANT(ATTENTION, KEYS), CONSTANT(ATTENTION, SPLIT_LANES), \
        CONSTANT(ATTENTION, FENCE)

static const char *const constants[VKF_ATTENTION_SPEC_COUNT] = {TILE_CONSTANTS, HEADS_FLAGS};
static const char *const texel_constants[VKF_ATTENTION_TEXEL_SPEC_COUNT] = {TILE_CONSTANTS, HEADS_FLAGS,
                                                                            CONSTANT(ATTENTION, TEXEL_WIDTH)};

// More queries and keys do more arithmetic per load but take longer to compile, which only pays for long sequences.
static const vkf__config attention_texel_configs[] = {
    {.name = "shared8", .local_size = 8, ATTENTION_TILE(1, 4, 8, 0)},
    {.name = "q4k4", .local_size = 8, ATTENTION_TILE(4, 4, 1, 0), .max_k = 128, .min_m = 64, .min_n = 64},
    {.name = "q1k4", .local_size = 8, ATTENTION_TILE(1, 4, 1, 0)},
    {.name = "q4k2", .local_size = 8, ATTENTION_TILE(4, 2, 1, 0), .max_k = 128},
    {.name = "q8k4", .local_size = 8, ATTENTION_TILE(8, 4, 1, 0), .max_k = 64},
    {.name = "q2k4", .local_size = 8, ATTENTION_TILE(2, 4, 1, 0)},
};

static const vkf__config attention_address_configs[] = {
    {.name = "shared8", .local_size = 8, ATTENTION_TILE(1, 4, 8, 0)},
    {.name = "q1k16", .local_size = 8, ATTENTION_TILE(1, 16, 1, 8), .max_k = 64, .min_m = 8, .min_n = 16},
    {.name = "q1k8", .local_size = 8, ATTENTION_TILE(1, 8, 1, 8)},
    {.name = "q1k16f16", .local_size = 8, ATTENTION_TILE(1, 16, 1, 16), .max_k = 128},
    {.name = "q2k4", .local_size = 8, ATTENTION_TILE(2, 4, 1, 0)},
};

// Halves are unpacked once for all queries of an invocation.
static const vkf__config attention_address_half_configs[] = {
    {.name = "shared8", .local_size = 8, ATTENTION_TILE(1, 4, 8, 0)},
    {.name = "q4k4", .local_size = 8, ATTENTION_TILE(4, 4, 1, 0), .max_k = 128, .min_m = 32, .min_n = 16},
    {.name = "q2k8", .local_size = 8, ATTENTION_TILE(2, 8, 1, 0), .max_k = 64, .min_m = 32, .min_n = 16},
    {.name = "q1k4", .local_size = 8, ATTENTION_TILE(1, 4, 1, 0)},
};

static const vkf__config attention_storage_configs[] = {
    {.name = "q1k4", .local_size = 64, ATTENTION_TILE(1, 4, 1, 0), .max_k = 64, .min_m = 64},
    {.name = "q1k4x32", .local_size = 32, ATTENTION_TILE(1, 4, 1, 0), .max_k = 64, .min_m = 32},
    {.name = "q1k1", .local_size = 8, ATTENTION_TILE(1, 1, 1, 0)},
};

// 32-bit registers that the rows of an invocation may take, of the 255 that it can address on the GPUs that we know.
#define ROW_REGISTERS 231u

// A processor's cache takes what does not fit. A single row is always taken, because there may be no other kernel.
static const char *attention_unfit(const vkf__caps *caps, const vkf__config *config, const vkf__problem *problem)
{
    const vkf__attention_tile *t = &config->tile.attention;
    if (!problem || caps->traits.spills_to_cache || t->queries == 1)
        return NULL;
    // The query, the sums, and the scores of a step.
    uint64_t registers = t->queries * (2 * (uint64_t)problem->k + t->keys);
    return registers > ROW_REGISTERS ? "would keep more in registers than there are" : NULL;
}

static bool attention_valid(const vkf__config *config)
{
    const vkf__attention_tile *t = &config->tile.attention;
    return t->queries > 0 && t->keys > 0 && t->lanes > 0 && config->local_size % t->lanes == 0;
}

// Invocations may share rows, which they keep in registers.
#define IN_REGISTERS HEADS, .shares_rows = true, .valid = attention_valid, .unfit = attention_unfit

// Queries, keys and values get their types from the format of their buffers and are usually of one type. So names give
// that type once, and modules are named by the type of the output.
#define TEXEL_MODULE(out)                                                                               \
    .module = "attention_texel." #out, .needs = STORAGE(out), IN_REGISTERS, CONSTANTS(texel_constants), \
    CONFIGS(attention_texel_configs)
// With texels of four elements.
#define TEXELS_4(out)                                                                                        \
    .operands[0] = VKF_OPERAND_TEXEL4, .operands[1] = VKF_OPERAND_TEXEL4, .operands[2] = VKF_OPERAND_TEXEL4, \
    .wants = VKF_FORM_QUADS, .rung = VKF_RUNG_TEXEL, TEXEL_MODULE(out)
// With texels of one element.
#define TEXELS_1(out)                                                                                     \
    .operands[0] = VKF_OPERAND_TEXEL, .operands[1] = VKF_OPERAND_TEXEL, .operands[2] = VKF_OPERAND_TEXEL, \
    .rung = VKF_RUNG_TEXEL_SINGLE, TEXEL_MODULE(out)

#define ATTENTION_TEXEL4(in, out)                                                        \
    {                                                                                    \
        .name = NAME_2("attention_texel4", in, out), TYPES_3(in, in, out), TEXELS_4(out) \
    }
#define ATTENTION_TEXEL(in, out)                                                        \
    {                                                                                   \
        .name = NAME_2("attention_texel", in, out), TYPES_3(in, in, out), TEXELS_1(out) \
    }

// Keys and values are read by address, whatever storage features the device has.
#define BY_ADDRESS(q, out)                                                                              \
    .operands[1] = VKF_OPERAND_ADDRESS, .operands[2] = VKF_OPERAND_ADDRESS, .needs = STORAGE_2(q, out), \
    .rung = VKF_RUNG_ADDRESS, IN_REGISTERS, CONSTANTS(constants)
#define ATTENTION_ADDRESS(q, kv, out)                                                             \
    {                                                                                             \
        .name = NAME_3("attention_address", q, kv, out), TYPES_3(q, kv, out), BY_ADDRESS(q, out), \
        CONFIGS(attention_address_configs)                                                        \
    }
#define ATTENTION_ADDRESS_HALF(q, kv, out)                                                        \
    {                                                                                             \
        .name = NAME_3("attention_address", q, kv, out), TYPES_3(q, kv, out), BY_ADDRESS(q, out), \
        CONFIGS(attention_address_half_configs), .wants = VKF_FORM_QUADS                          \
    }

#define ATTENTION_DIRECT(q, kv, out)                                                                             \
    {                                                                                                            \
        .name = NAME_3("attention_direct", q, kv, out), TYPES_3(q, kv, out), IN_REGISTERS, CONSTANTS(constants), \
        .needs = STORAGE_3(q, kv, out), CONFIGS(attention_storage_configs), .rung = VKF_RUNG_DIRECT              \
    }

static const vkf__kernel rows[] = {
    ATTENTION_TEXEL4(f32, f32),
    ATTENTION_TEXEL4(f16, f16),
    ATTENTION_TEXEL4(f16, f16p),
    ATTENTION_TEXEL4(f16, f32),
    ATTENTION_TEXEL(f32, f32),
    ATTENTION_TEXEL(f16, f16),
    ATTENTION_TEXEL(f16, f16p),
    ATTENTION_TEXEL(f16, f32),
    ATTENTION_ADDRESS(f32, f32, f32),
    ATTENTION_ADDRESS_HALF(f16, f16, f16),
    ATTENTION_ADDRESS_HALF(f16p, f16, f16p),
    ATTENTION_ADDRESS_HALF(f16, f16, f32),
    ATTENTION_ADDRESS_HALF(f16p, f16, f32),
    ATTENTION_DIRECT(f32, f32, f32),
    ATTENTION_DIRECT(f16, f16, f16),
    ATTENTION_DIRECT(f16p, f16p, f16p),
    ATTENTION_DIRECT(f16, f16, f32),
    ATTENTION_DIRECT(f16p, f16p, f32),
    // Keys and values in half the bytes, for activations in f32.
    {.name = NAME_3("attention_texel4", f32, f16, f32), TYPES_3(f32, f16, f32), TEXELS_4(f32)},
    {.name = NAME_3("attention_texel", f32, f16, f32), TYPES_3(f32, f16, f32), TEXELS_1(f32)},
    ATTENTION_DIRECT(f32, f16p, f32),
    // bfloat16 by this one alone: texels are read as floats, and no format is of it; words at addresses hold halves.
    ATTENTION_DIRECT(f32, bf16p, f32),
};

const vkf__family vkf__software_attention_family = {rows, COUNT(rows)};
