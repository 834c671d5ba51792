// Public entry point of layer norm as a single operator.
#include "api/op_check.h"
#include "base/float_or.h"
#include "base/sized.h"
#include "op/layer_norm.h"
#include "op/operators.h"

static vkf_status check_layer_norm(const vkf__checker *check, const vkf_layer_norm_desc *desc, uint32_t dim)
{
    vkf_dtype type = desc->weight.rank > 0 ? desc->weight.dtype : desc->bias.dtype;
    VKF_RETURN_IF_ERROR(vkf__check_shape(check, &desc->out, "out", desc->x.dtype, desc->x.rank, desc->x.shape));
    VKF_RETURN_IF_ERROR(vkf__check_optional(check, &desc->weight, "weight", type, 1, &dim));
    VKF_RETURN_IF_ERROR(vkf__check_optional(check, &desc->bias, "bias", type, 1, &dim));
    if (desc->residual_order >= VKF_RESIDUAL_ORDER_COUNT || !(desc->eps >= 0.0f))
        return vkf__fail(check->host, VKF_ERROR_INVALID_ARGUMENT, "%s: unknown residual_order, or eps below 0",
                         check->function);
    if (desc->residual_order != VKF_RESIDUAL_NONE)
        VKF_RETURN_IF_ERROR(
            vkf__check_shape(check, &desc->residual, "residual", desc->x.dtype, desc->x.rank, desc->x.shape));
    if (!vkf__same_tensor(&desc->x, &desc->out))
        VKF_RETURN_IF_ERROR(vkf__check_apart(check, &desc->out, &desc->x, "x"));
    VKF_RETURN_IF_ERROR(vkf__check_apart(check, &desc->out, &desc->weight, "weight"));
    VKF_RETURN_IF_ERROR(vkf__check_apart(check, &desc->out, &desc->bias, "bias"));
    return vkf__check_apart(check, &desc->out, &desc->residual, "residual");
}

vkf_status vkf_layer_norm_sized(vkf_context *context, const vkf_layer_norm_desc *desc, size_t desc_bytes)
{
    if (!context || !desc)
        return vkf__null_argument(__func__);
    vkf_status status = vkf__context_enter(context, "vkf_layer_norm");
    if (status != VKF_OK)
        return status;
    VKF_TAKE_SIZED(&context->host, "vkf_layer_norm", vkf_layer_norm_desc, desc, desc_bytes);
    uint32_t rows = 0;
    const vkf__checker check = vkf__operator_checker(context, "vkf_layer_norm");
    VKF_RETURN_IF_ERROR(vkf__check_float(&check, &desc->x, "x"));
    uint32_t dim = desc->x.shape[desc->x.rank - 1];
    VKF_RETURN_IF_ERROR(check_layer_norm(&check, desc, dim));
    VKF_RETURN_IF_ERROR(vkf__check_rows(&check, &desc->x, &rows));
    vkf__layer_norm_args args = {
        .label = "layer_norm",
        .x = vkf__span_of(&desc->x),
        .out = vkf__span_of(&desc->out),
        .weight = vkf__span_of(&desc->weight),
        .bias = vkf__span_of(&desc->bias),
        .residual_order = desc->residual_order,
        .rows = rows,
        .dim = dim,
        .eps = vkf__float_or(desc->eps, desc->rms ? VKF_RMS_NORM_EPS : VKF_LAYER_NORM_EPS),
        .rms = desc->rms,
    };
    if (desc->residual_order != VKF_RESIDUAL_NONE)
        args.residual = vkf__span_of(&desc->residual);
    return vkf__run_operator(&check, &desc->out, "layer_norm", vkf__operator(VKF_OP_LAYER_NORM)->emit, &args);
}
