// The emitter of layer and RMS normalisation, and its operators' rows, with and without a residual.
#include "op/layer_norm.h"

#include <math.h>

#include "op/cases.h"
#include "op/copy.h"
#include "op/execution.h"
#include "op/operators.h"
#include "op/rows.h"
#include "shared/layer_norm.h"

#define ROWS_OF_A_CORE 32u

// On processors, where a load costs as much as everything else that is done with a number, rows are read once, if they
// are not so short that most of what an invocation holds would be beside them. Other devices read rows from caches.
static uint32_t columns_to_hold(const vkf__work *work, const vkf__variant *variant, uint32_t dim)
{
    const vkf__caps *caps = &work->context->device.plan.caps;
    const uint32_t least = VKF_LAYER_NORM_MOST_EACH / 2;
    const bool holds = caps->traits.processor && (variant->kernel->needs & VKF_NEEDS_SUBGROUP);
    return holds && dim > least / 2 * caps->least_subgroup_size
               ? vkf__held_columns(caps, dim, least, VKF_LAYER_NORM_MOST_EACH)
               : 0;
}

// Enough for every core; a subgroup goes on to other rows with the weight and the bias that it keeps.
static uint32_t rows_at_once(const vkf__work *work, uint32_t rows)
{
    const vkf__selector selector = vkf__work_selector(work);
    const uint64_t most = (uint64_t)ROWS_OF_A_CORE * vkf__selector_cores(&selector);
    return rows < most ? rows : (uint32_t)most;
}

static vkf_status emit_kernel(vkf__work *work, const vkf__layer_norm_args *args, const vkf__span *x, vkf__op op)
{
    vkf__variant variant;
    // Without affine parameters the weight's type does not matter. A kernel is certain to exist for the activations'
    // own.
    vkf_dtype weight_type = vkf__present(&args->weight) ? args->weight.dtype
                            : vkf__present(&args->bias) ? args->bias.dtype
                                                        : x->dtype;
    const vkf_dtype types[VKF_KERNEL_MAX_TYPES] = {x->dtype, weight_type};
    const vkf__problem problem = {.m = args->rows, .n = args->dim};
    VKF_RETURN_IF_ERROR(vkf__work_select(work, op, types, &problem, &variant));
    const uint32_t each = columns_to_hold(work, &variant, args->dim);
    const uint32_t flags[VKF_KERNEL_MAX_SPEC] = {
        [VKF_LAYER_NORM_SPEC_HAS_WEIGHT] = vkf__present(&args->weight),
        [VKF_LAYER_NORM_SPEC_HAS_BIAS] = vkf__present(&args->bias),
        [VKF_LAYER_NORM_SPEC_RMS] = args->rms,
        [VKF_LAYER_NORM_SPEC_EACH] = each,
        [VKF_LAYER_NORM_SPEC_RESIDUAL_AFTER] = args->residual_order == VKF_RESIDUAL_AFTER,
    };
    struct vkf_layer_norm_params params = {
        .rows = args->rows,
        .dim = args->dim,
        .out_row = args->out_row > 0 ? args->out_row : args->dim,
        .eps = args->eps,
    };
    vkf__dispatch dispatch = {
        .label = args->label,
        .variant = variant,
        .flags = flags,
        .bindings =
            {{*x, false}, {args->out, true}, {args->weight, false}, {args->bias, false}, {args->residual, false}},
        .params = &params,
    };
    vkf__grid_rows(work, &variant, each > 0 ? rows_at_once(work, args->rows) : args->rows, dispatch.grid);
    return vkf__work_dispatch(work, &dispatch);
}

static vkf_status emit_sum(vkf__work *work, const vkf__layer_norm_args *args, const vkf__span *x, float beta)
{
    const vkf__copy_args sum = {
        .label = args->label,
        .x = *x,
        .out = args->out,
        .outer = 1,
        .rows = args->rows,
        .cols = args->dim,
        .x_row = args->dim,
        .out_row = args->dim,
        .alpha = 1.0f,
        .beta = beta,
    };
    return vkf__emit_copy(work, &sum);
}

bool vkf__layer_norm_adds(const vkf_context *context)
{
    return context->device.plan.caps.max_storage_buffers >= 5;
}

