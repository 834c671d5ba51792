// The emitter of softmax's gradient, and its operator's row.
#include "op/softmax_grad.h"

#include "op/operators.h"
#include "op/rows.h"
#include "shared/softmax_grad.h"

vkf_status vkf__emit_softmax_grad(vkf__work *work, const vkf__softmax_grad_args *args)
{
    vkf__variant variant;
    const vkf_dtype types[VKF_KERNEL_MAX_TYPES] = {args->y.dtype};
    const vkf__problem problem = {.m = args->rows, .n = args->cols};
    VKF_RETURN_IF_ERROR(vkf__work_select(work, VKF_OP_SOFTMAX_GRAD, types, &problem, &variant));
    const struct vkf_softmax_grad_params params = {.rows = args->rows, .cols = args->cols, .scale = args->scale};
    vkf__dispatch dispatch = {
        .label = args->label,
        .variant = variant,
        .bindings = {{args->y, false}, {args->dx, true}, {args->dout, false}},
        .params = &params,
    };
    vkf__grid_rows(work, &variant, args->rows, dispatch.grid);
    return vkf__work_dispatch(work, &dispatch);
}

static vkf__account account(const vkf__dispatched *dispatched)
{
    const struct vkf_softmax_grad_params *p = dispatched->params;
    const vkf_dtype y = dispatched->kernel->types[0];
    vkf__account taken = vkf__account_elementwise((double)p->rows * p->cols, 5, y, y);
    taken.bytes_read *= 2;
    return taken;
}

static bool output(const vkf__dispatched *dispatched, vkf__extent *out_extent)
{
    const struct vkf_softmax_grad_params *p = dispatched->params;
    *out_extent =
        vkf__extent_rows(VKF_SOFTMAX_GRAD_BINDING_DX, dispatched->kernel->types[0], p->rows, p->cols, p->cols);
    return true;
}

// No pipeline is made ahead, because only training asks for one.
static const vkf__typical_problem problems[] = {
    {.label = "32 columns", .problem = {.m = 512, .n = 32}},
    {.label = "512", .problem = {.m = 512, .n = 512}},
    {.label = "4096", .problem = {.m = 512, .n = 4096}},
};

const vkf__op_info vkf__op_softmax_grad = {
    .params_bytes = sizeof(struct vkf_softmax_grad_params),
    .account = account,
    .output = output,
    VKF_OP_PROBLEMS(problems),
};
