// The emitter of softmax's gradient, and its operator's row.
#include "op/train/softmax_grad.h"

#include "op/cases.h"
#include "op/execution.h"
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

static vkf_status emit(vkf__work *work, const void *args)
{
    return vkf__emit_softmax_grad(work, args);
}

// y * (dout - mean), without dout where y is 0.
static double weighted(const vkf__execution *e, uint64_t at, double mean)
{
    const double y = vkf__load(e, VKF_SOFTMAX_GRAD_BINDING_Y, at);
    return y != 0 ? y * (vkf__load(e, VKF_SOFTMAX_GRAD_BINDING_DOUT, at) - mean) : 0;
}

static vkf_status reference(const vkf__execution *e)
{
    const struct vkf_softmax_grad_params *p = e->params;
    for (uint64_t row = 0; row < p->rows; row++) {
        const uint64_t first = row * p->cols;
        double mean = 0;
        for (uint64_t at = first; at < first + p->cols; at++)
            mean += weighted(e, at, 0);
        for (uint64_t at = first; at < first + p->cols; at++)
            vkf__store(e, VKF_SOFTMAX_GRAD_BINDING_DX, at, (double)p->scale * weighted(e, at, mean));
    }
    return VKF_OK;
}

static vkf_status cases_of(vkf__cases *c, uint32_t edge)
{
    const vkf_dtype type = c->variant->kernel->types[0];
    const uint32_t rows = vkf__case_size(c, 3, 7), cols = vkf__case_size(c, edge, 9000);
    const uint64_t count = (uint64_t)rows * cols;
    vkf__softmax_grad_args args = {
        .label = "softmax_grad",
        .y = vkf__case_floats(c, type, count),
        .dout = vkf__case_floats(c, type, count),
        .rows = rows,
        .cols = cols,
        .scale = vkf__case_factor(c, 0.5f),
    };
    const uint32_t place = vkf__case_pick(c, 0, 3);
    args.dx = place == 1 ? args.y : place == 2 ? args.dout : vkf__case_floats(c, type, count);
    vkf__case_extremes(c, &args.dout);
    // The row's sum is exact in float32.
    return vkf__case_run(c, &args, 1e-6, "(%u, %u)%s", rows, cols, place > 0 ? " in place" : "");
}

static vkf_status cases(vkf__cases *c)
{
    for (uint32_t i = 0; i < VKF_CASE_ROW_LENGTHS; i++)
        VKF_RETURN_IF_ERROR(cases_of(c, vkf__case_row_length(c, i)));
    return VKF_OK;
}

const vkf__op_info vkf__op_softmax_grad = {
    .params_bytes = sizeof(struct vkf_softmax_grad_params),
    .account = account,
    .output = output,
    .emit = emit,
    .reference = reference,
    .cases = cases,
    VKF_OP_PROBLEMS(problems),
};
