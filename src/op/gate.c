// The emitter of the gate between a feed-forward's matrices, and its operator's row.
#include "op/gate.h"

#include "op/activation_flag.h"
#include "op/activation_value.h"
#include "op/cases.h"
#include "op/execution.h"
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

static vkf_status emit(vkf__work *work, const void *args)
{
    return vkf__emit_gate(work, args);
}

static vkf_status reference(const vkf__execution *e)
{
    const struct vkf_gate_params *p = e->params;
    const vkf_activation activation = (vkf_activation)e->spec[VKF_GATE_SPEC_ACTIVATION];
    for (uint64_t row = 0; row < p->rows; row++) {
        for (uint64_t col = 0; col < p->dim; col++) {
            const double x = vkf__load(e, VKF_GATE_BINDING_X, 2 * row * p->dim + col);
            const double gate = vkf__load(e, VKF_GATE_BINDING_X, (2 * row + 1) * p->dim + col);
            vkf__store(e, VKF_GATE_BINDING_OUT, row * p->out_row + col, vkf__activation_value(activation, x) * gate);
        }
    }
    return VKF_OK;
}

static vkf_status cases(vkf__cases *c)
{
    const vkf_dtype type = c->variant->kernel->types[0];
    const uint32_t rows = vkf__case_size(c, 7, 9), dim = vkf__case_size(c, 37, 1500), gap = vkf__case_pick(c, 0, 3);
    const uint32_t activation = vkf__case_pick(c, VKF_ACTIVATION_SILU, VKF_ACTIVATION_COUNT);
    vkf__gate_args args = {
        .label = "gate",
        .x = vkf__case_floats(c, type, 2 * (uint64_t)rows * dim),
        .out = vkf__case_floats(c, type, (uint64_t)rows * (dim + gap)),
        .out_row = dim + gap,
        .rows = rows,
        .dim = dim,
        .activation = (vkf_activation)vkf__case_constant(c, VKF_GATE_SPEC_ACTIVATION, activation),
    };
    vkf__case_extremes(c, &args.x);
    return vkf__case_run(c, &args, vkf__case_close(type), "(%u, %u) into rows of %u, activation %d", rows, 2 * dim,
                         args.out_row, (int)args.activation);
}

const vkf__op_info vkf__op_gate = {
    .params_bytes = sizeof(struct vkf_gate_params),
    .account = account,
    .output = output,
    .emit = emit,
    .reference = reference,
    .cases = cases,
    VKF_OP_PROBLEMS(vkf__typical_any),
    .usual = {{VKF_GATE_SPEC_ACTIVATION, VKF_SHADER_ACTIVATION_SILU}},
};
