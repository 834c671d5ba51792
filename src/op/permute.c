// The emitter of head split and merge, and its operator's row.
#include "op/permute.h"

#include "op/flat.h"
#include "op/operators.h"
#include "shared/permute.h"

vkf_status vkf__emit_permute(vkf__work *work, const vkf__permute_args *args)
{
    struct vkf_permute_params params = {.rows = args->rows, .cols = args->cols, .depth = args->depth};
    const vkf__flat_args flat = {
        .label = args->label,
        .op = VKF_OP_PERMUTE,
        .types = {args->x.dtype},
        .bindings = {{args->x, false}, {args->out, true}},
        .params = &params,
        .count = {args->batch, args->rows, args->cols, args->depth},
        .factors = 4,
        .out_count = &params.count,
    };
    return vkf__emit_flat(work, &flat);
}

static vkf__account account(const vkf__dispatched *dispatched)
{
    const struct vkf_permute_params *p = dispatched->params;
    const vkf_dtype x = dispatched->kernel->types[0];
    return vkf__account_elementwise(p->count, 0, x, x);
}

static bool output(const vkf__dispatched *dispatched, vkf__extent *out_extent)
{
    const struct vkf_permute_params *p = dispatched->params;
    *out_extent = vkf__extent_flat(VKF_PERMUTE_BINDING_OUT, dispatched->kernel->types[0], p->count);
    return true;
}

static const vkf__typical_problem problems[] = {{.label = "any", .problem = {.m = 1u << 16}, .ahead = true}};

const vkf__op_info vkf__op_permute = {
    .params_bytes = sizeof(struct vkf_permute_params),
    .account = account,
    .output = output,
    VKF_OP_PROBLEMS(problems),
};
