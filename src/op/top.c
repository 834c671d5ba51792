#include "op/top.h"

#include <assert.h>

#include "shared/top.h"

// Ids are floats in the output.
#define MAX_COLS 0x1000000u

vkf_status vkf__emit_top(vkf__work *work, const vkf__top_args *args)
{
    vkf_status status = VKF_OK;
    vkf__variant variant;
    assert(args->k <= args->cols);
    if (args->cols > MAX_COLS)
        return vkf__fail(work->context->device.host, VKF_ERROR_TOO_LARGE, "%s.%s: %u tokens to choose from, at most %u",
                         work->name, args->label, args->cols, MAX_COLS);
    const vkf_dtype types[VKF_KERNEL_MAX_TYPES] = {args->x.dtype};
    const vkf__problem problem = {.m = args->rows, .n = args->cols};
    VKF_TRY(vkf__work_select(work, VKF_OP_TOP, types, &problem, &variant));
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
    VKF_TRY(vkf__work_dispatch(work, &dispatch));
fail:
    return status;
}
