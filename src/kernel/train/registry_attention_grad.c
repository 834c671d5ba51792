// Kernels of attention for training and its gradients, and the one that packs what these read.
#include "base/size.h"
#include "kernel/registry_families.h"
#include "kernel/registry_row.h"
#include "shared/attention_grad.h"

#define TILE(each_, step_, lanes_, depth_) \
    .tile.attention_grad = {.each = each_, .step = step_, .lanes = lanes_, .depth = depth_}

CHECK_TILE(attention_grad.each, VKF_ATTENTION_GRAD_SPEC_EACH);
CHECK_TILE(attention_grad.step, VKF_ATTENTION_GRAD_SPEC_STEP);
CHECK_TILE(attention_grad.lanes, VKF_ATTENTION_GRAD_SPEC_LANES);
CHECK_TILE(attention_grad.depth, VKF_ATTENTION_GRAD_SPEC_DEPTH);

// What all kernels have; what else they have says how they divide the work.
#define PASS_CONSTANTS                                                                                               \
    CONSTANT(ATTENTION_GRAD, HEAD_DIM), CONSTANT(ATTENTION_GRAD, V_HEAD_DIM), CONSTANT(ATTENTION_GRAD, MASK_KIND),   \
        CONSTANT(ATTENTION_GRAD, KEY_MASK_KIND), CONSTANT(ATTENTION_GRAD, CAUSAL), CONSTANT(ATTENTION_GRAD, WINDOW), \
        CONSTANT(ATTENTION_GRAD, GIVES), CONSTANT(ATTENTION_GRAD, DROPOUT), CONSTANT(ATTENTION_GRAD, SCORE_FORM)

static const char *const constants[VKF_ATTENTION_GRAD_SPEC_COUNT] = {
    LOCAL_SIZE,
    CONSTANT(ATTENTION_GRAD, EACH),
    CONSTANT(ATTENTION_GRAD, STEP),
    CONSTANT(ATTENTION_GRAD, LANES),
    CONSTANT(ATTENTION_GRAD, DEPTH),
    PASS_CONSTANTS,
};

// The more own rows, the less is loaded for a product; but each takes sixteen registers for its sums and eight or more
// for a step, and what spills is lost. d64x128, which needs more than 16 KiB of shared memory, and whose workgroups
// leave Adreno 660 too few registers, is for the tuner to find.
static const vkf__config configs[] = {
    {.name = "d64", .local_size = 64, TILE(4, 32, 8, 32), .max_k = 64, .min_registers = 160},
    {.name = "d64x2", .local_size = 64, TILE(2, 32, 8, 32), .max_k = 64, .min_registers = 96},
    {.name = "d64x1", .local_size = 64, TILE(1, 32, 8, 32), .max_k = 64},
    {.name = "d64x128", .local_size = 128, TILE(4, 32, 8, 32), .max_k = 64},
    {.name = "d128", .local_size = 128, TILE(4, 32, 16, 32), .max_k = 128, .min_registers = 160},
    {.name = "d128x2", .local_size = 64, TILE(2, 32, 16, 32), .max_k = 128, .min_registers = 96},
    {.name = "d128x1", .local_size = 64, TILE(1, 32, 16, 32), .max_k = 128},
    {.name = "d256", .local_size = 128, TILE(2, 32, 32, 32), .min_registers = 96},
    {.name = "d256x1", .local_size = 128, TILE(1, 32, 32, 32)},
};

static uint32_t own_rows(const vkf__config *config)
{
    const vkf__attention_grad_tile *t = &config->tile.attention_grad;
    return t->each * config->local_size / t->lanes;
}

// The number of vectors of four that the tiles of rows take, with one vector of padding per line.
static uint32_t tile_vectors(const vkf__config *config)
{
    const vkf__attention_grad_tile *t = &config->tile.attention_grad;
    return (own_rows(config) + t->step) * (t->depth / 4 + 1);
}

