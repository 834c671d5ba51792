// The emitter of the backward pass of gates, and its operator's row.
#include "op/gate_grad.h"

#include "op/activation.h"
#include "op/flat.h"
#include "op/operators.h"
#include "shared/gate_grad.h"

vkf_status vkf__emit_gate_grad(vkf__work *work, const vkf__gate_grad_args *args)
{
    const uint32_t flags[VKF_KERNEL_MAX_SPEC] = {
        [VKF_GATE_GRAD_SPEC_ACTIVATION] = vkf__activation_flag(args->activation),
    };
    const struct vkf_gate_grad_params params = {
        .rows = args->rows,
        .dim = args->dim,
        .dout_row = args->dout_row > 0 ? args->dout_row : args->dim,
    };
    const vkf__flat_args flat = {
        .label = args->label,
        .op = VKF_OP_GATE_GRAD,
        .types = {args->x.dtype},
        .bindings = {{args->x, false}, {args->dout, false}, {args->dx, true}},
        .flags = flags,
        .params = &params,
        .count = {args->rows, args->dim},
        .factors = 2,
        .parts = true,
    };
    return vkf__emit_flat(work, &flat);
}

static vkf__account account(const vkf__dispatched *dispatched)
{
    const struct vkf_gate_grad_params *p = dispatched->params;
    const vkf_dtype x = dispatched->kernel->types[0];
    vkf__account grad = vkf__account_elementwise((double)p->rows * p->dim, 10, x, x);
    grad.bytes_read *= 3;
    grad.bytes_written *= 2;
    return grad;
}

static bool output(const vkf__dispatched *dispatched, vkf__extent *out_extent)
{
    const struct vkf_gate_grad_params *p = dispatched->params;
    const uint32_t width = 2 * p->dim;
    *out_extent = vkf__extent_rows(VKF_GATE_GRAD_BINDING_DX, dispatched->kernel->types[0], p->rows, width, width);
    return true;
}

// No pipeline is made ahead, because only a layer tells which activation it needs.
static const vkf__typical_problem problems[] = {{.label = "any", .problem = {.m = 1u << 16}}};

const vkf__op_info vkf__op_gate_grad = {
    .params_bytes = sizeof(struct vkf_gate_grad_params),
    .account = account,
    .output = output,
    VKF_OP_PROBLEMS(problems),
    .usual = {{VKF_GATE_GRAD_SPEC_ACTIVATION, VKF_SHADER_ACTIVATION_SILU}},
};
