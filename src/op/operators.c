// The table of operators, and the accounts and outputs of dispatches that are found through it.
#include "op/operators.h"

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
