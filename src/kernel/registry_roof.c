// Kernels that measure a device's roofs: memory bandwidth, and multiply-adds.
#include "kernel/registry_families.h"
#include "kernel/registry_row.h"
#include "shared/roof.h"

static const vkf__config roof_configs[] = {
    {.name = "roof256", .local_size = 256},
    {.name = "roof128", .local_size = 128},
    {.name = "roof64", .local_size = 64},
};

static const char *const copy_constants[VKF_ROOF_COPY_SPEC_COUNT] = {LOCAL_SIZE, CONSTANT(ROOF_COPY, EACH)};
static const char *const fma_constants[VKF_ROOF_FMA_SPEC_COUNT] = {LOCAL_SIZE, CONSTANT(ROOF_FMA, CHAINS)};

#define COPY .operand_count = 2, PARAMS(vkf_roof_copy_params), CONSTANTS(copy_constants), CONFIGS(roof_configs)
#define FMA .operand_count = 1, PARAMS(vkf_roof_fma_params), CONSTANTS(fma_constants), CONFIGS(roof_configs)

static const vkf__kernel rows[] = {
    {.name = NAME_1("roof_copy", f32), TYPES_1(f32), .op = VKF_OP_ROOF_COPY, COPY},
    {.name = NAME_1("roof_read", f32), TYPES_1(f32), .op = VKF_OP_ROOF_READ, COPY},
    {.name = NAME_1("roof_fma", f32), TYPES_1(f32), .op = VKF_OP_ROOF_FMA, FMA},
};

const vkf__family vkf__roof_family = {rows, COUNT(rows)};
