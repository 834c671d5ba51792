// Kernels that put the parts of attention together which shared a query's keys.
#include "kernel/registry_families.h"
#include "kernel/registry_row.h"
#include "shared/attention.h"

static const char *const reduce_constants[VKF_ATTENTION_REDUCE_SPEC_COUNT] = {
    LOCAL_SIZE,
    CONSTANT(ATTENTION_REDUCE, FULLY_MASKED),
};

// A workgroup for each row, whose invocations share columns and parts.
static const vkf__config wide_configs[] = {
    {.name = "row512", .local_size = 512},
    {.name = "row128", .local_size = 128},
};

// Four numbers for each invocation.
static uint32_t wide_shared_bytes(const vkf__config *config)
{
    return 16 * config->local_size;
}

#define REDUCE(shader, out)                                                                          \
    .name = NAME_1(shader, out), TYPES_1(out), .op = VKF_OP_ATTENTION_REDUCE, .needs = STORAGE(out), \
    .operand_count = 2, PARAMS(vkf_attention_reduce_params), CONSTANTS(reduce_constants)
// An invocation for each column.
#define FLAT(out)                                                   \
    {                                                               \
        REDUCE("attention_reduce", out), CONFIGS(vkf__flat_configs) \
    }
#define WIDE(out)                                                                                  \
    {                                                                                              \
        REDUCE("attention_reduce_wide", out), CONFIGS(wide_configs),                               \
            .valid = vkf__halves_to_one, .shared_bytes = wide_shared_bytes, .rung = VKF_RUNG_PARTS \
    }

static const vkf__kernel rows[] = {
    WIDE(f32), WIDE(f16), WIDE(f16p), FLAT(f32), FLAT(f16), FLAT(f16p),
};

const vkf__family vkf__attention_reduce_family = {rows, COUNT(rows)};
