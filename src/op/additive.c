// The emitter of additive attention scores, and its operator's row.
#include "op/additive.h"

#include "op/flat.h"
#include "op/operators.h"
#include "shared/additive_scores.h"

vkf_status vkf__emit_additive(vkf__work *work, const vkf__additive_args *args)
{
    struct vkf_additive_params params = {.q_len = args->q_len, .k_len = args->k_len, .dim = args->dim};
    const vkf__flat_args flat = {
        .label = args->label,
        .op = VKF_OP_ADDITIVE_SCORES,
        .types = {args->query.dtype},
        .bindings = {{args->query, false}, {args->key, false}, {args->v, false}, {args->out, true}},
        .params = &params,
        .count = {args->batch, args->q_len, args->k_len},
        .factors = 3,
        .out_count = &params.count,
    };
    return vkf__emit_flat(work, &flat);
}

static vkf__account account(const vkf__dispatched *dispatched)
{
    const struct vkf_additive_params *p = dispatched->params;
    const double q = p->k_len > 0 ? (double)p->count / p->k_len : 0, k = p->q_len > 0 ? (double)p->count / p->q_len : 0;
    return (vkf__account){
        .flops = 4.0 * p->count * p->dim,
        .bytes_read = vkf__stored_bytes((q + k) * p->dim, dispatched->kernel->types[0]),
        .bytes_written = 4.0 * p->count,
    };
}

static bool output(const vkf__dispatched *dispatched, vkf__extent *out_extent)
{
    const struct vkf_additive_params *p = dispatched->params;
    *out_extent = vkf__extent_flat(VKF_ADDITIVE_BINDING_OUT, VKF_DTYPE_F32, p->count);
    return true;
}

static const vkf__typical_problem problems[] = {{.label = "any", .problem = {.m = 1u << 16}, .ahead = true}};

const vkf__op_info vkf__op_additive_scores = {
    .params_bytes = sizeof(struct vkf_additive_params),
    .account = account,
    .output = output,
    VKF_OP_PROBLEMS(problems),
};
