// The emitter of the most probable tokens, and its operator's row.
#include "op/top.h"

#include <assert.h>

#include "op/operators.h"
#include "shared/top.h"

// The output holds ids as floats, which are exact up to this number.
#define MAX_COLS 0x1000000u

vkf_status vkf__emit_top(vkf__work *work, const vkf__top_args *args)
{
    vkf__variant variant;
    assert(args->k <= args->cols);
    if (args->cols > MAX_COLS)
        return vkf__fail(work->context->device.host, VKF_ERROR_TOO_LARGE, "%s.%s: %u tokens to choose from, at most %u",
                         work->name, args->label, args->cols, MAX_COLS);
    const vkf_dtype types[VKF_KERNEL_MAX_TYPES] = {args->x.dtype};
    const vkf__problem problem = {.m = args->rows, .n = args->cols};
    VKF_RETURN_IF_ERROR(vkf__work_select(work, VKF_OP_TOP, types, &problem, &variant));
    const struct vkf_top_params params = {
        .rows = args->rows,
        .cols = args->cols,
        .k = args->k,
        .repetition_penalty = vkf__present(&args->seen) ? args->repetition_penalty : 1.0f,
    };
    vkf__dispatch dispatch = {
        .label = args->label,
        .variant = variant,
        .bindings = {{args->x, false}, {args->seen, false}, {args->out, true}},
        .params = &params,
    };
    vkf__grid_flat(work, args->rows, dispatch.grid);
    return vkf__work_dispatch(work, &dispatch);
}

static vkf__account account(const vkf__dispatched *dispatched)
{
    const struct vkf_top_params *p = dispatched->params;
    return vkf__account_choice(dispatched->kernel, p->rows, p->cols, 8.0 * p->k);
}

// No pipeline is made ahead, because only beam search asks for one.
static const vkf__typical_problem problems[] = {
    {.label = "1000 columns", .problem = {.m = 512, .n = 1000}},
    {.label = "32768", .problem = {.m = 512, .n = 32768}},
};

// It writes tokens with their scores, and so has no `output`.
const vkf__op_info vkf__op_top = {
    .params_bytes = sizeof(struct vkf_top_params),
    .account = account,
    VKF_OP_PROBLEMS(problems),
};