vkf_status vkf__emit_layer_norm(vkf__work *work, const vkf__layer_norm_args *args)
{
    if (args->residual_order == VKF_RESIDUAL_NONE)
        return emit_kernel(work, args, &args->x, VKF_OP_LAYER_NORM);
    if (vkf__layer_norm_adds(work->context))
        return emit_kernel(work, args, &args->x, VKF_OP_LAYER_NORM_RESIDUAL);
    vkf__layer_norm_args plain = *args;
    plain.residual_order = VKF_RESIDUAL_NONE;
    if (args->residual_order == VKF_RESIDUAL_AFTER) {
        VKF_RETURN_IF_ERROR(emit_kernel(work, &plain, &args->x, VKF_OP_LAYER_NORM));
        return emit_sum(work, args, &args->residual, 1.0f);
    }
    VKF_RETURN_IF_ERROR(emit_sum(work, args, &args->x, 0.0f));
    VKF_RETURN_IF_ERROR(emit_sum(work, args, &args->residual, 1.0f));
    return emit_kernel(work, &plain, &args->out, VKF_OP_LAYER_NORM);
}

// Eight operations per element: for the mean, the variance, normalisation, weight and bias. A residual is one more
// operand to read.
static vkf__account account(const vkf__dispatched *dispatched)
{
    const struct vkf_layer_norm_params *p = dispatched->params;
    const vkf__kernel *kernel = dispatched->kernel;
    const double elements = (double)p->rows * p->dim;
    vkf__account normed = vkf__account_elementwise(elements, 8, kernel->types[0], kernel->types[0]);
    normed.bytes_read += p->rows > 0 ? vkf__stored_bytes(2.0 * p->dim, kernel->types[1]) : 0;
    if (kernel->op == VKF_OP_LAYER_NORM_RESIDUAL)
        normed.bytes_read += vkf__stored_bytes(elements, kernel->types[0]);
    return normed;
}

static bool output(const vkf__dispatched *dispatched, vkf__extent *out_extent)
{
    const struct vkf_layer_norm_params *p = dispatched->params;
    *out_extent =
        vkf__extent_rows(VKF_LAYER_NORM_BINDING_OUT, dispatched->kernel->types[0], p->rows, p->dim, p->out_row);
    return true;
}

static vkf_status emit(vkf__work *work, const void *args)
{
    return vkf__emit_layer_norm(work, args);
}

static bool has_residual(const vkf__execution *e, bool after)
{
    return e->kernel->op == VKF_OP_LAYER_NORM_RESIDUAL && (e->spec[VKF_LAYER_NORM_SPEC_RESIDUAL_AFTER] != 0) == after;
}

// The value that is normalised.
static double input_at(const vkf__execution *e, uint64_t at)
{
    const double x = vkf__load(e, VKF_LAYER_NORM_BINDING_X, at);
    return has_residual(e, false) ? x + vkf__load(e, VKF_LAYER_NORM_BINDING_RESIDUAL, at) : x;
}

static double affine(const vkf__execution *e, uint64_t row, uint64_t col, double normed)
{
    const struct vkf_layer_norm_params *p = e->params;
    if (e->spec[VKF_LAYER_NORM_SPEC_HAS_WEIGHT])
        normed *= vkf__load(e, VKF_LAYER_NORM_BINDING_WEIGHT, col);
    if (e->spec[VKF_LAYER_NORM_SPEC_HAS_BIAS])
        normed += vkf__load(e, VKF_LAYER_NORM_BINDING_BIAS, col);
    if (has_residual(e, true))
        normed += vkf__load(e, VKF_LAYER_NORM_BINDING_RESIDUAL, row * p->dim + col);
    return normed;
}

static vkf_status reference(const vkf__execution *e)
{
    const struct vkf_layer_norm_params *p = e->params;
    for (uint64_t row = 0; row < p->rows; row++) {
        double mean = 0, variance = 0;
        for (uint64_t col = 0; col < p->dim && !e->spec[VKF_LAYER_NORM_SPEC_RMS]; col++)
            mean += input_at(e, row * p->dim + col) / p->dim;
        for (uint64_t col = 0; col < p->dim; col++)
            variance += pow(input_at(e, row * p->dim + col) - mean, 2) / p->dim;
        for (uint64_t col = 0; col < p->dim; col++) {
            const double normed = (input_at(e, row * p->dim + col) - mean) / sqrt(variance + (double)p->eps);
            vkf__store(e, VKF_LAYER_NORM_BINDING_OUT, row * p->out_row + col, affine(e, row, col, normed));
        }
    }
    return VKF_OK;
}

