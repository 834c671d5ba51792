// The table of operators, and the accounts and outputs of dispatches that are found through it.
#include "op/operators.h"

static const vkf__op_info *const operators[VKF_OP_COUNT] = {
#define ENTRY(op, row) [op] = &row,
    VKF_OPERATORS(ENTRY)
#undef ENTRY
};

#define COUNT_ONE(op, row) +1
_Static_assert(0 VKF_OPERATORS(COUNT_ONE) == VKF_OP_COUNT, "an operator has no row");
#undef COUNT_ONE

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
