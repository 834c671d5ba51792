// The emitter of argmax over rows, and its operator's row.
#include "op/argmax.h"

#include <math.h>

#include "op/cases.h"
#include "op/execution.h"
#include "op/operators.h"
#include "shared/argmax.h"

vkf_status vkf__emit_argmax(vkf__work *work, const vkf__argmax_args *args)
{
    vkf__variant variant;
    const vkf_dtype types[VKF_KERNEL_MAX_TYPES] = {args->x.dtype, VKF_DTYPE_I32};
    const vkf__problem problem = {.m = args->rows, .n = args->cols};
    VKF_RETURN_IF_ERROR(vkf__work_select(work, VKF_OP_ARGMAX, types, &problem, &variant));
    struct vkf_argmax_params params = {
        .rows = args->rows,
        .cols = args->cols,
        .out_stride = args->out_stride,
        .out_first = args->out_first,
        .last = args->last,
    };
    vkf__dispatch dispatch = {
        .label = args->label,
        .variant = variant,
        .bindings = {{args->x, false}, {args->out, true}},
        .params = &params,
    };
    vkf__grid_flat(work, args->rows, dispatch.grid);
    return vkf__work_dispatch(work, &dispatch);
}

static vkf__account account(const vkf__dispatched *dispatched)
{
    const struct vkf_argmax_params *p = dispatched->params;
    return vkf__account_choice(dispatched->kernel, p->rows, p->cols, 4);
}

static const vkf__typical_problem problems[] = {
    {.label = "32 columns", .problem = {.m = 512, .n = 32}, .ahead = true},
    {.problem = {.m = 512, .n = 256}, .ahead = true},
    {.label = "768", .problem = {.m = 512, .n = 768}},
    {.problem = {.m = 512, .n = 4096}, .ahead = true},
    {.label = "32768", .problem = {.m = 512, .n = 32768}},
};

static vkf_status emit(vkf__work *work, const void *args)
{
    return vkf__emit_argmax(work, args);
}

static vkf_status reference(const vkf__execution *e)
{
    const struct vkf_argmax_params *p = e->params;
    for (uint64_t row = 0; row < p->rows; row++) {
        double best = vkf__load(e, VKF_ARGMAX_BINDING_X, row * p->cols);
        uint32_t at = 0;
        for (uint32_t i = 1; i < p->cols && (p->last || !isnan(best)); i++) {
            const double x = vkf__load(e, VKF_ARGMAX_BINDING_X, row * p->cols + i);
            if (isnan(best) && !isnan(x))
                continue;
            if (isnan(x) || x > best || (p->last && x == best)) {
                best = x;
                at = i;
            }
        }
        vkf__store(e, VKF_ARGMAX_BINDING_OUT, row * p->out_stride + p->out_first, at);
    }
    return VKF_OK;
}

static vkf_status cases_of(vkf__cases *c, uint32_t edge)
{
    const vkf_dtype type = c->variant->kernel->types[0];
    vkf__argmax_args args = {
        .label = "argmax",
        .rows = vkf__case_size(c, 5, 9),
        .cols = vkf__case_size(c, edge, 3000),
        .out_stride = 1 + vkf__case_pick(c, 1, 3),
        .out_first = vkf__case_pick(c, 1, 3),
        .last = vkf__case_flip(c, edge % 2 == 0),
    };
    args.x = vkf__case_floats(c, type, (uint64_t)args.rows * args.cols);
    args.out = vkf__case_ints(c, -9, 0, (uint64_t)args.rows * args.out_stride + args.out_first);
    // In one row the largest comes last. In another all are equal, and the first or the last is wanted.
    uint8_t *x = vkf__case_bytes(c, &args.x);
    const uint64_t size = vkf_dtype_size(type);
    vkf__element_set(type, x + (args.cols - 1) * size, 9);
    for (uint64_t i = 0; i < args.cols; i++)
        vkf__element_set(type, x + ((uint64_t)(args.rows - 1) * args.cols + i) * size, -1.25);
    vkf__case_extremes(c, &args.x);
    return vkf__case_run(c, &args, 0, "(%u, %u)%s", args.rows, args.cols, args.last ? ", the last" : "");
}

static vkf_status cases(vkf__cases *c)
{
    for (uint32_t i = 0; i < VKF_CASE_ROW_LENGTHS; i++)
        VKF_RETURN_IF_ERROR(cases_of(c, vkf__case_row_length(c, i)));
    return VKF_OK;
}

// It writes tokens, and so has no `output`.
const vkf__op_info vkf__op_argmax = {
    .params_bytes = sizeof(struct vkf_argmax_params),
    .account = account,
    .emit = emit,
    .reference = reference,
    .cases = cases,
    VKF_OP_PROBLEMS(problems),
};
