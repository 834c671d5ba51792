// The emitter of additive attention scores, and its operator's row.
#include "op/additive.h"

#include <math.h>

#include "op/cases.h"
#include "op/copy.h"
#include "op/execution.h"
#include "op/flat.h"
#include "op/operators.h"
#include "shared/additive_scores.h"

vkf_status vkf__emit_additive(vkf__work *work, const vkf__additive_args *args)
{
    if (args->dim == 0) // whose sums are over nothing
        return vkf__emit_zeros(work, args->label, &args->out, args->batch, args->q_len, args->k_len);
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
    const vkf_dtype type = dispatched->kernel->types[0];
    return (vkf__account){
        .flops = 4.0 * p->count * p->dim,
        .bytes_read = vkf__stored_bytes((q + k) * p->dim, type),
        .bytes_written = vkf__stored_bytes(p->count, type),
    };
}

static bool output(const vkf__dispatched *dispatched, vkf__extent *out_extent)
{
    const struct vkf_additive_params *p = dispatched->params;
    *out_extent = vkf__extent_flat(VKF_ADDITIVE_BINDING_OUT, dispatched->kernel->types[0], p->count);
    return true;
}

static vkf_status emit(vkf__work *work, const void *args)
{
    return vkf__emit_additive(work, args);
}

static vkf_status reference(const vkf__execution *e)
{
    const struct vkf_additive_params *p = e->params;
    for (uint64_t i = 0; i < p->count; i++) {
        const uint64_t s = i % p->k_len, query = i / p->k_len, key = query / p->q_len * p->k_len + s;
        double sum = 0;
        for (uint64_t a = 0; a < p->dim; a++)
            sum += vkf__load(e, VKF_ADDITIVE_BINDING_V, a) *
                   tanh(vkf__load(e, VKF_ADDITIVE_BINDING_QUERY, query * p->dim + a) +
                        vkf__load(e, VKF_ADDITIVE_BINDING_KEY, key * p->dim + a));
        vkf__store(e, VKF_ADDITIVE_BINDING_OUT, i, sum);
    }
    return VKF_OK;
}

static vkf_status cases(vkf__cases *c)
{
    const vkf_dtype type = c->variant->kernel->types[0];
    vkf__additive_args args = {
        .label = "additive",
        .batch = vkf__case_size(c, 2, 3),
        .q_len = vkf__case_size(c, 5, 17),
        .k_len = vkf__case_size(c, 7, 70),
        .dim = vkf__case_size(c, 13, 130),
    };
    args.query = vkf__case_floats(c, type, (uint64_t)args.batch * args.q_len * args.dim);
    args.key = vkf__case_floats(c, type, (uint64_t)args.batch * args.k_len * args.dim);
    args.v = vkf__case_floats(c, type, args.dim);
    args.out = vkf__case_floats(c, type, (uint64_t)args.batch * args.q_len * args.k_len);
    // tanh() is only as accurate as the driver makes it, and Vulkan asks for little.
    return vkf__case_run(c, &args, 4e-3, "(%u, %u, %u), dim %u", args.batch, args.q_len, args.k_len, args.dim);
}

const vkf__op_info vkf__op_additive_scores = {
    .params_bytes = sizeof(struct vkf_additive_params),
    .account = account,
    .output = output,
    .emit = emit,
    .reference = reference,
    .cases = cases,
    VKF_OP_PROBLEMS(vkf__typical_any_ahead),
};
