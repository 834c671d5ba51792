#include "op/gate.h"

#include "base/size.h"
#include "shared/gate.h"

_Static_assert(VKF_SHADER_ACTIVATION_RELU == (int)VKF_ACTIVATION_RELU &&
                   VKF_SHADER_ACTIVATION_GELU_ERF == (int)VKF_ACTIVATION_GELU_ERF &&
                   VKF_SHADER_ACTIVATION_GELU_TANH == (int)VKF_ACTIVATION_GELU_TANH &&
                   VKF_SHADER_ACTIVATION_SILU == (int)VKF_ACTIVATION_SILU &&
                   VKF_SHADER_ACTIVATION_TANH == (int)VKF_ACTIVATION_TANH,
               "the shader takes the values of vkf_activation");

vkf_status vkf__emit_gate(vkf__work *work, const vkf__gate_args *args)
{
    vkf_status status = VKF_OK;
    vkf__variant variant;
    uint64_t count = (uint64_t)args->rows * args->dim;
    if (count > UINT32_MAX)
        return vkf__fail(work->context->device.host, VKF_ERROR_TOO_LARGE, "%s.%s: more than 2^32 elements", work->name,
                         args->label);
    const vkf_dtype types[VKF_KERNEL_MAX_TYPES] = {args->x.dtype};
    const vkf__problem problem = {.m = (uint32_t)count};
    VKF_TRY(vkf__work_select(work, VKF_OP_GATE, types, &problem, &variant));
    const uint32_t activation = (uint32_t)args->activation;
    struct vkf_gate_params params = {
        .rows = args->rows,
        .dim = args->dim,
        .out_row = args->out_row > 0 ? args->out_row : args->dim,
    };
    vkf__dispatch dispatch = {
        .label = args->label,
        .variant = variant,
        .flags = &activation,
        .bindings = {{args->x, false}, {args->out, true}},
        .params = &params,
    };
    uint32_t width = VKF_GATE_EACH * vkf__variant_local_size(&work->context->device.plan.caps, &variant);
    vkf__grid_flat(work, (uint64_t)args->rows * vkf__div_up_u32(args->dim, width), dispatch.grid);
    VKF_TRY(vkf__work_dispatch(work, &dispatch));
fail:
    return status;
}
