// The emitter of the gradient of sinks, and its operator's row.
#include "op/train/sink_grad.h"

#include <math.h>

#include "op/cases.h"
#include "op/execution.h"
#include "op/flat.h"
#include "op/operators.h"
#include "op/train/column_sum.h"
#include "shared/sink_grad.h"

// Rows in their order in the batch, so that heads are columns.
static vkf_status emit_terms(vkf__work *work, const vkf__sink_grad_args *args, const vkf__span *terms)
{
    struct vkf_sink_grad_params params = {.heads = args->heads, .kv_heads = args->kv_heads, .q_len = args->q_len};
    const vkf__flat_args flat = {
        .label = args->label,
        .op = VKF_OP_SINK_GRAD,
        .types = {VKF_DTYPE_F32},
        .bindings = {{args->stats, false}, {*terms, true}, {args->deltas, false}, {args->sinks, false}},
        .params = &params,
        .count = {args->batch, args->heads, args->q_len},
        .factors = 3,
        .out_count = &params.count,
    };
    return vkf__emit_flat(work, &flat);
}

vkf_status vkf__emit_sink_grad(vkf__work *work, const vkf__sink_grad_args *args)
{
    vkf__span terms; // (batch, q_len, heads)
    VKF_RETURN_IF_ERROR(vkf__work_temp(work, VKF_DTYPE_F32, (uint64_t)args->batch * args->q_len * args->heads, &terms));
    VKF_RETURN_IF_ERROR(emit_terms(work, args, &terms));
    const vkf__column_sum_args sum = {
        .label = args->label,
        .x = terms,
        .out = args->out,
        .rows = args->batch * args->q_len,
        .cols = args->heads,
        .accumulate = args->accumulate,
    };
    return vkf__emit_column_sum(work, &sum);
}

static vkf__account account(const vkf__dispatched *dispatched)
{
    const struct vkf_sink_grad_params *p = dispatched->params;
    vkf__account taken = vkf__account_elementwise(p->count, 4, VKF_DTYPE_F32, VKF_DTYPE_F32);
    taken.bytes_read *= 3;
    return taken;
}

static bool output(const vkf__dispatched *dispatched, vkf__extent *out_extent)
{
    const struct vkf_sink_grad_params *p = dispatched->params;
    *out_extent = vkf__extent_flat(VKF_SINK_GRAD_BINDING_OUT, VKF_DTYPE_F32, p->count);
    return true;
}

static vkf_status emit(vkf__work *work, const void *args)
{
    return vkf__emit_sink_grad(work, args);
}

static vkf_status reference(const vkf__execution *e)
{
    const struct vkf_sink_grad_params *p = e->params;
    const uint64_t group = p->kv_heads > 0 ? p->heads / p->kv_heads : 1;
    for (uint64_t row = 0; row < p->count; row++) {
        const uint64_t l = row / group % p->q_len, key_head = row / group / p->q_len;
        const uint64_t h = key_head % p->kv_heads * group + row % group;
        const double maximum = vkf__load(e, VKF_SINK_GRAD_BINDING_STATS, row);
        const double weight = exp(vkf__load(e, VKF_SINK_GRAD_BINDING_SINKS, h) - maximum) *
                              vkf__load(e, VKF_SINK_GRAD_BINDING_STATS, p->count + row);
        vkf__store(e, VKF_SINK_GRAD_BINDING_OUT, (key_head / p->kv_heads * p->q_len + l) * p->heads + h,
                   weight != 0 ? -weight * vkf__load(e, VKF_SINK_GRAD_BINDING_DELTAS, row) : 0);
    }
    return VKF_OK;
}

static vkf_status cases(vkf__cases *c)
{
    const uint32_t kv_heads = vkf__case_size(c, 2, 4);
    vkf__sink_grad_args args = {
        .label = "sinks",
        .batch = vkf__case_size(c, 2, 3),
        .heads = kv_heads * vkf__case_size(c, 3, 3),
        .kv_heads = kv_heads,
        .q_len = vkf__case_size(c, 7, 130),
        .accumulate = vkf__case_flip(c, true),
    };
    const uint64_t rows = (uint64_t)args.batch * args.heads * args.q_len;
    args.stats = vkf__case_floats(c, VKF_DTYPE_F32, 2 * rows);
    args.deltas = vkf__case_floats(c, VKF_DTYPE_F32, rows);
    args.sinks = vkf__case_floats(c, VKF_DTYPE_F32, args.heads);
    args.out = vkf__case_floats(c, VKF_DTYPE_F32, args.heads);
    c->least = 1;
    return vkf__case_run(c, &args, vkf__case_close(VKF_DTYPE_F32), "batch %u, heads %u and %u, queries %u", args.batch,
                         args.heads, args.kv_heads, args.q_len);
}

const vkf__op_info vkf__op_sink_grad = {
    .params_bytes = sizeof(struct vkf_sink_grad_params),
    .account = account,
    .output = output,
    .emit = emit,
    .reference = reference,
    .cases = cases,
    VKF_OP_PROBLEMS(vkf__typical_any),
};
