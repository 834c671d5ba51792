// The emitter of the most probable tokens, and its operator's row.
#include "op/top.h"

#include <assert.h>
#include <math.h>

#include "op/cases.h"
#include "op/execution.h"
#include "op/operators.h"
#include "shared/top.h"

// The output holds ids as floats, which are exact up to this number.
#define MAX_COLS 0x1000000u

vkf_status vkf__emit_top(vkf__work *work, const vkf__top_args *args)
{
    vkf__variant variant;
    assert(args->k <= args->cols);
    if (args->cols > MAX_COLS)
        return vkf__fail(work->context->device.host, VKF_ERROR_TOO_LARGE, "%s.%s: %u tokens to choose from, at most %u",
                         work->name, args->label, args->cols, MAX_COLS);
    const vkf_dtype types[VKF_KERNEL_MAX_TYPES] = {args->x.dtype};
    const vkf__problem problem = {.m = args->rows, .n = args->cols};
    VKF_RETURN_IF_ERROR(vkf__work_select(work, VKF_OP_TOP, types, &problem, &variant));
    const struct vkf_top_params params = {
        .rows = args->rows,
        .cols = args->cols,
        .k = args->k,
        .repetition_penalty = vkf__present(&args->seen) ? args->repetition_penalty : 1.0f,
    };
    vkf__dispatch dispatch = {
        .label = args->label,
        .variant = variant,
        .bindings = {{args->x, false}, {args->seen, false}, {args->out, true}},
        .params = &params,
    };
    vkf__grid_flat(work, args->rows, dispatch.grid);
    return vkf__work_dispatch(work, &dispatch);
}

static vkf__account account(const vkf__dispatched *dispatched)
{
    const struct vkf_top_params *p = dispatched->params;
    return vkf__account_choice(dispatched->kernel, p->rows, p->cols, 8.0 * p->k);
}

// No pipeline is made ahead, because only beam search asks for one.
static const vkf__typical_problem problems[] = {
    {.label = "1000 columns", .problem = {.m = 512, .n = 1000}},
    {.label = "32768", .problem = {.m = 512, .n = 32768}},
};

static vkf_status emit(vkf__work *work, const void *args)
{
    return vkf__emit_top(work, args);
}

// The log-probability of a token, as beam search penalises it.
static double log_probability(const vkf__execution *e, uint64_t row, uint32_t col, double log_sum)
{
    const struct vkf_top_params *p = e->params;
    const double value = vkf__load(e, VKF_TOP_BINDING_X, row * p->cols + col) - log_sum;
    const uint64_t words = (p->cols + 31) / 32;
    const bool seen = p->repetition_penalty != 1.0f &&
                      (vkf__load_word(e, VKF_TOP_BINDING_SEEN, row * words + col / 32) >> col % 32 & 1);
    return seen ? value * p->repetition_penalty : value;
}

// The logarithm of the sum of exponentials; NaN unless the largest logit is finite.
static double log_sum_of(const vkf__execution *e, uint64_t row)
{
    const struct vkf_top_params *p = e->params;
    double peak = -INFINITY, sum = 0;
    for (uint32_t col = 0; col < p->cols; col++) {
        const double x = vkf__load(e, VKF_TOP_BINDING_X, row * p->cols + col);
        peak = isnan(x) || x > peak ? x : peak;
    }
    for (uint32_t col = 0; col < p->cols; col++)
        sum += exp(vkf__load(e, VKF_TOP_BINDING_X, row * p->cols + col) - peak);
    return isfinite(peak) ? peak + log(sum) : NAN;
}

// Writes the first of those that come behind (*last, *last_col) in descending order, and makes it the last one.
static void put_next(const vkf__execution *e, uint64_t row, uint64_t at, double log_sum, double *last,
                     int64_t *last_col)
{
    const struct vkf_top_params *p = e->params;
    double best = 0;
    int64_t best_col = -1;
    for (uint32_t col = 0; col < p->cols; col++) {
        const double value = log_probability(e, row, col, log_sum);
        const bool behind = *last_col < 0 || value < *last || (!(value > *last) && col > *last_col);
        if (behind && (best_col < 0 || value > best)) {
            best = value;
            best_col = col;
        }
    }
    vkf__store(e, VKF_TOP_BINDING_OUT, 2 * at, (double)best_col);
    vkf__store(e, VKF_TOP_BINDING_OUT, 2 * at + 1, best);
    *last = best;
    *last_col = best_col;
}

static vkf_status reference(const vkf__execution *e)
{
    const struct vkf_top_params *p = e->params;
    for (uint64_t row = 0; row < p->rows; row++) {
        const double log_sum = log_sum_of(e, row);
        double last = 0;
        int64_t last_col = -1;
        for (uint64_t i = 0; i < p->k; i++)
            put_next(e, row, row * p->k + i, log_sum, &last, &last_col);
    }
    return VKF_OK;
}

// Rows whose lengths lie around the words of the seen bits and the workgroup's steps.
static vkf_status cases(vkf__cases *c)
{
    const uint32_t lengths[] = {1, 31, 33, 257, 8 * c->variant->config->local_size + 5};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        vkf__top_args args = {
            .label = "top",
            .rows = vkf__case_size(c, 3, 4),
            .cols = vkf__case_size(c, lengths[i], 3000),
            .repetition_penalty = vkf__case_flip(c, true) ? 1.25f : 1.0f,
        };
        args.k = vkf__case_size(c, 9, 16);
        args.k = args.k < args.cols ? args.k : args.cols;
        args.x = vkf__case_floats(c, VKF_DTYPE_F32, (uint64_t)args.rows * args.cols);
        args.seen = vkf__case_ints(c, INT32_MIN, INT32_MAX, (uint64_t)args.rows * ((args.cols + 31) / 32));
        args.out = vkf__case_floats(c, VKF_DTYPE_F32, 2 * (uint64_t)args.rows * args.k);
        vkf__case_extremes(c, &args.x);
        // Ids are so small that the tolerance tells them apart.
        VKF_RETURN_IF_ERROR(vkf__case_run(c, &args, 2e-5, "the first %u of (%u, %u)", args.k, args.rows, args.cols));
    }
    return VKF_OK;
}

// It writes tokens with their scores, and so has no `output`.
const vkf__op_info vkf__op_top = {
    .params_bytes = sizeof(struct vkf_top_params),
    .account = account,
    .emit = emit,
    .reference = reference,
    .cases = cases,
    VKF_OP_PROBLEMS(problems),
};
