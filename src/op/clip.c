// The emitter of the norm of gradients, and its operator's row.
#include "op/clip.h"

#include "op/operators.h"
#include "shared/clip.h"

// Of tensors: lavapipe ends loops after 65,535 iterations, and the smallest workgroup has 64 invocations.
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

const vkf__op_info vkf__op_clip = {
    .params_bytes = sizeof(struct vkf_clip_params),
    .account = account,
    .output = output,
    VKF_OP_PROBLEMS(problems),
};
