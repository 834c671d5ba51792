#include "op/gate.h"

#include "op/flat.h"
#include "shared/gate.h"

_Static_assert(VKF_SHADER_ACTIVATION_RELU == (int)VKF_ACTIVATION_RELU &&
                   VKF_SHADER_ACTIVATION_GELU_ERF == (int)VKF_ACTIVATION_GELU_ERF &&
                   VKF_SHADER_ACTIVATION_GELU_TANH == (int)VKF_ACTIVATION_GELU_TANH &&
                   VKF_SHADER_ACTIVATION_SILU == (int)VKF_ACTIVATION_SILU &&
                   VKF_SHADER_ACTIVATION_TANH == (int)VKF_ACTIVATION_TANH,
               "the shader takes the values of vkf_activation");

vkf_status vkf__emit_gate(vkf__work *work, const vkf__gate_args *args)
{
    const uint32_t flags[VKF_KERNEL_MAX_SPEC] = {[VKF_GATE_SPEC_ACTIVATION] = (uint32_t)args->activation};
    const struct vkf_gate_params params = {
        .rows = args->rows,
        .dim = args->dim,
        .out_row = args->out_row > 0 ? args->out_row : args->dim,
    };
    const vkf__flat_args flat = {
        .label = args->label,
        .op = VKF_OP_GATE,
        .types = {args->x.dtype},
        .bindings = {{args->x, false}, {args->out, true}},
        .flags = flags,
        .params = &params,
        .count = {args->rows, args->dim},
        .factors = 2,
        .parts = true,
    };
    return vkf__emit_flat(work, &flat);
}
