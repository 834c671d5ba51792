// The emitter of activations, and their operator's row.
#include "op/activation.h"

#include "base/float_or.h"
#include "op/activation_value.h"
#include "op/cases.h"
#include "op/execution.h"
#include "op/flat.h"
#include "op/operators.h"
#include "shared/activation.h"

vkf_status vkf__emit_activation(vkf__work *work, const vkf__activation_args *args)
{
    const uint32_t flags[VKF_KERNEL_MAX_SPEC] = {
        [VKF_ACTIVATION_SPEC_ACTIVATION] = vkf__activation_flag(args->activation),
    };
    struct vkf_activation_params params = {
        .alpha = vkf__float_or(args->alpha, vkf__activation_alpha(args->activation)),
    };
    const vkf__flat_args flat = {
        .label = args->label,
        .op = VKF_OP_ACTIVATION,
        .types = {args->x.dtype},
        .bindings = {{args->x, false}, {args->out, true}},
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
    const struct vkf_activation_params *p = dispatched->params;
    const vkf_dtype x = dispatched->kernel->types[0];
    return vkf__account_elementwise(p->count, 3, x, x);
}

static bool output(const vkf__dispatched *dispatched, vkf__extent *out_extent)
{
    const struct vkf_activation_params *p = dispatched->params;
    *out_extent = vkf__extent_flat(VKF_ACTIVATION_BINDING_OUT, dispatched->kernel->types[0], p->count);
    return true;
}

static vkf_status emit(vkf__work *work, const void *args)
{
    return vkf__emit_activation(work, args);
}

static vkf_status reference(const vkf__execution *e)
{
    const struct vkf_activation_params *p = e->params;
    const vkf_activation activation = (vkf_activation)e->spec[VKF_ACTIVATION_SPEC_ACTIVATION];
    for (uint64_t i = 0; i < p->count; i++)
        vkf__store(e, VKF_ACTIVATION_BINDING_OUT, i,
                   vkf__activation_value_by(activation, vkf__load(e, VKF_ACTIVATION_BINDING_X, i), (double)p->alpha));
    return VKF_OK;
}

static vkf_status cases(vkf__cases *c)
{
    const vkf_dtype type = c->variant->kernel->types[0];
    const uint32_t rows = vkf__case_size(c, 3, 9), dim = vkf__case_size(c, 351, 9000);
    const uint32_t activation = vkf__case_pick(c, VKF_ACTIVATION_GELU_ERF, VKF_ACTIVATION_COUNT);
    const bool in_place = vkf__case_flip(c, false);
    vkf__activation_args args = {
        .label = "activation",
        .x = vkf__case_floats(c, type, (uint64_t)rows * dim),
        .rows = rows,
        .dim = dim,
        .activation = (vkf_activation)vkf__case_constant(c, VKF_ACTIVATION_SPEC_ACTIVATION, activation),
        .alpha = vkf__case_factor(c, 0.5f),
    };
    args.out = in_place ? args.x : vkf__case_floats(c, type, (uint64_t)rows * dim);
    vkf__case_extremes(c, &args.x);
    // What math.glsl says of erf and tanh, times an x below 2.
    c->least = c->draw ? 3 : 0;
    return vkf__case_run(c, &args, c->draw ? 1e-6 : vkf__case_close(type), "(%u, %u), activation %d of %g%s", rows, dim,
                         (int)args.activation, (double)args.alpha, in_place ? ", in place" : "");
}

const vkf__op_info vkf__op_activation = {
    .params_bytes = sizeof(struct vkf_activation_params),
    .account = account,
    .output = output,
    .emit = emit,
    .reference = reference,
    .cases = cases,
    VKF_OP_PROBLEMS(vkf__typical_any),
    .usual = {{VKF_ACTIVATION_SPEC_ACTIVATION, VKF_SHADER_ACTIVATION_GELU_ERF}},
};
