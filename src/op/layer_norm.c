// The emitter of layer and RMS normalisation, and its operators' rows, with and without a residual.
#include "op/layer_norm.h"

#include "op/copy.h"
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

const vkf__op_info vkf__op_layer_norm = {
    .params_bytes = sizeof(struct vkf_layer_norm_params),
    .account = account,
    .output = output,
    VKF_OP_PROBLEMS(vkf__typical_rows),
    .usual = {{VKF_LAYER_NORM_SPEC_HAS_WEIGHT, 1}, {VKF_LAYER_NORM_SPEC_HAS_BIAS, 1}},
};

const vkf__op_info vkf__op_layer_norm_residual = {
    .params_bytes = sizeof(struct vkf_layer_norm_params),
    .account = account,
    .output = output,
    VKF_OP_PROBLEMS(vkf__typical_rows),
    .usual = {{VKF_LAYER_NORM_SPEC_HAS_WEIGHT, 1}, {VKF_LAYER_NORM_SPEC_HAS_BIAS, 1}},
};
