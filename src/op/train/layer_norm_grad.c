// The emitter of the gradient of layer and RMS normalisation, and its operators' rows.
#include "op/train/layer_norm_grad.h"

#include <math.h>
#include <string.h>

#include "op/operators.h"
#include "op/rows.h"
#include "shared/layer_norm_grad.h"

static vkf_status emit_kernel(vkf__work *work, const vkf__layer_norm_grad_args *args, vkf__op op,
                              vkf__dispatch *dispatch)
{
    const vkf_dtype types[VKF_KERNEL_MAX_TYPES] = {args->x.dtype};
    const vkf__problem problem = {.m = args->rows, .n = args->dim};
    const uint32_t flags[VKF_KERNEL_MAX_SPEC] = {
        [VKF_LAYER_NORM_GRAD_SPEC_RMS] = args->rms,
        [VKF_LAYER_NORM_GRAD_SPEC_HAS_WEIGHT] = vkf__present(&args->weight),
    };
    const struct vkf_layer_norm_grad_params params = {
        .rows = args->rows,
        .dim = args->dim,
        .eps = args->eps,
        .accumulate = args->accumulate,
    };
    VKF_RETURN_IF_ERROR(vkf__work_select(work, op, types, &problem, &dispatch->variant));
    dispatch->flags = flags;
    dispatch->params = &params;
    vkf__grid_rows(work, &dispatch->variant, args->rows, dispatch->grid);
    return vkf__work_dispatch(work, dispatch);
}

static vkf_status emit_stats(vkf__work *work, const vkf__layer_norm_grad_args *args)
{
    vkf__dispatch dispatch = {
        .label = "norm_stats",
        .bindings = {{args->x, false}, {args->stats, true}},
    };
    return emit_kernel(work, args, VKF_OP_NORM_STATS, &dispatch);
}

vkf_status vkf__emit_layer_norm_grad(vkf__work *work, const vkf__layer_norm_grad_args *args)
{
    // Ahead of dx, which may lie over x.
    if (vkf__present(&args->stats))
        VKF_RETURN_IF_ERROR(emit_stats(work, args));
    vkf__dispatch dispatch = {
        .label = args->label,
        .bindings = {{args->x, false}, {args->dx, true}, {args->weight, false}, {args->dout, false}},
    };
    return emit_kernel(work, args, VKF_OP_LAYER_NORM_GRAD, &dispatch);
}

// Fourteen operations per element: four for the moments, three for the gradient's sums, seven for dx.
static vkf__account account(const vkf__dispatched *dispatched)
{
    const struct vkf_layer_norm_grad_params *p = dispatched->params;
    const vkf_dtype x = dispatched->kernel->types[0];
    const double elements = (double)p->rows * p->dim;
    vkf__account taken = vkf__account_elementwise(elements, 14, x, x);
    taken.bytes_read *= p->accumulate ? 3 : 2;
    taken.bytes_read += p->rows > 0 ? vkf__stored_bytes(p->dim, x) : 0;
    return taken;
}

static bool output(const vkf__dispatched *dispatched, vkf__extent *out_extent)
{
    const struct vkf_layer_norm_grad_params *p = dispatched->params;
    const vkf_dtype x = dispatched->kernel->types[0];
    *out_extent = vkf__extent_rows(VKF_LAYER_NORM_GRAD_BINDING_DX, x, p->rows, p->dim, p->dim);
    return true;
}

static vkf__account stats_account(const vkf__dispatched *dispatched)
{
    const struct vkf_layer_norm_grad_params *p = dispatched->params;
    const double elements = (double)p->rows * p->dim;
    return (vkf__account){4 * elements, vkf__stored_bytes(elements, dispatched->kernel->types[0]), 8.0 * p->rows};
}

static bool stats_output(const vkf__dispatched *dispatched, vkf__extent *out_extent)
{
    const struct vkf_layer_norm_grad_params *p = dispatched->params;
    *out_extent = vkf__extent_rows(VKF_NORM_STATS_BINDING_STATS, VKF_DTYPE_F32, p->rows, 2, 2);
    return true;
}