static uint32_t shared_bytes(const vkf__config *config)
{
    const vkf__attention_grad_tile *t = &config->tile.attention_grad;
    const uint32_t quads = own_rows(config) * (t->step / 4 + 1);
    return 16 * (tile_vectors(config) + quads) + 4 * t->step + 4 * quads;
}

// The tile holds at least four rows to be added. An invocation has a word for what of its weights is kept.
static bool valid(const vkf__config *config)
{
    const vkf__attention_grad_tile *t = &config->tile.attention_grad;
    const uint32_t widest = config->max_k > 0 ? config->max_k : 256;
    if (!vkf__is_power_of_two_u64(t->step) || !vkf__is_power_of_two_u64(t->lanes) || t->lanes < 4 ||
        t->lanes > t->step || config->local_size % t->lanes != 0 || t->depth == 0 || t->depth % 4 != 0 || t->each == 0)
        return false;
    return tile_vectors(config) >= 4 * ((widest + 3) / 4) && own_rows(config) % 4 == 0 &&
           t->each * t->step / t->lanes <= 32;
}

static const char *const address_constants[VKF_ATTENTION_GRAD_SPEC_COUNT] = {
    LOCAL_SIZE,
    CONSTANT(ATTENTION_GRAD, STEP),
    PASS_CONSTANTS,
};

// For software rasterisers: a row to an invocation, without shared memory. A step is unrolled over the width.
static const vkf__config address_configs[] = {
    {.name = "step8", .local_size = 8, TILE(1, 8, 1, 4), .max_k = 64},
    {.name = "step4", .local_size = 8, TILE(1, 4, 1, 4)},
};

static bool address_valid(const vkf__config *config)
{
    const vkf__attention_grad_tile *t = &config->tile.attention_grad;
    return t->each == 1 && t->lanes == 1 && t->step > 0 && t->step <= 16;
}

// The same with a step's rows fetched by the invocations of a subgroup. A row is unrolled.
static const vkf__config texel_configs[] = {
    {.name = "step8", .local_size = 8, TILE(1, 8, 1, 4)},
};

static bool texel_valid(const vkf__config *config)
{
    return address_valid(config) && config->tile.attention_grad.step == config->local_size;
}

static uint32_t workgroup_subgroup(const vkf__config *config)
{
    return config->local_size;
}

static const char *const pack_constants[VKF_ATTENTION_GRAD_PACK_SPEC_COUNT] = {
    LOCAL_SIZE,
    CONSTANT(ATTENTION_GRAD_PACK, LANES),
    CONSTANT(ATTENTION_GRAD_PACK, DELTAS),
};
CHECK_TILE(attention_grad.each, VKF_ATTENTION_GRAD_PACK_SPEC_LANES);

#define PACK_LANES(lanes_) .tile.attention_grad = {.each = lanes_}

static const vkf__config pack_configs[] = {
    {.name = "rows128", .local_size = 128, PACK_LANES(16)},
    {.name = "rows64", .local_size = 64, PACK_LANES(16)},
};

// On processors finding a row takes longer than copying it.
static const vkf__config pack_row_configs[] = {
    {.name = "row64", .local_size = 64, PACK_LANES(1)},
};

static bool pack_valid(const vkf__config *config)
{
    const uint32_t lanes = config->tile.attention_grad.each;
    return vkf__is_power_of_two_u64(lanes) && config->local_size % lanes == 0;
}

// A number for each invocation.
static uint32_t pack_shared_bytes(const vkf__config *config)
{
    return 4 * config->local_size;
}

#define HEADS                                                                                       \
    .operands[VKF_ATTENTION_GRAD_BINDING_SLOPES - 1] = VKF_OPERAND_VALUES,                          \
                                                  .operands[VKF_ATTENTION_GRAD_BINDING_SINKS - 1] = \
                                                      VKF_OPERAND_VALUES,                           \
                                                  PARAMS(vkf_attention_grad_params)
