// The emitter of sampling, and its operator's row.
#include "op/sample.h"

#include "base/size.h"
#include "op/operators.h"
#include "shared/sample.h"

static struct vkf_sample_params params_of(const vkf__sample_args *args)
{
    return (struct vkf_sample_params){
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
}

// Two iterations of a workgroup, or more where there would be too many parts.
static uint32_t part_cols_of(const vkf__work *work, const vkf__variant *variant, uint32_t cols)
{
    uint32_t part = 2 * VKF_SAMPLE_UNROLL * vkf__variant_local_size(&work->context->device.plan.caps, variant);
    while (vkf__div_up_u32(cols, part) > VKF_SAMPLE_PARTS_BINS)
        part *= 2;
    return part;
}

static bool needs_phase(const vkf__sample_args *args, uint32_t phase)
{
    if (phase == VKF_SAMPLE_PHASE_PEAK || phase == VKF_SAMPLE_PHASE_CHOOSE)
        return true;
    if (args->greedy || args->temperature == 0.0f)
        return false;
    if (phase < VKF_SAMPLE_PHASE_SUM)
        return args->top_k > 0 && args->top_k < args->cols;
    return phase == VKF_SAMPLE_PHASE_SUM || phase == VKF_SAMPLE_PHASE_PLACE || args->top_p < 1.0f;
}

// The phases that a run does not need have no workgroups in it.
static vkf_status emit_parts(vkf__work *work, const vkf__sample_args *args, const vkf__variant *variant,
                             const uint32_t *flags)
{
    struct vkf_sample_params params = params_of(args);
    vkf__span state; // (rows, VKF_SAMPLE_STATE_WORDS)
    params.part_cols = part_cols_of(work, variant, args->cols);
    params.parts = vkf__div_up_u32(args->cols, params.part_cols);
    const uint64_t words = VKF_SAMPLE_STATE_WORDS(params.parts, params.part_cols);
    VKF_RETURN_IF_ERROR(vkf__work_temp(work, VKF_DTYPE_I32, args->rows * words, &state));
    for (uint32_t phase = 0; phase < VKF_SAMPLE_PHASES; phase++) {
        if (args->greedy && !needs_phase(args, phase))
            continue;
        const bool last = phase == VKF_SAMPLE_PHASE_CHOOSE;
        const uint64_t groups = last ? args->rows : (uint64_t)args->rows * params.parts;
        params.phase = phase;
        vkf__dispatch dispatch = {
            .label = last ? args->label : "sample_phase",
            .variant = *variant,
            .flags = flags,
            .bindings = {{args->x, false}, {args->seen, last}, {args->out, last}, {state, true}},
            .params = &params,
        };
        vkf__grid_flat(work, needs_phase(args, phase) ? groups : 0, dispatch.grid);
        VKF_RETURN_IF_ERROR(vkf__work_dispatch(work, &dispatch));
        if (needs_phase(args, phase))
            params.previous = phase;
    }
    return VKF_OK;
}

static vkf_status emit_whole(vkf__work *work, const vkf__sample_args *args, const vkf__variant *variant,
                             const uint32_t *flags)
{
    const struct vkf_sample_params params = params_of(args);
    vkf__dispatch dispatch = {
        .label = args->label,
        .variant = *variant,
        .flags = flags,
        .bindings = {{args->x, false}, {args->seen, true}, {args->out, true}},
        .params = &params,
    };
    vkf__grid_flat(work, args->rows, dispatch.grid);
    return vkf__work_dispatch(work, &dispatch);
}

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
    return variant.kernel->by_parts ? emit_parts(work, args, &variant, flags) : emit_whole(work, args, &variant, flags);
}

// A phase reads the row once more, though once would do; the last one chooses.
static vkf__account account(const vkf__dispatched *dispatched)
{
    const struct vkf_sample_params *p = dispatched->params;
    const bool chooses = !dispatched->kernel->by_parts || p->phase == VKF_SAMPLE_PHASE_CHOOSE;
    const bool reads = !dispatched->kernel->by_parts || p->phase == VKF_SAMPLE_PHASE_PEAK;
    return vkf__account_choice(dispatched->kernel, p->rows, reads ? p->cols : 0, chooses ? 4 : 0);
}

// No pipeline is made ahead, because only generation asks for one.
static const vkf__typical_problem problems[] = {
    {.label = "1000 columns", .problem = {.m = 512, .n = 1000}},
    {.label = "32768", .problem = {.m = 512, .n = 32768}},
    {.label = "128256, one row", .problem = {.m = 1, .n = 128256}},
};

// It writes tokens, and so has no `output`.
const vkf__op_info vkf__op_sample = {
    .params_bytes = sizeof(struct vkf_sample_params),
    .account = account,
    VKF_OP_PROBLEMS(problems),
    .usual = {{VKF_SAMPLE_SPEC_HAS_SEEN, 1}},
};
