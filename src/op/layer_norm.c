#include "op/layer_norm.h"

#include "op/copy.h"
#include "op/rows.h"
#include "shared/layer_norm.h"

static vkf_status emit_kernel(vkf__work *work, const vkf__layer_norm_args *args, const vkf__span *x, vkf__op op)
{
    vkf_status status = VKF_OK;
    vkf__variant variant;
    // Without affine parameters the weight's type is free: the activations' own has a kernel for sure.
    vkf_dtype weight_type = vkf__present(&args->weight) ? args->weight.dtype
                            : vkf__present(&args->bias) ? args->bias.dtype
                                                        : x->dtype;
    const vkf_dtype types[VKF_KERNEL_MAX_TYPES] = {x->dtype, weight_type};
    const vkf__problem problem = {.m = args->rows, .n = args->dim};
    VKF_TRY(vkf__work_select(work, op, types, &problem, &variant));
    const uint32_t flags[VKF_KERNEL_MAX_SPEC] = {
        [VKF_LAYER_NORM_SPEC_HAS_WEIGHT] = vkf__present(&args->weight),
        [VKF_LAYER_NORM_SPEC_HAS_BIAS] = vkf__present(&args->bias),
        [VKF_LAYER_NORM_SPEC_RMS] = args->rms,
        [VKF_LAYER_NORM_SPEC_RESIDUAL_AFTER] = args->residual_order == VKF_RESIDUAL_AFTER,
    };
    struct vkf_layer_norm_params params = {
        .rows = args->rows,
        .dim = args->dim,
        .out_row = args->out_row > 0 ? args->out_row : args->dim,
        .eps = args->eps,
    };
    vkf__dispatch dispatch = {
        .label = args->label,
        .variant = variant,
        .flags = flags,
        .bindings =
            {{*x, false}, {args->out, true}, {args->weight, false}, {args->bias, false}, {args->residual, false}},
        .params = &params,
    };
    vkf__grid_rows(work, &variant, args->rows, dispatch.grid);
    VKF_TRY(vkf__work_dispatch(work, &dispatch));
fail:
    return status;
}

static vkf_status emit_sum(vkf__work *work, const vkf__layer_norm_args *args, const vkf__span *x, float beta)
{
    const vkf__copy_args sum = {
        .label = args->label,
        .x = *x,
        .out = args->out,
        .outer = 1,
        .rows = args->rows,
        .cols = args->dim,
        .x_row = args->dim,
        .out_row = args->dim,
        .alpha = 1.0f,
        .beta = beta,
    };
    return vkf__emit_copy(work, &sum);
}

bool vkf__layer_norm_adds(const vkf_context *context)
{
    return context->device.plan.caps.max_storage_buffers >= 5;
}

vkf_status vkf__emit_layer_norm(vkf__work *work, const vkf__layer_norm_args *args)
{
    vkf_status status = VKF_OK;
    if (args->residual_order == VKF_RESIDUAL_NONE)
        return emit_kernel(work, args, &args->x, VKF_OP_LAYER_NORM);
    if (vkf__layer_norm_adds(work->context))
        return emit_kernel(work, args, &args->x, VKF_OP_LAYER_NORM_RESIDUAL);
    vkf__layer_norm_args plain = *args;
    plain.residual_order = VKF_RESIDUAL_NONE;
    if (args->residual_order == VKF_RESIDUAL_AFTER) {
        VKF_TRY(emit_kernel(work, &plain, &args->x, VKF_OP_LAYER_NORM));
        return emit_sum(work, args, &args->residual, 1.0f);
    }
    VKF_TRY(emit_sum(work, args, &args->x, 0.0f));
    VKF_TRY(emit_sum(work, args, &args->residual, 1.0f));
    VKF_TRY(emit_kernel(work, &plain, &args->out, VKF_OP_LAYER_NORM));
fail:
    return status;
}
