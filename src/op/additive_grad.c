// The emitter of the backward pass of additive attention's scores, in five dispatches, and its operator's row.
#include "op/additive_grad.h"

#include "base/size.h"
#include "op/flat.h"
#include "op/operators.h"
#include "shared/additive_grad.h"

// Of which some drivers run fewer than 65,535 iterations.
#define MAX_ROWS (65534u * VKF_ADDITIVE_GRAD_UNROLL)

typedef struct additive_phase {
    uint32_t kind;
    vkf__span own, other, dscores, out;
    struct vkf_additive_grad_params params;
} additive_phase;

static vkf_status emit_phase(vkf__work *work, const vkf__additive_grad_args *args, const additive_phase *phase)
{
    const uint32_t flags[VKF_KERNEL_MAX_SPEC] = {[VKF_ADDITIVE_GRAD_SPEC_KIND] = phase->kind};
    const uint32_t rows = phase->kind == VKF_ADDITIVE_GRAD_COLUMNS && phase->params.rows > 0 ? 1 : phase->params.rows;
    const vkf__flat_args flat = {
        .label = args->label,
        .op = VKF_OP_ADDITIVE_GRAD,
        .types = {args->query.dtype},
        .bindings = {{phase->own, false}, {phase->other, false}, {phase->dscores, false}, {phase->out, true}},
        .flags = flags,
        .params = &phase->params,
        .count = {rows, args->dim},
        .factors = 2,
        .parts = true,
    };
    return vkf__emit_flat(work, &flat);
}

// The sums over the rows of the other side, and the gradient of one side from these.
static vkf_status emit_side(vkf__work *work, const vkf__additive_grad_args *args, additive_phase *sum,
                            const vkf__span *grad, bool accumulate)
{
    // Never absent, or something else would be bound in its place.
    const uint64_t rows = sum->params.rows > 0 ? sum->params.rows : 1, elements = rows * args->dim;
    VKF_RETURN_IF_ERROR(
        vkf__work_temp(work, args->query.dtype, sum->params.totals ? 2 * elements : elements, &sum->out));
    VKF_RETURN_IF_ERROR(emit_phase(work, args, sum));
    const additive_phase scale = {
        .kind = VKF_ADDITIVE_GRAD_SCALE,
        .own = sum->out,
        .other = args->v,
        .out = *grad,
        .params = {.rows = sum->params.rows, .dim = args->dim, .accumulate = accumulate},
    };
    return emit_phase(work, args, &scale);
}

static vkf_status emit_v(vkf__work *work, const vkf__additive_grad_args *args, const additive_phase *sum)
{
    const additive_phase columns = {
        .kind = VKF_ADDITIVE_GRAD_COLUMNS,
        .own = sum->out,
        .out = args->dv,
        .params = {.rows = sum->params.rows, .dim = args->dim, .accumulate = args->accumulate_v},
    };
    return emit_phase(work, args, &columns);
}

static bool too_large(const vkf__additive_grad_args *args)
{
    const uint64_t batch = args->batch, queries = batch * args->q_len, keys = batch * args->k_len;
    uint64_t scores = 0, elements = 0;
    return queries > MAX_ROWS || args->k_len > MAX_ROWS || keys > UINT32_MAX ||
           !vkf__mul_u64(queries, args->k_len, &scores) || scores > UINT32_MAX ||
           !vkf__mul_u64(queries > keys ? queries : keys, args->dim, &elements) || 2 * elements > UINT32_MAX;
}

vkf_status vkf__emit_additive_grad(vkf__work *work, const vkf__additive_grad_args *args)
{
    if (too_large(args))
        return vkf__fail(work->context->device.host, VKF_ERROR_TOO_LARGE,
                         "%s.%s: more than 2^32 scores or elements, or than %u queries or keys", work->name,
                         args->label, MAX_ROWS);
    additive_phase queries = {
        .own = args->query,
        .other = args->key,
        .dscores = args->dscores,
        .params = {.rows = args->batch * args->q_len,
                   .dim = args->dim,
                   .own_len = args->q_len,
                   .other_len = args->k_len,
                   .score_own = args->k_len,
                   .score_other = 1,
                   .totals = 1},
    };
    additive_phase keys = {
        .own = args->key,
        .other = args->query,
        .dscores = args->dscores,
        .params = {.rows = args->batch * args->k_len,
                   .dim = args->dim,
                   .own_len = args->k_len,
                   .other_len = args->q_len,
                   .score_own = 1,
                   .score_other = args->k_len},
    };
    VKF_RETURN_IF_ERROR(emit_side(work, args, &queries, &args->dquery, args->accumulate_query));
    VKF_RETURN_IF_ERROR(emit_v(work, args, &queries));
    return emit_side(work, args, &keys, &args->dkey, args->accumulate_key);
}

static vkf__account account(const vkf__dispatched *dispatched)
{
    const struct vkf_additive_grad_params *p = dispatched->params;
    const uint32_t kind = dispatched->spec[VKF_ADDITIVE_GRAD_SPEC_KIND];
    const double rows = (double)p->rows * p->dim, written = kind == VKF_ADDITIVE_GRAD_COLUMNS ? p->dim : rows;
    const double others = p->own_len > 0 ? (double)p->rows / p->own_len * p->other_len : 0;
    const vkf_dtype type = dispatched->kernel->types[0];
    if (kind != VKF_ADDITIVE_GRAD_SUM)
        return (vkf__account){rows, vkf__stored_bytes(p->accumulate ? rows + written : rows, type),
                              vkf__stored_bytes(written, type)};
    return (vkf__account){
        .flops = (p->totals ? 8.0 : 6.0) * rows * p->other_len,
        .bytes_read = vkf__stored_bytes(rows + others * p->dim + (double)p->rows * p->other_len, type),
        .bytes_written = vkf__stored_bytes(p->totals ? 2 * written : written, type),
    };
}

static bool output(const vkf__dispatched *dispatched, vkf__extent *out_extent)
{
    const struct vkf_additive_grad_params *p = dispatched->params;
    const bool columns = dispatched->spec[VKF_ADDITIVE_GRAD_SPEC_KIND] == VKF_ADDITIVE_GRAD_COLUMNS;
    *out_extent = vkf__extent_rows(VKF_ADDITIVE_GRAD_BINDING_OUT, dispatched->kernel->types[0], columns ? 1 : p->rows,
                                   p->dim, p->dim);
    return true;
}

// No pipeline is made ahead, because only training asks for it.
static const vkf__typical_problem problems[] = {{.label = "any", .problem = {.m = 1u << 16}}};

const vkf__op_info vkf__op_additive_grad = {
    .params_bytes = sizeof(struct vkf_additive_grad_params),
    .account = account,
    .output = output,
    VKF_OP_PROBLEMS(problems),
};
