// The emitter of the gate between a feed-forward's matrices, and its operator's row.
#include "op/gate.h"

#include "op/activation.h"
#include "op/flat.h"
#include "op/operators.h"
#include "shared/gate.h"

vkf_status vkf__emit_gate(vkf__work *work, const vkf__gate_args *args)
{
    const uint32_t flags[VKF_KERNEL_MAX_SPEC] = {[VKF_GATE_SPEC_ACTIVATION] = vkf__activation_flag(args->activation)};
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

static vkf__account account(const vkf__dispatched *dispatched)
{
    const struct vkf_gate_params *p = dispatched->params;
    const vkf_dtype x = dispatched->kernel->types[0];
    vkf__account gated = vkf__account_elementwise((double)p->rows * p->dim, 4, x, x);
    gated.bytes_read *= 2;
    return gated;
}

static bool output(const vkf__dispatched *dispatched, vkf__extent *out_extent)
{
    const struct vkf_gate_params *p = dispatched->params;
    *out_extent = vkf__extent_rows(VKF_GATE_BINDING_OUT, dispatched->kernel->types[0], p->rows, p->dim, p->out_row);
    return true;
}

// No pipeline is made ahead, because only a layer tells which activation it needs.
static const vkf__typical_problem problems[] = {{.label = "any", .problem = {.m = 1u << 16}}};

const vkf__op_info vkf__op_gate = {
    .params_bytes = sizeof(struct vkf_gate_params),
    .account = account,
    .output = output,
    VKF_OP_PROBLEMS(problems),
    .usual = {{VKF_GATE_SPEC_ACTIVATION, VKF_SHADER_ACTIVATION_SILU}},
};
