// The emitter of the gradient of layer and RMS normalisation, and its operators' rows.
#include "op/layer_norm_grad.h"

#include "op/operators.h"
#include "op/rows.h"
#include "shared/layer_norm_grad.h"

static vkf_status emit_kernel(vkf__work *work, const vkf__layer_norm_grad_args *args, vkf__op op,
                              vkf__dispatch *dispatch)
{
    const vkf_dtype types[VKF_KERNEL_MAX_TYPES] = {args->x.dtype};
    const vkf__problem problem = {.m = args->rows, .n = args->dim};
    const uint32_t flags[VKF_KERNEL_MAX_SPEC] = {
        [VKF_LAYER_NORM_GRAD_SPEC_RMS] = args->rms,
        [VKF_LAYER_NORM_GRAD_SPEC_HAS_WEIGHT] = vkf__present(&args->weight),
    };
    const struct vkf_layer_norm_grad_params params = {
        .rows = args->rows,
        .dim = args->dim,
        .eps = args->eps,
        .accumulate = args->accumulate,
    };
    VKF_RETURN_IF_ERROR(vkf__work_select(work, op, types, &problem, &dispatch->variant));
    dispatch->flags = flags;
    dispatch->params = &params;
    vkf__grid_rows(work, &dispatch->variant, args->rows, dispatch->grid);
    return vkf__work_dispatch(work, dispatch);
}

static vkf_status emit_stats(vkf__work *work, const vkf__layer_norm_grad_args *args)
{
    vkf__dispatch dispatch = {
        .label = "norm_stats",
        .bindings = {{args->x, false}, {args->stats, true}},
    };
    return emit_kernel(work, args, VKF_OP_NORM_STATS, &dispatch);
}

vkf_status vkf__emit_layer_norm_grad(vkf__work *work, const vkf__layer_norm_grad_args *args)
{
    // Ahead of dx, which may lie over x.
    if (vkf__present(&args->stats))
        VKF_RETURN_IF_ERROR(emit_stats(work, args));
    vkf__dispatch dispatch = {
        .label = args->label,
        .bindings = {{args->x, false}, {args->dx, true}, {args->weight, false}, {args->dout, false}},
    };
    return emit_kernel(work, args, VKF_OP_LAYER_NORM_GRAD, &dispatch);
}

// Fourteen operations per element: four for the moments, three for the gradient's sums, seven for dx.
static vkf__account account(const vkf__dispatched *dispatched)
{
    const struct vkf_layer_norm_grad_params *p = dispatched->params;
    const vkf_dtype x = dispatched->kernel->types[0];
    const double elements = (double)p->rows * p->dim;
    vkf__account taken = vkf__account_elementwise(elements, 14, x, x);
    taken.bytes_read *= p->accumulate ? 3 : 2;
    taken.bytes_read += p->rows > 0 ? vkf__stored_bytes(p->dim, x) : 0;
    return taken;
}

static bool output(const vkf__dispatched *dispatched, vkf__extent *out_extent)
{
    const struct vkf_layer_norm_grad_params *p = dispatched->params;
    const vkf_dtype x = dispatched->kernel->types[0];
    *out_extent = vkf__extent_rows(VKF_LAYER_NORM_GRAD_BINDING_DX, x, p->rows, p->dim, p->dim);
    return true;
}

static vkf__account stats_account(const vkf__dispatched *dispatched)
{
    const struct vkf_layer_norm_grad_params *p = dispatched->params;
    const double elements = (double)p->rows * p->dim;
    return (vkf__account){4 * elements, vkf__stored_bytes(elements, dispatched->kernel->types[0]), 8.0 * p->rows};
}

static bool stats_output(const vkf__dispatched *dispatched, vkf__extent *out_extent)
{
    const struct vkf_layer_norm_grad_params *p = dispatched->params;
    *out_extent = vkf__extent_rows(VKF_NORM_STATS_BINDING_STATS, VKF_DTYPE_F32, p->rows, 2, 2);
    return true;
}

// No pipeline is made ahead, because only training asks for one.
static const vkf__typical_problem problems[] = {
    {.label = "32 columns", .problem = {.m = 512, .n = 32}},
    {.label = "768", .problem = {.m = 512, .n = 768}},
    {.label = "4096", .problem = {.m = 512, .n = 4096}},
};

const vkf__op_info vkf__op_layer_norm_grad = {
    .params_bytes = sizeof(struct vkf_layer_norm_grad_params),
    .account = account,
    .output = output,
    VKF_OP_PROBLEMS(problems),
    .usual = {{VKF_LAYER_NORM_GRAD_SPEC_HAS_WEIGHT, 1}},
};

const vkf__op_info vkf__op_norm_stats = {
    .params_bytes = sizeof(struct vkf_layer_norm_grad_params),
    .account = stats_account,
    .output = stats_output,
    VKF_OP_PROBLEMS(problems),
};
