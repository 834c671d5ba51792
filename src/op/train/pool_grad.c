// The emitter of the backward pass of pooling, in one phase or two, and its operator's row.
#include "op/train/pool_grad.h"

#include <math.h>
#include <string.h>

#include "base/size.h"
#include "op/cases.h"
#include "op/execution.h"
#include "op/operators.h"
#include "op/pool.h"
#include "shared/pool_grad.h"

// Eight to an iteration, of which some drivers run fewer than 65,535.
#define MAX_POSITIONS (8 * 65534)

// A workgroup for each sequence prepares; else one takes a part of a position's columns.
static uint64_t count_groups(const vkf__work *work, const vkf__variant *variant, const struct vkf_pool_grad_params *p)
{
    const uint32_t width = VKF_PART_EACH * vkf__variant_local_size(&work->context->device.plan.caps, variant);
    return p->prepares ? p->batch : (uint64_t)p->batch * p->len * vkf__div_up_u32(p->dim, width);
}

static vkf_status emit_phase(vkf__work *work, const vkf__pool_grad_args *args, const vkf__span *dout, uint32_t dout_row,
                             const vkf__span *dx, bool prepares)
{
    vkf__variant variant;
    const vkf_dtype types[VKF_KERNEL_MAX_TYPES] = {args->x.dtype};
    const vkf__problem problem = {.m = args->batch, .n = args->dim};
    VKF_RETURN_IF_ERROR(vkf__work_select(work, VKF_OP_POOL_GRAD, types, &problem, &variant));
    const uint32_t flags[VKF_KERNEL_MAX_SPEC] = {
        [VKF_POOL_GRAD_SPEC_MODE] = (uint32_t)args->pooling,
        [VKF_POOL_GRAD_SPEC_NORMALISE] = args->normalise,
    };
    const struct vkf_pool_grad_params params = {
        .batch = args->batch,
        .len = args->len,
        .dim = args->dim,
        .first = args->first,
        .dout_stride = dout_row,
        .prepares = prepares,
        .accumulate = args->accumulate,
    };
    vkf__dispatch dispatch = {
        .label = args->label,
        .variant = variant,
        .flags = flags,
        .bindings = {{args->x, false}, {args->lengths, false}, {*dout, false}, {*dx, true}},
        .params = &params,
    };
    vkf__grid_flat(work, count_groups(work, &variant, &params), dispatch.grid);
    return vkf__work_dispatch(work, &dispatch);
}

vkf_status vkf__emit_pool_grad(vkf__work *work, const vkf__pool_grad_args *args)
{
    const uint32_t dout_row = args->dout_row > 0 ? args->dout_row : args->dim;
    uint64_t count = 0;
    vkf__span prepared; // (2, batch, dim)
    if (!vkf__product_u64((const uint64_t[]){args->batch, args->len, args->dim}, 3, &count) || count > UINT32_MAX ||
        args->len > MAX_POSITIONS)
        return vkf__fail(work->context->device.host, VKF_ERROR_TOO_LARGE,
                         "%s.%s: more than 2^32 elements, or than %d positions", work->name, args->label,
                         MAX_POSITIONS);
    if (!args->normalise && args->pooling != VKF_POOLING_MAX)
        return emit_phase(work, args, &args->dout, dout_row, &args->dx, false);
    // Never absent, or something else would be bound in its place.
    const uint64_t prepared_count = args->batch > 0 ? (uint64_t)2 * args->batch * args->dim : 1;
    VKF_RETURN_IF_ERROR(vkf__work_temp(work, VKF_DTYPE_F32, prepared_count, &prepared));
    VKF_RETURN_IF_ERROR(emit_phase(work, args, &args->dout, dout_row, &prepared, true));
    return emit_phase(work, args, &prepared, args->dim, &args->dx, false);
}

static vkf__account account(const vkf__dispatched *dispatched)
{
    const struct vkf_pool_grad_params *p = dispatched->params;
    const double pooled = (double)p->batch * p->dim, elements = pooled * p->len;
    if (p->prepares)
        return (vkf__account){
            .flops = 2 * elements,
            .bytes_read = vkf__stored_bytes(elements, dispatched->kernel->types[0]) + 4 * pooled,
            .bytes_written = 8 * pooled,
        };
    return (vkf__account){
        .flops = elements,
        .bytes_read = 4 * pooled + (p->accumulate ? 4 * elements : 0),
        .bytes_written = 4 * elements,
    };
}

