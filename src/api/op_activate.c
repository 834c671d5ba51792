// Public entry point of activations as a single operator.
#include <math.h>

#include "api/op_check.h"
#include "base/sized.h"
#include "op/activation.h"
#include "op/operators.h"

static vkf_status check_activate(const vkf__checker *check, const vkf_activate_desc *desc)
{
    VKF_RETURN_IF_ERROR(vkf__check_float(check, &desc->x, "x"));
    VKF_RETURN_IF_ERROR(vkf__check_shape(check, &desc->out, "out", desc->x.dtype, desc->x.rank, desc->x.shape));
    if (!vkf__same_tensor(&desc->x, &desc->out))
        VKF_RETURN_IF_ERROR(vkf__check_apart(check, &desc->out, &desc->x, "x"));
    if (desc->activation >= VKF_ACTIVATION_COUNT || !isfinite(desc->alpha))
        return vkf__fail(check->host, VKF_ERROR_INVALID_ARGUMENT,
                         "%s: unknown activation %d, or alpha is %g: give one of vkf_activation and a finite number",
                         check->function, (int)desc->activation, (double)desc->alpha);
    return VKF_OK;
}

vkf_status vkf_activate_sized(vkf_context *context, const vkf_activate_desc *desc, size_t desc_bytes)
{
    if (!context || !desc)
        return vkf__null_argument(__func__);
    vkf_status status = vkf__context_enter(context, "vkf_activate");
    if (status != VKF_OK)
        return status;
    VKF_TAKE_SIZED(&context->host, "vkf_activate", vkf_activate_desc, desc, desc_bytes);
    uint32_t count = 0;
    const vkf__checker check = vkf__operator_checker(context, "vkf_activate");
    VKF_RETURN_IF_ERROR(check_activate(&check, desc));
    VKF_RETURN_IF_ERROR(vkf__check_elements(&check, &desc->x, &count));
    const vkf__activation_args args = {
        .label = "activate",
        .x = vkf__span_of(&desc->x),
        .out = vkf__span_of(&desc->out),
        .rows = 1,
        .dim = count,
        .activation = desc->activation,
        .alpha = desc->alpha,
    };
    return vkf__run_operator(&check, &desc->out, "activate", vkf__operator(VKF_OP_ACTIVATION)->emit, &args);
}
