// The emitter of activations, and their operator's row.
#include "op/activation.h"

#include "op/flat.h"
#include "op/operators.h"
#include "shared/activation.h"

vkf_status vkf__emit_activation(vkf__work *work, const vkf__activation_args *args)
{
    const uint32_t flags[VKF_KERNEL_MAX_SPEC] = {
        [VKF_ACTIVATION_SPEC_ACTIVATION] = vkf__activation_flag(args->activation),
    };
    struct vkf_activation_params params = {0};
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

// No pipeline is made ahead, because only a layer tells which activation it needs.
static const vkf__typical_problem problems[] = {{.label = "any", .problem = {.m = 1u << 16}}};

const vkf__op_info vkf__op_activation = {
    .params_bytes = sizeof(struct vkf_activation_params),
    .account = account,
    .output = output,
    VKF_OP_PROBLEMS(problems),
    .usual = {{VKF_ACTIVATION_SPEC_ACTIVATION, VKF_SHADER_ACTIVATION_GELU_ERF}},
};