// What was prepared, without the positions beside it, or dx.
static bool output(const vkf__dispatched *dispatched, vkf__extent *out_extent)
{
    const struct vkf_pool_grad_params *p = dispatched->params;
    const uint32_t rows = p->prepares ? p->batch : p->batch * p->len;
    *out_extent = vkf__extent_rows(VKF_POOL_GRAD_BINDING_DX, VKF_DTYPE_F32, rows, p->dim, p->dim);
    return true;
}

// No pipeline is made ahead, because only training asks for it.
static const vkf__typical_problem problems[] = {
    {.label = "768", .problem = {.m = 32, .n = 768}},
    {.label = "1024", .problem = {.m = 32, .n = 1024}},
};

static vkf_status emit(vkf__work *work, const void *args)
{
    return vkf__emit_pool_grad(work, args);
}

_Static_assert(VKF_POOL_GRAD_BINDING_X == VKF_POOL_BINDING_X &&
                   VKF_POOL_GRAD_BINDING_LENGTHS == VKF_POOL_BINDING_LENGTHS &&
                   VKF_POOL_GRAD_SPEC_MODE == VKF_POOL_SPEC_MODE,
               "references of pooling and of its backward pass share what they read");

// The first of equals, or of NaN.
static uint32_t largest_position(const vkf__execution *e, uint64_t column, uint32_t length)
{
    const struct vkf_pool_grad_params *p = e->params;
    double largest = -INFINITY;
    uint32_t best = p->first;
    for (uint32_t t = p->first; t < length && !isnan(largest); t++) {
        const double value = vkf__load(e, VKF_POOL_GRAD_BINDING_X, column + (uint64_t)t * p->dim);
        best = isnan(value) || value > largest ? t : best;
        largest = isnan(value) || value > largest ? value : largest;
    }
    return best;
}

static void prepare(const vkf__execution *e, uint64_t b)
{
    const struct vkf_pool_grad_params *p = e->params;
    const uint32_t length = vkf__pool_length(e, b, p->len);
    const uint64_t x = b * p->len * p->dim;
    const bool normalise = e->spec[VKF_POOL_GRAD_SPEC_NORMALISE];
    double squares = 0, along = 0;
    for (uint32_t i = 0; normalise && i < p->dim; i++) {
        const double value = vkf__pooled(e, p->first, p->dim, x + i, length);
        squares += value * value;
        along += value * vkf__load(e, VKF_POOL_GRAD_BINDING_DOUT, b * p->dout_stride + i);
    }
    // A clamped length is a constant.
    const double norm = normalise ? fmax(sqrt(squares), 1e-12) : 1, part = norm > 1e-12 ? along / (norm * norm) : 0;
    for (uint32_t i = 0; i < p->dim; i++) {
        const double incoming = vkf__load(e, VKF_POOL_GRAD_BINDING_DOUT, b * p->dout_stride + i);
        const double value = normalise ? vkf__pooled(e, p->first, p->dim, x + i, length) : 0;
        vkf__store(e, VKF_POOL_GRAD_BINDING_DX, b * p->dim + i,
                   isfinite(squares) ? (incoming - part * value) / norm : NAN);
        if (e->spec[VKF_POOL_GRAD_SPEC_MODE] == VKF_POOL_MAX)
            vkf__store(e, VKF_POOL_GRAD_BINDING_DX, (p->batch + b) * p->dim + i, largest_position(e, x + i, length));
    }
}

// What a position counts for, other than for MAX.
static double share(const vkf__execution *e, uint32_t position, uint32_t length)
{
    const struct vkf_pool_grad_params *p = e->params;
    const double first = p->first, weights = 0.5 * (length * (length + 1.0) - first * (first + 1));
    switch (e->spec[VKF_POOL_GRAD_SPEC_MODE]) {
    case VKF_POOL_FIRST:
        return position == (p->first < length ? p->first : 0);
    case VKF_POOL_LAST:
        return position + 1 == length;
    case VKF_POOL_WEIGHTED_MEAN:
        return (position + 1) / weights;
    case VKF_POOL_MEAN:
        return 1 / (length - first);
    default:
        return 1 / sqrt(length - first);
    }
}

static void hand_out(const vkf__execution *e, uint64_t row)
{
    const struct vkf_pool_grad_params *p = e->params;
    const uint64_t b = row / p->len;
    const uint32_t mode = e->spec[VKF_POOL_GRAD_SPEC_MODE], position = (uint32_t)(row % p->len),
                   length = vkf__pool_length(e, b, p->len);
    const bool counts = position < length && (mode == VKF_POOL_FIRST || position >= p->first);
    for (uint32_t i = 0; i < p->dim; i++) {
        const uint64_t out = row * p->dim + i;
        const double before = p->accumulate ? vkf__load(e, VKF_POOL_GRAD_BINDING_DX, out) : 0;
        const bool best = mode == VKF_POOL_MAX &&
                          vkf__load(e, VKF_POOL_GRAD_BINDING_DOUT, (p->batch + b) * (uint64_t)p->dim + i) == position;
        const double factor = !counts ? 0 : mode == VKF_POOL_MAX ? best : share(e, position, length);
        const double incoming = vkf__load(e, VKF_POOL_GRAD_BINDING_DOUT, b * p->dout_stride + i);
        vkf__store(e, VKF_POOL_GRAD_BINDING_DX, out, before + (factor != 0 ? factor * incoming : 0));
    }
}

