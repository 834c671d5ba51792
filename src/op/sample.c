// The emitter of sampling, and its operator's row.
#include "op/sample.h"

#include "op/operators.h"
#include "shared/sample.h"

vkf_status vkf__emit_sample(vkf__work *work, const vkf__sample_args *args)
{
    vkf__variant variant;
    if (args->cols > VKF_SAMPLE_MAX_COLS)
        return vkf__fail(work->context->device.host, VKF_ERROR_TOO_LARGE, "%s.%s: %u tokens to choose from, at most %u",
                         work->name, args->label, args->cols, VKF_SAMPLE_MAX_COLS);
    const vkf_dtype types[VKF_KERNEL_MAX_TYPES] = {args->x.dtype, VKF_DTYPE_I32};
    const vkf__problem problem = {.m = args->rows, .n = args->cols};
    VKF_RETURN_IF_ERROR(vkf__work_select(work, VKF_OP_SAMPLE, types, &problem, &variant));
    const uint32_t flags[VKF_KERNEL_MAX_SPEC] = {[VKF_SAMPLE_SPEC_HAS_SEEN] = vkf__present(&args->seen)};
    struct vkf_sample_params params = {
        .rows = args->rows,
        .cols = args->cols,
        .out_stride = args->out_stride,
        .out_first = args->out_first,
        .top_k = args->top_k,
        .step = args->step,
        .seed_low = (uint32_t)args->seed,
        .seed_high = (uint32_t)(args->seed >> 32),
        .temperature = args->temperature,
        .top_p = args->top_p,
        .min_p = args->min_p,
        .repetition_penalty = args->repetition_penalty,
    };
    vkf__dispatch dispatch = {
        .label = args->label,
        .variant = variant,
        .flags = flags,
        .bindings = {{args->x, false}, {args->seen, true}, {args->out, true}},
        .params = &params,
    };
    vkf__grid_flat(work, args->rows, dispatch.grid);
    return vkf__work_dispatch(work, &dispatch);
}

static vkf__account account(const vkf__dispatched *dispatched)
{
    const struct vkf_sample_params *p = dispatched->params;
    return vkf__account_choice(dispatched->kernel, p->rows, p->cols, 4);
}

// No pipeline is made ahead, because only generation asks for one.
static const vkf__typical_problem problems[] = {
    {.label = "1000 columns", .problem = {.m = 512, .n = 1000}},
    {.label = "32768", .problem = {.m = 512, .n = 32768}},
};

// It writes tokens, and so has no `output`.
const vkf__op_info vkf__op_sample = {
    .params_bytes = sizeof(struct vkf_sample_params),
    .account = account,
    VKF_OP_PROBLEMS(problems),
    .usual = {{VKF_SAMPLE_SPEC_HAS_SEEN, 1}},
};
