// The emitter of cross entropy, the check of its labels, and its operator's row.
#include "op/cross_entropy.h"

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

const vkf__op_info vkf__op_cross_entropy = {
    .params_bytes = sizeof(struct vkf_cross_entropy_params),
    .account = account,
    .output = output,
    VKF_OP_PROBLEMS(problems),
    .usual = {{VKF_CROSS_ENTROPY_SPEC_HAS_GRADIENT, 1}},
};
