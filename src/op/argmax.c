// The emitter of argmax over rows, and its operator's row.
#include "op/argmax.h"

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

// It writes tokens, and so has no `output`.
const vkf__op_info vkf__op_argmax = {
    .params_bytes = sizeof(struct vkf_argmax_params),
    .account = account,
    VKF_OP_PROBLEMS(problems),
};