// No pipeline is made ahead, because only training asks for one.
static const vkf__typical_problem problems[] = {
    {.label = "32 columns", .problem = {.m = 512, .n = 32}},
    {.label = "768", .problem = {.m = 512, .n = 768}},
    {.label = "4096", .problem = {.m = 512, .n = 4096}},
};

static vkf_status emit(vkf__work *work, const void *args)
{
    return vkf__emit_layer_norm_grad(work, args);
}

static double x_of(const vkf__execution *e, const vkf__norm_row *row, uint64_t col)
{
    return vkf__load(e, VKF_LAYER_NORM_GRAD_BINDING_X, row->first + col);
}

vkf__norm_row vkf__norm_row_at(const vkf__execution *e, uint64_t row, uint32_t dim, float eps, bool rms)
{
    vkf__norm_row found = {.first = row * dim, .dim = dim, .rms = rms};
    double variance = 0;
    for (uint64_t col = 0; col < dim && !rms; col++)
        found.mean += x_of(e, &found, col) / dim;
    for (uint64_t col = 0; col < dim; col++)
        variance += pow(x_of(e, &found, col) - found.mean, 2) / dim;
    found.inverse_deviation = 1 / sqrt(variance + (double)eps);
    return found;
}

double vkf__norm_row_value(const vkf__execution *e, const vkf__norm_row *row, uint64_t col)
{
    return (x_of(e, row, col) - row->mean) * row->inverse_deviation;
}

// With regard to the normalised value.
static double gradient_of(const vkf__execution *e, const vkf__norm_row *row, uint64_t col)
{
    const bool weighted = e->kernel->op == VKF_OP_NORM_GRADIENTS || e->spec[VKF_LAYER_NORM_GRAD_SPEC_HAS_WEIGHT];
    return vkf__load(e, VKF_LAYER_NORM_GRAD_BINDING_DOUT, row->first + col) *
           (weighted ? vkf__load(e, VKF_LAYER_NORM_GRAD_BINDING_WEIGHT, col) : 1);
}

// A gradient of 0 is not multiplied: the row may hold NaN.
void vkf__norm_row_gradient(const vkf__execution *e, const vkf__norm_row *row, bool accumulate)
{
    double mean = 0, slope = 0;
    bool any = false;
    for (uint64_t col = 0; col < row->dim; col++) {
        const double gradient = gradient_of(e, row, col);
        mean += row->rms ? 0 : gradient / row->dim;
        slope += gradient != 0 ? gradient * vkf__norm_row_value(e, row, col) / row->dim : 0;
        any = any || gradient != 0;
    }
    for (uint64_t col = 0; col < row->dim; col++) {
        const double along = any ? mean + slope * vkf__norm_row_value(e, row, col) : 0;
        const double value = any ? (gradient_of(e, row, col) - along) * row->inverse_deviation : 0;
        const uint64_t at = row->first + col;
        vkf__store(e, VKF_LAYER_NORM_GRAD_BINDING_DX, at,
                   accumulate ? vkf__load(e, VKF_LAYER_NORM_GRAD_BINDING_DX, at) + value : value);
    }
}

static vkf_status reference(const vkf__execution *e)
{
    const struct vkf_layer_norm_grad_params *p = e->params;
    for (uint64_t i = 0; i < p->rows; i++) {
        const vkf__norm_row row = vkf__norm_row_at(e, i, p->dim, p->eps, e->spec[VKF_LAYER_NORM_GRAD_SPEC_RMS]);
        vkf__norm_row_gradient(e, &row, p->accumulate);
    }
    return VKF_OK;
}

