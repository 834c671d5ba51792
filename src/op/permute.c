// The emitter of head split and merge, and its operator's row.
#include "op/permute.h"

#include "op/cases.h"
#include "op/execution.h"
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

static vkf_status emit(vkf__work *work, const void *args)
{
    return vkf__emit_permute(work, args);
}

static vkf_status reference(const vkf__execution *e)
{
    const struct vkf_permute_params *p = e->params;
    for (uint64_t i = 0; i < p->count; i++) {
        const uint64_t d = i % p->depth, r = i / p->depth % p->rows, c = i / p->depth / p->rows % p->cols;
        const uint64_t plane = (uint64_t)p->depth * p->rows * p->cols, first = i / plane * plane;
        vkf__store(e, VKF_PERMUTE_BINDING_OUT, i,
                   vkf__load(e, VKF_PERMUTE_BINDING_X, first + (r * p->cols + c) * p->depth + d));
    }
    return VKF_OK;
}

static vkf_status cases(vkf__cases *c)
{
    const vkf_dtype type = c->variant->kernel->types[0];
    vkf__permute_args args = {
        .label = "permute",
        .batch = vkf__case_size(c, 2, 3),
        .rows = vkf__case_size(c, 7, 40),
        .cols = vkf__case_size(c, 3, 9),
        .depth = vkf__case_size(c, 11, 70),
    };
    const uint64_t count = (uint64_t)args.batch * args.rows * args.cols * args.depth;
    args.x = vkf__case_floats(c, type, count);
    args.out = vkf__case_floats(c, type, count);
    vkf__case_extremes(c, &args.x);
    return vkf__case_run(c, &args, 0, "(%u, %u, %u, %u)", args.batch, args.rows, args.cols, args.depth);
}

const vkf__op_info vkf__op_permute = {
    .params_bytes = sizeof(struct vkf_permute_params),
    .account = account,
    .output = output,
    .emit = emit,
    .reference = reference,
    .cases = cases,
    VKF_OP_PROBLEMS(vkf__typical_any_ahead),
};
