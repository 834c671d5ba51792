// The emitter of pooling, and its operator's row.
#include "op/pool.h"

#include <math.h>

#include "op/cases.h"
#include "op/execution.h"
#include "op/operators.h"
#include "shared/pool.h"

_Static_assert(VKF_POOL_MEAN == VKF_POOLING_MEAN && VKF_POOL_MEAN_SQRT == VKF_POOLING_MEAN_SQRT &&
                   VKF_POOL_FIRST == VKF_POOLING_FIRST && VKF_POOL_LAST == VKF_POOLING_LAST &&
                   VKF_POOL_MAX == VKF_POOLING_MAX && VKF_POOL_WEIGHTED_MEAN == VKF_POOLING_WEIGHTED_MEAN,
               "the shader takes the values of vkf_pooling");

vkf_status vkf__emit_pool(vkf__work *work, const vkf__pool_args *args)
{
    vkf__variant variant;
    const vkf_dtype types[VKF_KERNEL_MAX_TYPES] = {args->x.dtype};
    const vkf__problem problem = {.m = args->batch, .n = args->dim};
    VKF_RETURN_IF_ERROR(vkf__work_select(work, VKF_OP_POOL, types, &problem, &variant));
    const uint32_t flags[VKF_KERNEL_MAX_SPEC] = {
        [VKF_POOL_SPEC_MODE] = (uint32_t)args->pooling,
        [VKF_POOL_SPEC_NORMALISE] = args->normalise,
    };
    struct vkf_pool_params params = {
        .batch = args->batch,
        .len = args->len,
        .dim = args->dim,
        .first = args->first,
        .out_stride = args->out_row > 0 ? args->out_row : args->dim,
    };
    vkf__dispatch dispatch = {
        .label = args->label,
        .variant = variant,
        .flags = flags,
        .bindings = {{args->x, false}, {args->lengths, false}, {args->out, true}},
        .params = &params,
    };
    vkf__grid_flat(work, args->batch, dispatch.grid);
    return vkf__work_dispatch(work, &dispatch);
}

static vkf__account account(const vkf__dispatched *dispatched)
{
    const struct vkf_pool_params *p = dispatched->params;
    const double outputs = (double)p->batch * p->dim;
    return (vkf__account){
        .flops = 2 * outputs * p->len,
        .bytes_read = vkf__stored_bytes(outputs * p->len, dispatched->kernel->types[0]),
        .bytes_written = 4 * outputs,
    };
}

static bool output(const vkf__dispatched *dispatched, vkf__extent *out_extent)
{
    const struct vkf_pool_params *p = dispatched->params;
    *out_extent = vkf__extent_rows(VKF_POOL_BINDING_OUT, VKF_DTYPE_F32, p->batch, p->dim, p->out_stride);
    return true;
}

static vkf_status emit(vkf__work *work, const void *args)
{
    return vkf__emit_pool(work, args);
}

uint32_t vkf__pool_length(const vkf__execution *e, uint64_t b, uint32_t len)
{
    const double given = vkf__load(e, VKF_POOL_BINDING_LENGTHS, b);
    return given <= 0 ? 0 : given < len ? (uint32_t)given : len;
}

double vkf__pooled(const vkf__execution *e, uint32_t first_counted, uint32_t dim, uint64_t column, uint32_t length)
{
    const uint32_t mode = e->spec[VKF_POOL_SPEC_MODE], first = first_counted < length ? first_counted : 0;
    double sum = 0, largest = -INFINITY, weights = 0, value = 0;
    if (length == 0 || (first_counted >= length && mode != VKF_POOL_FIRST))
        return 0;
    for (uint32_t t = first; t < length; t++) {
        const double weight = mode == VKF_POOL_WEIGHTED_MEAN ? t + 1.0 : 1;
        value = vkf__load(e, VKF_POOL_BINDING_X, column + (uint64_t)t * dim);
        largest = isnan(value) || value > largest ? value : largest;
        sum += weight * value;
        weights += weight;
        if (mode == VKF_POOL_FIRST || (mode == VKF_POOL_MAX && isnan(value)))
            break;
    }
    return mode == VKF_POOL_MAX                              ? largest
           : mode == VKF_POOL_FIRST || mode == VKF_POOL_LAST ? value
           : mode == VKF_POOL_MEAN_SQRT                      ? sum / sqrt(weights)
                                                             : sum / weights;
}

static vkf_status reference(const vkf__execution *e)
{
    const struct vkf_pool_params *p = e->params;
    for (uint64_t b = 0; b < p->batch; b++) {
        const uint32_t length = vkf__pool_length(e, b, p->len);
        double squares = 0;
        for (uint64_t i = 0; i < p->dim; i++) {
            const double value = vkf__pooled(e, p->first, p->dim, b * p->len * p->dim + i, length);
            squares += value * value;
            vkf__store(e, VKF_POOL_BINDING_OUT, b * p->out_stride + i, value);
        }
        const double divisor = isfinite(squares) ? fmax(sqrt(squares), 1e-12) : NAN;
        for (uint64_t i = b * p->out_stride; e->spec[VKF_POOL_SPEC_NORMALISE] && i < b * p->out_stride + p->dim; i++)
            vkf__store(e, VKF_POOL_BINDING_OUT, i, vkf__load(e, VKF_POOL_BINDING_OUT, i) / divisor);
    }
    return VKF_OK;
}

static vkf_status cases_of(vkf__cases *c, uint32_t edge)
{
    const uint32_t mode = vkf__case_pick(c, VKF_POOLING_MEAN, VKF_POOLING_COUNT);
    const bool narrow = vkf__case_pick(c, 0, 4) == 1;
    const uint32_t dim = vkf__case_size(c, edge, narrow ? 70 : 1100), gap = vkf__case_pick(c, 0, 3);
    vkf__pool_args args = {
        .label = "pool",
        .batch = vkf__case_size(c, 3, 4),
        .len = vkf__case_size(c, 11, narrow ? 1000 : 40),
        .dim = dim,
        .first = vkf__case_pick(c, 0, 4),
        .out_row = dim + gap,
        .pooling = (vkf_pooling)vkf__case_constant(c, VKF_POOL_SPEC_MODE, mode),
        .normalise = vkf__case_constant(c, VKF_POOL_SPEC_NORMALISE, vkf__case_flip(c, true)) > 0,
    };
    args.x = vkf__case_floats(c, c->variant->kernel->types[0], (uint64_t)args.batch * args.len * dim);
    args.lengths = vkf__case_ints(c, -1, (int32_t)args.len + 2, args.batch);
    args.out = vkf__case_floats(c, VKF_DTYPE_F32, (uint64_t)args.batch * args.out_row);
    vkf__case_extremes(c, &args.x);
    return vkf__case_run(c, &args, 1e-5, "(%u, %u, %u) from %u on, pooling %d%s", args.batch, args.len, dim, args.first,
                         (int)args.pooling, args.normalise ? ", normalised" : "");
}

static vkf_status cases(vkf__cases *c)
{
    for (uint32_t i = 0; i < VKF_CASE_ROW_LENGTHS; i++)
        VKF_RETURN_IF_ERROR(cases_of(c, vkf__case_row_length(c, i)));
    return VKF_OK;
}

const vkf__op_info vkf__op_pool = {
    .params_bytes = sizeof(struct vkf_pool_params),
    .account = account,
    .output = output,
    .emit = emit,
    .reference = reference,
    .cases = cases,
    VKF_OP_PROBLEMS(vkf__typical_rows),
};
