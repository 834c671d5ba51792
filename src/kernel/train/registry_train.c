// Kernels of training that stand beside the layers' own: losses, norms of gradients, and optimisers.
#include "kernel/registry_families.h"
#include "kernel/registry_row.h"
#include "shared/adam.h"
#include "shared/clip.h"
#include "shared/cross_entropy.h"
#include "shared/sgd.h"
#include "shared/total.h"

// A workgroup per row or part; n is its length, which for a loss is a vocabulary's.
static const vkf__config train_row_configs[] = {
    {.name = "row256", .local_size = 256, .min_n = 1024},
    {.name = "row64", .local_size = 64, .min_n = 64},
    {.name = "row16", .local_size = 16},
};

// A maximum and a sum per invocation, and the label's logit.
static uint32_t cross_entropy_shared_bytes(const vkf__config *config)
{
    return 4 * (2 * config->local_size + 1);
}

static uint32_t total_shared_bytes(const vkf__config *config)
{
    return 4 * config->local_size;
}

static const char *const cross_entropy_constants[VKF_CROSS_ENTROPY_SPEC_COUNT] = {
    LOCAL_SIZE,
    CONSTANT(CROSS_ENTROPY, HAS_GRADIENT),
};
static const char *const total_constants[VKF_TOTAL_SPEC_COUNT] = {LOCAL_SIZE, CONSTANT(TOTAL, SQUARES)};
static const char *const clip_constants[VKF_CLIP_SPEC_COUNT] = {LOCAL_SIZE};
static const char *const adam_constants[VKF_ADAM_SPEC_COUNT] = {LOCAL_SIZE};
static const char *const sgd_constants[VKF_SGD_SPEC_COUNT] = {LOCAL_SIZE, CONSTANT(SGD, HAS_MOMENTUM)};

#define TRAIN(shader, operator, operands, params) \
    .name = NAME_1(shader, f32), TYPES_1(f32), .op = operator, .operand_count = operands, PARAMS(params)
#define BY_ROW(shared) CONFIGS(train_row_configs), .shared_bytes = shared, .valid = vkf__halves_to_one

static const vkf__kernel rows[] = {
    {TRAIN("cross_entropy", VKF_OP_CROSS_ENTROPY, 4, vkf_cross_entropy_params), CONSTANTS(cross_entropy_constants),
     BY_ROW(cross_entropy_shared_bytes)},
    {TRAIN("total", VKF_OP_TOTAL, 2, vkf_total_params), CONSTANTS(total_constants), BY_ROW(total_shared_bytes)},
    {TRAIN("clip", VKF_OP_CLIP, 2, vkf_clip_params), CONSTANTS(clip_constants), BY_ROW(total_shared_bytes)},
    {TRAIN("adam", VKF_OP_ADAM, 4, vkf_adam_params), CONSTANTS(adam_constants), CONFIGS(vkf__flat_configs)},
    {TRAIN("sgd", VKF_OP_SGD, 4, vkf_sgd_params), CONSTANTS(sgd_constants), CONFIGS(vkf__flat_configs)},
};

const vkf__family vkf__train_family = {rows, COUNT(rows)};