static vkf_status reference(const vkf__execution *e)
{
    const struct vkf_pool_grad_params *p = e->params;
    for (uint64_t b = 0; p->prepares && b < p->batch; b++)
        prepare(e, b);
    for (uint64_t row = 0; !p->prepares && row < (uint64_t)p->batch * p->len; row++)
        hand_out(e, row);
    return VKF_OK;
}

// The first column of what is normalised keeps it from being short, which would multiply roundings.
static void lengthen(const vkf__cases *c, const vkf__pool_grad_args *args)
{
    const uint64_t row_bytes = args->x.size_bytes / ((uint64_t)args->batch * args->len);
    uint8_t *x = vkf__case_bytes(c, &args->x);
    for (uint64_t i = 0; i < (uint64_t)args->batch * args->len; i++)
        vkf__element_set(args->x.dtype, x + i * row_bytes, 2);
}

// In the edge shapes one sequence is whole, one ends early, and one ahead of the first position that counts.
static vkf_status run_pooling(vkf__cases *c, vkf_pooling edge, bool normalised)
{
    static const int32_t usual[] = {9, 4, 1};
    const uint32_t pooling = vkf__case_pick(c, edge, VKF_POOLING_COUNT), gap = vkf__case_pick(c, 0, 3);
    const bool narrow = vkf__case_pick(c, 0, 4) == 1;
    vkf__pool_grad_args args = {
        .label = "pool_grad",
        .batch = vkf__case_size(c, 3, 4),
        .len = vkf__case_size(c, 9, narrow ? 1000 : 140),
        .dim = vkf__case_size(c, 69, narrow ? 70 : 1100),
        .first = vkf__case_pick(c, 1, 5),
        .pooling = (vkf_pooling)vkf__case_constant(c, VKF_POOL_GRAD_SPEC_MODE, pooling),
        .normalise = vkf__case_constant(c, VKF_POOL_GRAD_SPEC_NORMALISE, vkf__case_flip(c, normalised)),
        .accumulate = vkf__case_flip(c, false),
    };
    args.dout_row = args.dim + gap;
    args.x = vkf__case_floats(c, c->variant->kernel->types[0], (uint64_t)args.batch * args.len * args.dim);
    args.lengths = vkf__case_ints(c, -1, (int32_t)args.len + 2, args.batch);
    args.dout = vkf__case_floats(c, VKF_DTYPE_F32, (uint64_t)args.batch * args.dout_row);
    args.dx = vkf__case_floats(c, VKF_DTYPE_F32, (uint64_t)args.batch * args.len * args.dim);
    int32_t *lengths = vkf__case_bytes(c, &args.lengths);
    if (!c->draw)
        memcpy(lengths, usual, sizeof usual);
    else if (vkf__case_flip(c, false))
        lengths[0] = lengths[0] < 2 ? INT32_MIN : INT32_MAX;
    if (c->draw && args.normalise)
        lengthen(c, &args);
    vkf__case_extremes(c, &args.x);
    // A share is a few roundings; a length and its product are sums over so many columns.
    return vkf__case_run(c, &args, c->draw && !args.normalise ? 1e-6 : 2e-5, "(%u, %u, %u) from %u on, pooling %d%s%s",
                         args.batch, args.len, args.dim, args.first, (int)args.pooling,
                         args.normalise ? ", normalised" : "", args.accumulate ? ", added" : "");
}

static vkf_status cases(vkf__cases *c)
{
    VKF_RETURN_IF_ERROR(run_pooling(c, VKF_POOLING_MEAN, true));
    VKF_RETURN_IF_ERROR(run_pooling(c, VKF_POOLING_MAX, false));
    return run_pooling(c, VKF_POOLING_WEIGHTED_MEAN, false);
}

const vkf__op_info vkf__op_pool_grad = {
    .params_bytes = sizeof(struct vkf_pool_grad_params),
    .account = account,
    .output = output,
    .emit = emit,
    .reference = reference,
    .cases = cases,
    VKF_OP_PROBLEMS(problems),
};