// Residuals of kernels without one are for devices that bind four buffers, on which they take passes of their own.
static vkf_residual_order order_of(vkf__cases *c)
{
    if (c->variant->kernel->op == VKF_OP_LAYER_NORM)
        return (vkf_residual_order)(vkf__case_pick(c, 1, 4) == 0 ? vkf__case_pick(c, 0, VKF_RESIDUAL_ORDER_COUNT) : 0);
    const bool after = vkf__case_flip(c, false);
    return vkf__case_constant(c, VKF_LAYER_NORM_SPEC_RESIDUAL_AFTER, after) ? VKF_RESIDUAL_AFTER : VKF_RESIDUAL_BEFORE;
}

// Half-precision results may be rounded the other way, and what passes through the output is rounded there once more:
// it is below 8, but for extremes.
static double tolerance_of(vkf__cases *c, const vkf__layer_norm_args *args)
{
    const bool half = args->x.dtype == VKF_DTYPE_F16;
    const bool passes = args->residual_order != VKF_RESIDUAL_NONE && c->variant->kernel->op == VKF_OP_LAYER_NORM;
    c->least = half && !passes ? 0x1p-6 : 0;
    return !half ? 1e-5 : passes ? 0x1p-11 * 8 : 1e-3;
}

static vkf_status cases_of(vkf__cases *c, uint32_t edge, bool rms)
{
    static const float eps[] = {1e-5f, 1e-12f, 1, 100};
    const vkf_dtype *types = c->variant->kernel->types;
    vkf__layer_norm_args args = {
        .label = "layer_norm",
        .residual_order = order_of(c),
        .rows = vkf__case_size(c, 3, 5),
        .dim = vkf__case_size(c, edge, 9000),
        .eps = eps[vkf__case_pick(c, 0, sizeof eps / sizeof eps[0])],
        .rms = vkf__case_flip(c, rms),
    };
    const bool weight = vkf__case_flip(c, true), bias = vkf__case_flip(c, true), in_place = vkf__case_flip(c, false);
    const bool residual = args.residual_order != VKF_RESIDUAL_NONE;
    const uint64_t count = (uint64_t)args.rows * args.dim;
    args.out_row = args.dim + (residual || in_place ? 0 : vkf__case_pick(c, 0, 3));
    args.x = vkf__case_floats(c, types[0], count);
    args.out = in_place ? args.x : vkf__case_floats(c, types[0], (uint64_t)args.rows * args.out_row);
    args.weight =
        vkf__case_floats(c, types[1], vkf__case_constant(c, VKF_LAYER_NORM_SPEC_HAS_WEIGHT, weight) * args.dim);
    args.bias = vkf__case_floats(c, types[1], vkf__case_constant(c, VKF_LAYER_NORM_SPEC_HAS_BIAS, bias) * args.dim);
    args.residual = vkf__case_floats(c, types[0], residual ? count : 0);
    vkf__case_offset(c, &args.x);
    vkf__case_extremes(c, &args.x);
    const double tolerance = tolerance_of(c, &args);
    return vkf__case_run(c, &args, tolerance, "%s(%u, %u) into rows of %u, eps %g, residual %d%s",
                         args.rms ? "RMS of " : "", args.rows, args.dim, args.out_row, (double)args.eps,
                         (int)args.residual_order, in_place ? ", in place" : "");
}

static vkf_status cases(vkf__cases *c)
{
    // Almost every drawn case is another pipeline.
    for (uint32_t i = 0; i < (c->draw ? 4 : 2 * VKF_CASE_ROW_LENGTHS); i++)
        VKF_RETURN_IF_ERROR(cases_of(c, vkf__case_row_length(c, i % VKF_CASE_ROW_LENGTHS), i >= VKF_CASE_ROW_LENGTHS));
    return VKF_OK;
}

const vkf__op_info vkf__op_layer_norm = {
    .params_bytes = sizeof(struct vkf_layer_norm_params),
    .account = account,
    .output = output,
    .emit = emit,
    .reference = reference,
    .cases = cases,
    VKF_OP_PROBLEMS(vkf__typical_rows),
    .usual = {{VKF_LAYER_NORM_SPEC_HAS_WEIGHT, 1}, {VKF_LAYER_NORM_SPEC_HAS_BIAS, 1}},
};

const vkf__op_info vkf__op_layer_norm_residual = {
    .params_bytes = sizeof(struct vkf_layer_norm_params),
    .account = account,
    .output = output,
    .emit = emit,
    .reference = reference,
    .cases = cases,
    VKF_OP_PROBLEMS(vkf__typical_rows),
    .usual = {{VKF_LAYER_NORM_SPEC_HAS_WEIGHT, 1}, {VKF_LAYER_NORM_SPEC_HAS_BIAS, 1}},
};
