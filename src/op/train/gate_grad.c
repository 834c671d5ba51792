// The emitter of the backward pass of gates, and its operator's row.
#include "op/train/gate_grad.h"

#include "op/activation_flag.h"
#include "op/activation_value.h"
#include "op/cases.h"
#include "op/execution.h"
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

static vkf_status emit(vkf__work *work, const void *args)
{
    return vkf__emit_gate_grad(work, args);
}

static vkf_status reference(const vkf__execution *e)
{
    const struct vkf_gate_grad_params *p = e->params;
    const vkf_activation activation = (vkf_activation)e->spec[VKF_GATE_GRAD_SPEC_ACTIVATION];
    for (uint64_t row = 0; row < p->rows; row++) {
        for (uint64_t col = 0; col < p->dim; col++) {
            const uint64_t at = 2 * row * p->dim + col, gate_at = at + p->dim;
            const double x = vkf__load(e, VKF_GATE_GRAD_BINDING_X, at);
            const double gate = vkf__load(e, VKF_GATE_GRAD_BINDING_X, gate_at);
            const double incoming = vkf__load(e, VKF_GATE_GRAD_BINDING_DOUT, row * p->dout_row + col);
            vkf__store(e, VKF_GATE_GRAD_BINDING_DX, at, incoming * gate * vkf__activation_slope(activation, x));
            vkf__store(e, VKF_GATE_GRAD_BINDING_DX, gate_at, incoming * vkf__activation_value(activation, x));
        }
    }
    return VKF_OK;
}

static vkf_status cases(vkf__cases *c)
{
    const vkf_dtype type = c->variant->kernel->types[0];
    const uint32_t rows = vkf__case_size(c, 3, 9), dim = vkf__case_size(c, 331, 9000), gap = vkf__case_pick(c, 0, 3);
    const uint32_t activation = vkf__case_pick(c, VKF_ACTIVATION_SILU, VKF_ACTIVATION_COUNT);
    const bool in_place = vkf__case_flip(c, false);
    vkf__gate_grad_args args = {
        .label = "gate_grad",
        .x = vkf__case_floats(c, type, 2 * (uint64_t)rows * dim),
        .dout = vkf__case_floats(c, type, (uint64_t)rows * (dim + gap)),
        .dout_row = dim + gap,
        .rows = rows,
        .dim = dim,
        .activation = (vkf_activation)vkf__case_constant(c, VKF_GATE_GRAD_SPEC_ACTIVATION, activation),
    };
    args.dx = in_place ? args.x : vkf__case_floats(c, type, 2 * (uint64_t)rows * dim);
    // Not in the gate: kernels may round a slope to 0, beside which an infinite one is no number.
    const vkf__span activated = vkf__span_part(&args.x, 0, dim);
    vkf__case_extremes(c, &activated);
    c->least = c->draw ? 10 : 0;
    return vkf__case_run(c, &args, c->draw ? 2e-6 : vkf__case_close(type), "(%u, %u) by rows of %u, activation %d%s",
                         rows, 2 * dim, args.dout_row, (int)args.activation, in_place ? ", in place" : "");
}

const vkf__op_info vkf__op_gate_grad = {
    .params_bytes = sizeof(struct vkf_gate_grad_params),
    .account = account,
    .output = output,
    .emit = emit,
    .reference = reference,
    .cases = cases,
    VKF_OP_PROBLEMS(vkf__typical_any),
    .usual = {{VKF_GATE_GRAD_SPEC_ACTIVATION, VKF_SHADER_ACTIVATION_SILU}},
};
