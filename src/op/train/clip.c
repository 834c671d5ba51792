// The emitter of the norm of gradients, and its operator's row.
#include "op/train/clip.h"

#include <math.h>

#include "op/cases.h"
#include "op/execution.h"
#include "op/operators.h"
#include "shared/clip.h"

// The most tensors: lavapipe ends loops after 65,535 iterations, and the smallest workgroup has 64 invocations.
#define MOST (1u << 20)

vkf_status vkf__emit_clip(vkf__work *work, const vkf__clip_args *args)
{
    vkf__variant variant;
    const vkf_dtype types[VKF_KERNEL_MAX_TYPES] = {args->squares.dtype};
    const vkf__problem problem = {.m = 1, .n = args->count};
    if (args->count > MOST)
        return vkf__fail(work->context->device.host, VKF_ERROR_TOO_LARGE, "%s.%s: %u tensors, more than %u", work->name,
                         args->label, args->count, MOST);
    VKF_RETURN_IF_ERROR(vkf__work_select(work, VKF_OP_CLIP, types, &problem, &variant));
    const struct vkf_clip_params params = {
        .count = args->count,
        .max_norm = args->max_norm,
        .inverse_scale = 1.0f / args->loss_scale,
    };
    vkf__dispatch dispatch = {
        .label = args->label,
        .variant = variant,
        .bindings = {{args->squares, false}, {args->out, true}},
        .params = &params,
    };
    vkf__grid_flat(work, args->count > 0, dispatch.grid);
    return vkf__work_dispatch(work, &dispatch);
}

static vkf__account account(const vkf__dispatched *dispatched)
{
    const struct vkf_clip_params *p = dispatched->params;
    return (vkf__account){p->count, 4.0 * p->count, 8};
}

static bool output(const vkf__dispatched *dispatched, vkf__extent *out_extent)
{
    (void)dispatched;
    *out_extent = vkf__extent_flat(VKF_CLIP_BINDING_OUT, VKF_DTYPE_F32, 2);
    return true;
}

static const vkf__typical_problem problems[] = {{.label = "any", .problem = {.m = 1, .n = 128}}};

static vkf_status emit(vkf__work *work, const void *args)
{
    return vkf__emit_clip(work, args);
}

static vkf_status reference(const vkf__execution *e)
{
    const struct vkf_clip_params *p = e->params;
    double sum = 0;
    for (uint64_t i = 0; i < p->count; i++)
        sum += vkf__load(e, VKF_CLIP_BINDING_X, i);
    const double scale = (double)p->inverse_scale, norm = sqrt(sum) * scale;
    const double limit = p->max_norm > 0 ? (double)p->max_norm / (norm + 1e-6) : 1;
    vkf__store(e, VKF_CLIP_BINDING_OUT, 0, isfinite(norm) ? fmin(limit, 1) * scale : 0);
    vkf__store(e, VKF_CLIP_BINDING_OUT, 1, norm);
    return VKF_OK;
}

static vkf_status cases_of(vkf__cases *c, uint32_t edge)
{
    static const float norms[] = {0.25f, 0, 50};
    const uint32_t count = vkf__case_size(c, edge, 3000);
    const vkf__clip_args args = {
        .label = "clip",
        .squares = vkf__case_floats(c, VKF_DTYPE_F32, count),
        .out = vkf__case_floats(c, VKF_DTYPE_F32, 2),
        .count = count,
        .max_norm = norms[vkf__case_pick(c, 0, sizeof norms / sizeof norms[0])],
        .loss_scale = vkf__case_flip(c, true) ? 4 : 1,
    };
    vkf__case_extremes(c, &args.squares);
    float *squares = vkf__case_bytes(c, &args.squares);
    for (uint32_t i = 0; i < count; i++)
        squares[i] *= squares[i];
    return vkf__case_run(c, &args, 1e-6, "%u tensors, norm %g at most, scale %g", count, (double)args.max_norm,
                         (double)args.loss_scale);
}

static vkf_status cases(vkf__cases *c)
{
    for (uint32_t i = 0; i < VKF_CASE_ROW_LENGTHS; i++)
        VKF_RETURN_IF_ERROR(cases_of(c, vkf__case_row_length(c, i)));
    return VKF_OK;
}

const vkf__op_info vkf__op_clip = {
    .params_bytes = sizeof(struct vkf_clip_params),
    .account = account,
    .output = output,
    .emit = emit,
    .reference = reference,
    .cases = cases,
    VKF_OP_PROBLEMS(problems),
};
