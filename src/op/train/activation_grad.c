// The emitter of the backward pass of activations, and its operator's row.
#include "op/train/activation_grad.h"

#include "op/activation_flag.h"
#include "op/activation_value.h"
#include "op/cases.h"
#include "op/execution.h"
#include "op/flat.h"
#include "op/operators.h"
#include "shared/activation_grad.h"

vkf_status vkf__emit_activation_grad(vkf__work *work, const vkf__activation_grad_args *args)
{
    const uint32_t flags[VKF_KERNEL_MAX_SPEC] = {
        [VKF_ACTIVATION_GRAD_SPEC_ACTIVATION] = vkf__activation_flag(args->activation),
    };
    struct vkf_activation_grad_params params = {.accumulate = args->accumulate};
    const vkf__flat_args flat = {
        .label = args->label,
        .op = VKF_OP_ACTIVATION_GRAD,
        .types = {args->x.dtype},
        .bindings = {{args->x, false}, {args->dout, false}, {args->dx, true}},
        .flags = flags,
        .params = &params,
        .count = {(uint64_t)args->rows * args->dim},
        .factors = 1,
        .parts = true,
        .out_count = &params.count,
    };
    return vkf__emit_flat(work, &flat);
}

static vkf__account account(const vkf__dispatched *dispatched)
{
    const struct vkf_activation_grad_params *p = dispatched->params;
    const vkf_dtype x = dispatched->kernel->types[0];
    vkf__account grad = vkf__account_elementwise(p->count, 6, x, x);
    grad.bytes_read *= p->accumulate ? 3 : 2;
    return grad;
}

static bool output(const vkf__dispatched *dispatched, vkf__extent *out_extent)
{
    const struct vkf_activation_grad_params *p = dispatched->params;
    *out_extent = vkf__extent_flat(VKF_ACTIVATION_GRAD_BINDING_DX, dispatched->kernel->types[0], p->count);
    return true;
}

static vkf_status emit(vkf__work *work, const void *args)
{
    return vkf__emit_activation_grad(work, args);
}

static vkf_status reference(const vkf__execution *e)
{
    const struct vkf_activation_grad_params *p = e->params;
    const vkf_activation activation = (vkf_activation)e->spec[VKF_ACTIVATION_GRAD_SPEC_ACTIVATION];
    for (uint64_t i = 0; i < p->count; i++) {
        const double slope = vkf__activation_slope(activation, vkf__load(e, VKF_ACTIVATION_GRAD_BINDING_X, i));
        const double before = p->accumulate ? vkf__load(e, VKF_ACTIVATION_GRAD_BINDING_DX, i) : 0;
        vkf__store(e, VKF_ACTIVATION_GRAD_BINDING_DX, i,
                   before + vkf__load(e, VKF_ACTIVATION_GRAD_BINDING_DOUT, i) * slope);
    }
    return VKF_OK;
}

static vkf_status cases(vkf__cases *c)
{
    const vkf_dtype type = c->variant->kernel->types[0];
    const uint32_t rows = vkf__case_size(c, 3, 9), dim = vkf__case_size(c, 351, 9000), place = vkf__case_pick(c, 0, 3);
    const uint32_t activation = vkf__case_pick(c, VKF_ACTIVATION_GELU_ERF, VKF_ACTIVATION_COUNT);
    vkf__activation_grad_args args = {
        .label = "activation_grad",
        .x = vkf__case_floats(c, type, (uint64_t)rows * dim),
        .dout = vkf__case_floats(c, type, (uint64_t)rows * dim),
        .rows = rows,
        .dim = dim,
        .activation = (vkf_activation)vkf__case_constant(c, VKF_ACTIVATION_GRAD_SPEC_ACTIVATION, activation),
        .accumulate = place == 0 && vkf__case_flip(c, true),
    };
    args.dx = place == 1 ? args.x : place == 2 ? args.dout : vkf__case_floats(c, type, (uint64_t)rows * dim);
    vkf__case_extremes(c, &args.x);
    // e = exp(-u) is wrong by 3 + 2 u units in the last place, as Vulkan allows, and u by the rounding of its own three
    // products, which u e / (1 + e)^2 < 0.3 keeps below 3e-7; times the factors of a GELU, below 3, and a dout below 2.
    c->least = c->draw ? 6 : 0;
    return vkf__case_run(c, &args, c->draw ? 1e-6 : vkf__case_close(type), "(%u, %u), activation %d%s%s", rows, dim,
                         (int)args.activation, args.accumulate ? ", added" : "", place > 0 ? ", in place" : "");
}

const vkf__op_info vkf__op_activation_grad = {
    .params_bytes = sizeof(struct vkf_activation_grad_params),
    .account = account,
    .output = output,
    .emit = emit,
    .reference = reference,
    .cases = cases,
    VKF_OP_PROBLEMS(vkf__typical_any),
    .usual = {{VKF_ACTIVATION_GRAD_SPEC_ACTIVATION, VKF_SHADER_ACTIVATION_GELU_ERF}},
};