static vkf_status stats_reference(const vkf__execution *e)
{
    const struct vkf_layer_norm_grad_params *p = e->params;
    for (uint64_t i = 0; i < p->rows; i++) {
        const vkf__norm_row row = vkf__norm_row_at(e, i, p->dim, p->eps, e->spec[VKF_LAYER_NORM_GRAD_SPEC_RMS]);
        vkf__store(e, VKF_NORM_STATS_BINDING_STATS, 2 * i, row.mean);
        vkf__store(e, VKF_NORM_STATS_BINDING_STATS, 2 * i + 1, row.inverse_deviation);
    }
    return VKF_OK;
}

float vkf__case_norm_eps(vkf__cases *cases)
{
    return vkf__case_flip(cases, true) ? 1.0f : 1e-5f;
}

static vkf_status cases_of(vkf__cases *c, uint32_t edge, bool rms)
{
    const vkf_dtype type = c->variant->kernel->types[0];
    const bool stats = c->variant->kernel->op == VKF_OP_NORM_STATS;
    const bool weight = vkf__case_flip(c, true);
    vkf__layer_norm_grad_args args = {
        .label = "layer_norm_grad",
        .rows = vkf__case_size(c, 3, 7),
        .dim = vkf__case_size(c, edge, 9000),
        .eps = vkf__case_norm_eps(c),
        .rms = vkf__case_flip(c, rms),
        .accumulate = vkf__case_flip(c, true),
    };
    const uint32_t place = vkf__case_pick(c, 0, 3);
    const uint64_t count = (uint64_t)args.rows * args.dim;
    const bool weighted = stats ? weight : vkf__case_constant(c, VKF_LAYER_NORM_GRAD_SPEC_HAS_WEIGHT, weight);
    args.x = vkf__case_floats(c, type, count);
    args.dout = vkf__case_floats(c, type, count);
    args.dx = place == 1 ? args.x : place == 2 ? args.dout : vkf__case_floats(c, type, count);
    args.weight = vkf__case_floats(c, type, weighted ? args.dim : 0);
    args.stats = vkf__case_floats(c, VKF_DTYPE_F32, stats ? 2 * (uint64_t)args.rows : 0);
    if (!args.accumulate && place == 0)
        vkf__case_blank(c, &args.dx);
    vkf__case_offset(c, &args.x);
    // LayerNorm's kernels carry a NaN on in the mean, and what the deviation then is means nothing.
    if (!stats || args.rms)
        vkf__case_extremes(c, &args.x);
    // A row without a gradient, whatever x has there; and none at all, where the stats are looked at.
    memset(vkf__case_bytes(c, &args.dout), 0, (stats ? count : args.dim) * vkf_dtype_size(type));
    c->least = stats ? 0.25 : 0; // a mean near 0 is rounded as the numbers beside it are
    return vkf__case_run(c, &args, stats ? 0x1p-18 : 1e-5, "%s(%u, %u)%s%s, eps %g", args.rms ? "RMS of " : "",
                         args.rows, args.dim, place > 0 ? " in place" : "", args.accumulate ? ", added" : "",
                         (double)args.eps);
}

static vkf_status cases(vkf__cases *c)
{
    for (uint32_t i = 0; i < 2 * VKF_CASE_ROW_LENGTHS; i++)
        VKF_RETURN_IF_ERROR(cases_of(c, vkf__case_row_length(c, i % VKF_CASE_ROW_LENGTHS), i >= VKF_CASE_ROW_LENGTHS));
    return VKF_OK;
}

const vkf__op_info vkf__op_layer_norm_grad = {
    .params_bytes = sizeof(struct vkf_layer_norm_grad_params),
    .account = account,
    .output = output,
    .emit = emit,
    .reference = reference,
    .cases = cases,
    VKF_OP_PROBLEMS(problems),
    .usual = {{VKF_LAYER_NORM_GRAD_SPEC_HAS_WEIGHT, 1}},
};

const vkf__op_info vkf__op_norm_stats = {
    .params_bytes = sizeof(struct vkf_layer_norm_grad_params),
    .account = stats_account,
    .output = stats_output,
    .emit = emit,
    .reference = stats_reference,
    .cases = cases,
    VKF_OP_PROBLEMS(problems),
};
