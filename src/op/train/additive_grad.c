// The emitter of the backward pass of additive attention's scores, in five dispatches, and its operator's row.
#include "op/train/additive_grad.h"

#include <math.h>
#include <string.h>

#include "base/size.h"
#include "op/cases.h"
#include "op/execution.h"
#include "op/flat.h"
#include "op/operators.h"
#include "shared/additive_grad.h"

// Loops over these: some drivers run fewer than 65,535 iterations.
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

static vkf_status emit(vkf__work *work, const void *args)
{
    return vkf__emit_additive_grad(work, args);
}

// A score without a gradient counts for nothing, whatever query and key hold.
static void execute_sum(const vkf__execution *e, uint64_t row, uint64_t col)
{
    const struct vkf_additive_grad_params *p = e->params;
    const uint64_t b = row / p->own_len, other = b * p->other_len * p->dim + col;
    const uint64_t score = b * p->own_len * p->other_len + row % p->own_len * p->score_own;
    const double own = vkf__load(e, VKF_ADDITIVE_GRAD_BINDING_OWN, row * p->dim + col);
    double sum = 0, total = 0;
    for (uint64_t i = 0; i < p->other_len; i++) {
        const double d = vkf__load(e, VKF_ADDITIVE_GRAD_BINDING_DSCORES, score + i * p->score_other);
        const double value = tanh(own + vkf__load(e, VKF_ADDITIVE_GRAD_BINDING_OTHER, other + i * p->dim));
        sum += d != 0 ? d * (1 - value) * (1 + value) : 0;
        total += d != 0 ? d * value : 0;
    }
    vkf__store(e, VKF_ADDITIVE_GRAD_BINDING_OUT, row * p->dim + col, sum);
    if (p->totals)
        vkf__store(e, VKF_ADDITIVE_GRAD_BINDING_OUT, (p->rows + row) * p->dim + col, total);
}

static double sum_of_parts(const vkf__execution *e, uint64_t col)
{
    const struct vkf_additive_grad_params *p = e->params;
    double sum = 0;
    for (uint64_t row = 0; row < p->rows; row++)
        sum += vkf__load(e, VKF_ADDITIVE_GRAD_BINDING_OWN, (p->rows + row) * p->dim + col);
    return sum;
}

static vkf_status reference(const vkf__execution *e)
{
    const struct vkf_additive_grad_params *p = e->params;
    const uint32_t kind = e->spec[VKF_ADDITIVE_GRAD_SPEC_KIND];
    const uint64_t rows = kind == VKF_ADDITIVE_GRAD_COLUMNS ? 1 : p->rows;
    for (uint64_t at = 0; at < rows * p->dim; at++) {
        const uint64_t row = at / p->dim, col = at % p->dim;
        if (kind == VKF_ADDITIVE_GRAD_SUM) {
            execute_sum(e, row, col);
            continue;
        }
        const double value = kind == VKF_ADDITIVE_GRAD_COLUMNS ? sum_of_parts(e, col)
                                                               : vkf__load(e, VKF_ADDITIVE_GRAD_BINDING_OWN, at) *
                                                                     vkf__load(e, VKF_ADDITIVE_GRAD_BINDING_OTHER, col);
        vkf__store(e, VKF_ADDITIVE_GRAD_BINDING_OUT, at,
                   p->accumulate ? vkf__load(e, VKF_ADDITIVE_GRAD_BINDING_OUT, at) + value : value);
    }
    return VKF_OK;
}

// A key of padding may be no number, as none of its scores has a gradient.
static void hide_key(vkf__cases *c, const vkf__additive_grad_args *args)
{
    const uint64_t key_bytes = args->key.size_bytes / ((uint64_t)args->batch * args->k_len);
    const uint64_t score_bytes = vkf_dtype_size(args->dscores.dtype);
    const uint32_t hidden = vkf__case_pick(c, 0, args->k_len);
    uint8_t *key = vkf__case_bytes(c, &args->key), *dscores = vkf__case_bytes(c, &args->dscores);
    memset(key + hidden * key_bytes, 0xff, key_bytes);
    for (uint32_t i = 0; i < args->q_len; i++)
        memset(dscores + ((uint64_t)i * args->k_len + hidden) * score_bytes, 0, score_bytes);
}

static vkf_status cases(vkf__cases *c)
{
    const vkf_dtype type = c->variant->kernel->types[0];
    const uint32_t batch = vkf__case_size(c, 2, 4), q_len = vkf__case_size(c, 5, 70), k_len = vkf__case_size(c, 7, 140);
    const uint32_t dim = c->draw ? vkf__case_size(c, 67, q_len * k_len > 500 ? 40 : 600) : 67;
    vkf__additive_grad_args args = {
        .label = "additive_grad",
        .query = vkf__case_floats(c, type, (uint64_t)batch * q_len * dim),
        .key = vkf__case_floats(c, type, (uint64_t)batch * k_len * dim),
        .v = vkf__case_floats(c, type, dim),
        .dscores = vkf__case_floats(c, type, (uint64_t)batch * q_len * k_len),
        .dquery = vkf__case_floats(c, type, (uint64_t)batch * q_len * dim),
        .dkey = vkf__case_floats(c, type, (uint64_t)batch * k_len * dim),
        .dv = vkf__case_floats(c, type, dim),
        .batch = batch,
        .q_len = q_len,
        .k_len = k_len,
        .dim = dim,
        .accumulate_query = vkf__case_flip(c, false),
        .accumulate_key = vkf__case_flip(c, false),
        .accumulate_v = vkf__case_flip(c, false),
    };
    if (vkf__case_pick(c, 0, 4) > 0)
        hide_key(c, &args);
    // tanh is wrong by 1e-7 (math.glsl) and 1 - tanh^2 by twice that, in each of up to 40,000 terms of about 1 for v,
    // which are summed four at a time: so many roundings of partial sums below 50, which do not conspire.
    c->least = c->draw ? 200 : 0;
    return vkf__case_run(c, &args, c->draw ? 1e-6 : vkf__case_close(type), "(%u, %u, %u), dim %u%s%s%s", batch, q_len,
                         k_len, dim, args.accumulate_query ? ", query added" : "",
                         args.accumulate_key ? ", key added" : "", args.accumulate_v ? ", v added" : "");
}

const vkf__op_info vkf__op_additive_grad = {
    .params_bytes = sizeof(struct vkf_additive_grad_params),
    .account = account,
    .output = output,
    .emit = emit,
    .reference = reference,
    .cases = cases,
    VKF_OP_PROBLEMS(vkf__typical_any),
};
