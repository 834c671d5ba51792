// The emitter of cross entropy, the check of its labels, and its operator's row.
#include "op/train/cross_entropy.h"

#include <math.h>

#include "op/cases.h"
#include "op/execution.h"
#include "op/operators.h"
#include "shared/cross_entropy.h"

vkf_status vkf__check_labels(const vkf__host *host, const int32_t *labels, uint32_t rows, uint32_t cols,
                             int32_t ignored, uint32_t *out_count)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < rows; i++) {
        if (labels[i] == ignored)
            continue;
        if (labels[i] < 0 || (uint32_t)labels[i] >= cols)
            return vkf__fail(host, VKF_ERROR_INVALID_ARGUMENT,
                             "labels[%u] is %d: it has to be below %u, or %d for a row that does not count", i,
                             labels[i], cols, ignored);
        count++;
    }
    *out_count = count;
    return VKF_OK;
}

static vkf_status check_size(const vkf__work *work, const vkf__cross_entropy_args *args)
{
    const vkf__host *host = work->context->device.host;
    if (args->cols > VKF_CROSS_ENTROPY_MOST_COLS)
        return vkf__fail(host, VKF_ERROR_TOO_LARGE, "%s.%s: %u columns, more than %u", work->name, args->label,
                         args->cols, VKF_CROSS_ENTROPY_MOST_COLS);
    if ((uint64_t)args->rows * args->cols > UINT32_MAX)
        return vkf__fail(host, VKF_ERROR_TOO_LARGE, "%s.%s: more than 2^32 logits", work->name, args->label);
    return VKF_OK;
}

vkf_status vkf__emit_cross_entropy(vkf__work *work, const vkf__cross_entropy_args *args)
{
    vkf__variant variant;
    const vkf_dtype types[VKF_KERNEL_MAX_TYPES] = {args->logits.dtype};
    const vkf__problem problem = {.m = args->rows, .n = args->cols};
    VKF_RETURN_IF_ERROR(check_size(work, args));
    VKF_RETURN_IF_ERROR(vkf__work_select(work, VKF_OP_CROSS_ENTROPY, types, &problem, &variant));
    const uint32_t flags[VKF_KERNEL_MAX_SPEC] = {
        [VKF_CROSS_ENTROPY_SPEC_HAS_GRADIENT] = vkf__present(&args->gradient),
    };
    const struct vkf_cross_entropy_params params = {
        .rows = args->rows,
        .cols = args->cols,
        .ignored = args->ignored,
        .smoothing = args->smoothing,
        .factor = args->factor,
    };
    vkf__dispatch dispatch = {
        .label = args->label,
        .variant = variant,
        .flags = flags,
        .bindings = {{args->loss, true}, {args->labels, false}, {args->logits, false}, {args->gradient, true}},
        .params = &params,
    };
    vkf__grid_flat(work, args->rows, dispatch.grid);
    return vkf__work_dispatch(work, &dispatch);
}

static bool has_gradient(const vkf__dispatched *dispatched)
{
    return dispatched->spec[VKF_CROSS_ENTROPY_SPEC_HAS_GRADIENT] != 0;
}

// Three operations per logit for the sum of exp(), and four for the gradient, which computes exp() again.
static vkf__account account(const vkf__dispatched *dispatched)
{
    const struct vkf_cross_entropy_params *p = dispatched->params;
    const double logits = (double)p->rows * p->cols, rows = p->rows;
    const bool gradient = has_gradient(dispatched);
    return (vkf__account){
        .flops = logits * (gradient ? 7 : 3),
        .bytes_read = 4 * (logits + rows),
        .bytes_written = 4 * (rows + (gradient ? logits : 0)),
    };
}

static bool output(const vkf__dispatched *dispatched, vkf__extent *out_extent)
{
    const struct vkf_cross_entropy_params *p = dispatched->params;
    *out_extent = has_gradient(dispatched)
                      ? vkf__extent_rows(VKF_CROSS_ENTROPY_BINDING_GRADIENT, VKF_DTYPE_F32, p->rows, p->cols, p->cols)
                      : vkf__extent_flat(VKF_CROSS_ENTROPY_BINDING_LOSS, VKF_DTYPE_F32, p->rows);
    return true;
}

static const vkf__typical_problem problems[] = {
    {.label = "1024 columns", .problem = {.m = 512, .n = 1024}},
    {.label = "50257", .problem = {.m = 512, .n = 50257}},
};

static vkf_status emit(vkf__work *work, const void *args)
{
    return vkf__emit_cross_entropy(work, args);
}

static double logit_of(const vkf__execution *e, uint64_t row, uint64_t col)
{
    const struct vkf_cross_entropy_params *p = e->params;
    return vkf__load(e, VKF_CROSS_ENTROPY_BINDING_LOGITS, row * p->cols + col);
}

static void store_gradient(const vkf__execution *e, uint64_t row, uint64_t col, double value)
{
    const struct vkf_cross_entropy_params *p = e->params;
    if (e->spec[VKF_CROSS_ENTROPY_SPEC_HAS_GRADIENT])
        vkf__store(e, VKF_CROSS_ENTROPY_BINDING_GRADIENT, row * p->cols + col, value);
}

