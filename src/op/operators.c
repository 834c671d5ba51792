// The table of operators, and the accounts, outputs and constants of dispatches that are found through it.
#include "op/operators.h"

#include <string.h>

#include "op/typical_problem.h"

#define ROW_OF(NAME, name) &vkf__op_##name,
static const vkf__op_info *const operators[VKF_OP_COUNT] = {VKF_OPS(ROW_OF)};
#undef ROW_OF

const vkf__op_info *vkf__operator(vkf__op op)
{
    return operators[op];
}

vkf__account vkf__account_of(const vkf__dispatched *dispatched)
{
    const vkf__op_info *info = operators[dispatched->kernel->op];
    return info->account ? info->account(dispatched) : (vkf__account){0};
}

bool vkf__output_of(const vkf__dispatched *dispatched, vkf__extent *out_extent)
{
    const vkf__op_info *info = operators[dispatched->kernel->op];
    return info->output && info->output(dispatched, out_extent);
}

void vkf__typical_flags(const vkf__kernel *kernel, const vkf__config *config, uint32_t head_dim, uint32_t *out_flags)
{
    const vkf__op_info *info = operators[kernel->op];
    memset(out_flags, 0, VKF_KERNEL_MAX_SPEC * sizeof *out_flags);
    for (size_t i = 0; i < sizeof info->usual / sizeof info->usual[0]; i++)
        vkf__typical_flag_set(kernel, info->usual[i].id, info->usual[i].value, out_flags);
    if (info->typical_flags)
        info->typical_flags(kernel, config, head_dim, out_flags);
}