#define GRAD(shader, op_, count, out)                                                                               \
    {                                                                                                               \
        .name = NAME_1(shader, out), TYPES_1(out), .op = op_, .needs = STORAGE(out), .operand_count = count, HEADS, \
        CONSTANTS(constants), .tile_count = 4, CONFIGS(configs), .valid = valid, .shared_bytes = shared_bytes,      \
        .offers = (op_) == VKF_OP_ATTENTION_GRAD ? VKF_FORM_BIASED : 0u                                             \
    }
#define GRAD_ADDRESS(shader, op_, count, out)                                                                   \
    {                                                                                                           \
        .name = NAME_1(shader, out), TYPES_1(out), .op = op_, .needs = VKF_NEEDS_SUBGROUP | STORAGE(out),       \
        .operands[0] = VKF_OPERAND_ADDRESS, .operand_count = count, HEADS, CONSTANTS(address_constants),        \
        .tile_count = 4, CONFIGS(address_configs), .valid = address_valid, .subgroup_size = workgroup_subgroup, \
        .rung = VKF_RUNG_ADDRESS                                                                                \
    }
// One module for either operator.
#define GRAD_TEXEL(shader, op_, out)                                                                                 \
    {                                                                                                                \
        .name = NAME_1(shader, out), TYPES_1(out), .module = "attention_grad_texel." #out, .op = op_,                \
        .needs = VKF_NEEDS_SHUFFLE | VKF_NEEDS_SUBGROUP, .operands[0] = VKF_OPERAND_TEXEL4,                          \
        .operand_count = VKF_ATTENTION_GRAD_BINDING_VALUE_OUT, HEADS, CONSTANTS(address_constants), .tile_count = 4, \
        CONFIGS(texel_configs), .valid = texel_valid, .subgroup_size = workgroup_subgroup, .rung = VKF_RUNG_TEXEL    \
    }
#define PACK(shader, configs_, rung_, x)                                                                              \
    {                                                                                                                 \
        .name = NAME_1(shader, x), TYPES_1(x), .module = "attention_grad_pack." #x, .op = VKF_OP_ATTENTION_GRAD_PACK, \
        .needs = STORAGE(x), .operand_count = 4, PARAMS(vkf_attention_grad_pack_params), CONSTANTS(pack_constants),   \
        .tile_count = 1, CONFIGS(configs_), .valid = pack_valid, .shared_bytes = pack_shared_bytes,                   \
        .rung = VKF_RUNG_##rung_                                                                                      \
    }

static const vkf__kernel rows[] = {
    GRAD("attention_train", VKF_OP_ATTENTION_TRAIN, VKF_ATTENTION_GRAD_BINDING_SINKS, f32),
    GRAD("attention_grad_pair", VKF_OP_ATTENTION_GRAD_PAIR, VKF_ATTENTION_GRAD_BINDING_VALUE_OUT, f32),
    GRAD("attention_grad", VKF_OP_ATTENTION_GRAD, VKF_ATTENTION_GRAD_BINDING_SINKS, f32),
    GRAD_ADDRESS("attention_train_address", VKF_OP_ATTENTION_TRAIN, VKF_ATTENTION_GRAD_BINDING_SINKS, f32),
    GRAD_ADDRESS("attention_grad_pair_address", VKF_OP_ATTENTION_GRAD_PAIR, VKF_ATTENTION_GRAD_BINDING_VALUE_OUT, f32),
    GRAD_ADDRESS("attention_grad_address", VKF_OP_ATTENTION_GRAD, VKF_ATTENTION_GRAD_BINDING_SINKS, f32),
    GRAD_TEXEL("attention_grad_pair_texel", VKF_OP_ATTENTION_GRAD_PAIR, f32),
    GRAD_TEXEL("attention_grad_texel", VKF_OP_ATTENTION_GRAD, f32),
    PACK("attention_grad_pack", pack_configs, PLAIN, f32),
    PACK("attention_grad_pack_row", pack_row_configs, DIRECT, f32),
};

const vkf__family vkf__attention_grad_family = {rows, COUNT(rows)};