// The logarithm of the sum of exponentials; NaN where a logit is NaN or infinite, or all are minus infinity.
static double log_sum_of(const vkf__execution *e, uint64_t row)
{
    const struct vkf_cross_entropy_params *p = e->params;
    double peak = -INFINITY, sum = 0;
    for (uint64_t col = 0; col < p->cols; col++)
        peak = fmax(peak, logit_of(e, row, col));
    for (uint64_t col = 0; col < p->cols; col++)
        sum += exp(logit_of(e, row, col) - peak);
    return peak + log(sum);
}

static void measure_row(const vkf__execution *e, uint64_t row, uint64_t label)
{
    const struct vkf_cross_entropy_params *p = e->params;
    const double log_sum = log_sum_of(e, row), smoothing = (double)p->smoothing, spread = smoothing / p->cols;
    double loss = isnan(log_sum) ? NAN : (1 - smoothing) * (log_sum - logit_of(e, row, label));
    for (uint64_t col = 0; col < p->cols && smoothing != 0; col++)
        loss += spread * (log_sum - logit_of(e, row, col));
    vkf__store(e, VKF_CROSS_ENTROPY_BINDING_LOSS, row, loss);
    for (uint64_t col = 0; col < p->cols; col++) {
        const double own = col == label ? 1 - smoothing : 0;
        store_gradient(e, row, col, (double)p->factor * (exp(logit_of(e, row, col) - log_sum) - spread - own));
    }
}

static vkf_status reference(const vkf__execution *e)
{
    const struct vkf_cross_entropy_params *p = e->params;
    for (uint64_t row = 0; row < p->rows; row++) {
        const int32_t label = (int32_t)vkf__load_word(e, VKF_CROSS_ENTROPY_BINDING_LABELS, row);
        if (label != p->ignored && label >= 0 && (uint32_t)label < p->cols) {
            measure_row(e, row, (uint32_t)label);
            continue;
        }
        const double settled = label == p->ignored ? 0 : NAN;
        vkf__store(e, VKF_CROSS_ENTROPY_BINDING_LOSS, row, settled);
        for (uint64_t col = 0; col < p->cols; col++)
            store_gradient(e, row, col, settled);
    }
    return VKF_OK;
}

static vkf_status cases_of(vkf__cases *c, uint32_t edge)
{
    static const float smoothings[] = {0.125f, 0, 1};
    const bool gradient = vkf__case_constant(c, VKF_CROSS_ENTROPY_SPEC_HAS_GRADIENT, vkf__case_flip(c, true));
    vkf__cross_entropy_args args = {
        .label = "cross_entropy",
        .rows = vkf__case_size(c, 4, 7),
        .cols = vkf__case_size(c, edge, 9000),
        .ignored = vkf__case_flip(c, true) ? -100 : 0,
        .smoothing = smoothings[vkf__case_pick(c, 0, sizeof smoothings / sizeof smoothings[0])],
        .factor = vkf__case_factor(c, 0.5f),
    };
    const uint64_t count = (uint64_t)args.rows * args.cols;
    const bool in_place = vkf__case_flip(c, false);
    args.logits = vkf__case_floats(c, VKF_DTYPE_F32, count);
    args.labels = vkf__case_ints(c, -1, (int32_t)args.cols + 1, args.rows);
    args.loss = vkf__case_floats(c, VKF_DTYPE_F32, args.rows);
    args.gradient = in_place ? args.logits : vkf__case_floats(c, VKF_DTYPE_F32, count);
    if (!gradient)
        args.gradient = (vkf__span){0};
    int32_t *labels = vkf__case_bytes(c, &args.labels);
    labels[0] = (int32_t)args.cols - 1;
    labels[args.rows - 1] = args.rows > 1 ? args.ignored : labels[0];
    vkf__case_extremes(c, &args.logits);
    // Logits lie within 3.5 of each other, where Vulkan grants exp() 10 units in the last place; others count for
    // nothing.
    return vkf__case_run(c, &args, 2.5e-6, "(%u, %u)%s, smoothing %g", args.rows, args.cols,
                         gradient ? " with the gradient" : "", (double)args.smoothing);
}

static vkf_status cases(vkf__cases *c)
{
    const uint32_t size = c->variant->config->local_size;
    const uint32_t lengths[] = {1, 13, size - 1, size + 1, 9 * size + 7};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++)
        VKF_RETURN_IF_ERROR(cases_of(c, lengths[i]));
    return VKF_OK;
}

const vkf__op_info vkf__op_cross_entropy = {
    .params_bytes = sizeof(struct vkf_cross_entropy_params),
    .account = account,
    .output = output,
    .emit = emit,
    .reference = reference,
    .cases = cases,
    VKF_OP_PROBLEMS(problems),
    .usual = {{VKF_CROSS_ENTROPY_SPEC_HAS_GRADIENT, 1}},
};
