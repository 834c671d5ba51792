// The emitter of a norm's gradients, and its operator's row. Rows that a subgroup can hold in registers are read once;
// other rows, and devices without large enough subgroups, take one pass for each gradient.
#include "op/norm_gradients.h"

#include "base/size.h"
#include "op/column_sum.h"
#include "op/layer_norm_grad.h"
#include "op/operators.h"
#include "op/rows.h"
#include "shared/norm_gradients.h"

// Groups of rows: enough to keep every core busy, and of few enough rows for sums one after the other. On a device of
// few cores the groups of a usual batch are added up in one step.
#define LEAST_GROUPS 32u
#define GROUPS_OF_A_CORE 8u
#define MOST_ROWS 512u

#define LEAST_COLUMNS 4u // of an invocation

static uint32_t group_rows_of(const vkf__work *work, uint32_t rows)
{
    const vkf__selector selector = vkf__work_selector(work);
    const uint64_t busy = (uint64_t)GROUPS_OF_A_CORE * vkf__selector_cores(&selector);
    const uint64_t short_sums = vkf__div_up_u32(rows, MOST_ROWS);
    uint64_t groups = LEAST_GROUPS;
    groups = groups < busy ? busy : groups;
    groups = groups < short_sums ? short_sums : groups;
    return (uint32_t)((rows + groups - 1) / groups);
}

static vkf_status emit_pass(vkf__work *work, const vkf__norm_gradients_args *args, uint32_t group_rows,
                            const vkf__span *sums)
{
    const vkf_dtype types[VKF_KERNEL_MAX_TYPES] = {args->x.dtype};
    const vkf__problem problem = {.m = args->rows, .n = args->dim};
    const uint32_t flags[VKF_KERNEL_MAX_SPEC] = {
        [VKF_NORM_GRADIENTS_SPEC_RMS] = args->rms,
        [VKF_NORM_GRADIENTS_SPEC_HAS_BIAS] = vkf__present(&args->dbias.out),
        [VKF_NORM_GRADIENTS_SPEC_EACH] =
            vkf__held_columns(&work->context->device.plan.caps, args->dim, LEAST_COLUMNS, VKF_NORM_GRADIENTS_MOST_EACH),
    };
    const struct vkf_norm_gradients_params params = {
        .rows = args->rows,
        .group_rows = group_rows,
        .dim = args->dim,
        .eps = args->eps,
        .accumulate = args->accumulate,
    };
    vkf__dispatch dispatch = {
        .label = args->label,
        .flags = flags,
        .bindings = {{args->x, false}, {args->dx, true}, {args->weight, false}, {args->dout, false}, {*sums, true}},
        .params = &params,
    };
    VKF_RETURN_IF_ERROR(vkf__work_select(work, VKF_OP_NORM_GRADIENTS, types, &problem, &dispatch.variant));
    vkf__grid_rows(work, &dispatch.variant, vkf__div_up_u32(args->rows, group_rows), dispatch.grid);
    return vkf__work_dispatch(work, &dispatch);
}

// Of columns of the groups' sums, from the given one on.
static vkf_status emit_sum(vkf__work *work, const char *label, const vkf__span *sums, uint32_t groups, uint32_t x_row,
                           uint32_t first, const vkf__norm_gradient *to)
{
    const uint32_t cols = (uint32_t)(to->out.size_bytes / sizeof(float));
    const vkf__column_sum_args sum = {
        .label = label,
        .x = vkf__span_part(sums, first, (uint64_t)(groups > 0 ? groups - 1 : 0) * x_row + cols),
        .out = to->out,
        .x_row = x_row,
        .rows = groups,
        .cols = cols,
        .accumulate = to->accumulate,
    };
    return vkf__emit_column_sum(work, &sum);
}

// The bias's gradient lies behind the weight's, where the model has both so.
static bool are_one(const vkf__norm_gradient *dweight, const vkf__norm_gradient *dbias)
{
    return vkf__span_follows(&dweight->out, &dbias->out) && dweight->accumulate == dbias->accumulate;
}

static vkf_status emit_at_once(vkf__work *work, const vkf__norm_gradients_args *args)
{
    const bool has_bias = vkf__present(&args->dbias.out);
    const uint32_t width = has_bias ? 2 * args->dim : args->dim;
    uint64_t group_rows = 0;
    vkf__span sums; // (groups, width)
    VKF_RETURN_IF_ERROR(vkf__work_decide(work, group_rows_of(work, args->rows), &group_rows));
    if (group_rows == 0)
        group_rows = 1;
    const uint32_t groups = vkf__div_up_u32(args->rows, (uint32_t)group_rows);
    VKF_RETURN_IF_ERROR(vkf__work_temp(work, VKF_DTYPE_F32, (uint64_t)groups * width, &sums));
    VKF_RETURN_IF_ERROR(emit_pass(work, args, (uint32_t)group_rows, &sums));
    if (has_bias && are_one(&args->dweight, &args->dbias)) {
        const vkf__norm_gradient both = {vkf__span_joined(&args->dweight.out, &args->dbias.out),
                                         args->dweight.accumulate};
        return emit_sum(work, "norm_gradient", &sums, groups, width, 0, &both);
    }
    VKF_RETURN_IF_ERROR(emit_sum(work, "norm_weight_grad", &sums, groups, width, 0, &args->dweight));
    return has_bias ? emit_sum(work, "norm_bias_grad", &sums, groups, width, args->dim, &args->dbias) : VKF_OK;
}

static bool at_once(const vkf__work *work, const vkf__norm_gradients_args *args)
{
    const vkf_dtype types[VKF_KERNEL_MAX_TYPES] = {args->x.dtype};
    const vkf__problem problem = {.m = args->rows, .n = args->dim};
    if (!vkf__present(&args->weight) || !vkf__present(&args->dweight.out))
        return false;
    return (work->trial && work->trial->kernel->op == VKF_OP_NORM_GRADIENTS) ||
           vkf__work_has_kernel(work, VKF_OP_NORM_GRADIENTS, types, &problem);
}

static vkf_status emit_bias(vkf__work *work, const vkf__norm_gradients_args *args)
{
    const vkf__column_sum_args sum = {
        .label = "norm_bias_grad",
        .x = args->dout,
        .out = args->dbias.out,
        .rows = args->rows,
        .cols = args->dim,
        .accumulate = args->dbias.accumulate,
    };
    return vkf__emit_column_sum(work, &sum);
}

static vkf_status emit_weight(vkf__work *work, const vkf__norm_gradients_args *args, const vkf__span *stats)
{
    const vkf__column_sum_args sum = {
        .label = "norm_weight_grad",
        .x = args->dout,
        .normed = args->x,
        .stats = *stats,
        .out = args->dweight.out,
        .rows = args->rows,
        .cols = args->dim,
        .accumulate = args->dweight.accumulate,
    };
    return vkf__emit_column_sum(work, &sum);
}

static vkf_status emit_one_by_one(vkf__work *work, const vkf__norm_gradients_args *args)
{
    const bool has_weight = vkf__present(&args->dweight.out);
    vkf__layer_norm_grad_args input = {
        .label = args->label,
        .x = args->x,
        .weight = args->weight,
        .dout = args->dout,
        .dx = args->dx,
        .rows = args->rows,
        .dim = args->dim,
        .eps = args->eps,
        .rms = args->rms,
        .accumulate = args->accumulate,
    };
    if (has_weight)
        VKF_RETURN_IF_ERROR(vkf__work_temp(work, VKF_DTYPE_F32, 2 * (uint64_t)args->rows, &input.stats));
    if (vkf__present(&args->dbias.out))
        VKF_RETURN_IF_ERROR(emit_bias(work, args));
    VKF_RETURN_IF_ERROR(vkf__emit_layer_norm_grad(work, &input));
    return has_weight ? emit_weight(work, args, &input.stats) : VKF_OK;
}

vkf_status vkf__emit_norm_gradients(vkf__work *work, const vkf__norm_gradients_args *args)
{
    uint64_t together = 0;
    vkf__norm_gradients_args all = *args;
    if (!vkf__present(&args->dx) && !vkf__present(&args->dweight.out))
        return vkf__present(&args->dbias.out) ? emit_bias(work, args) : VKF_OK;
    // The pass that sums for the weight writes dx, whether or not anybody asks for it.
    if (!vkf__present(&args->dx))
        VKF_RETURN_IF_ERROR(vkf__work_temp(work, VKF_DTYPE_F32, (uint64_t)args->rows * args->dim, &all.dx));
    VKF_RETURN_IF_ERROR(vkf__work_decide(work, at_once(work, args), &together));
    return together ? emit_at_once(work, &all) : emit_one_by_one(work, &all);
}

// Fourteen operations per element as in layer_norm_grad, five more for the sums.
static vkf__account account(const vkf__dispatched *dispatched)
{
    const struct vkf_norm_gradients_params *p = dispatched->params;
    const vkf_dtype x = dispatched->kernel->types[0];
    const double elements = (double)p->rows * p->dim;
    const double sums = (dispatched->spec[VKF_NORM_GRADIENTS_SPEC_HAS_BIAS] != 0 ? 2.0 : 1.0) * p->dim;
    vkf__account taken = vkf__account_elementwise(elements, 19, x, x);
    taken.bytes_read *= p->accumulate ? 3 : 2;
    taken.bytes_read += p->rows > 0 ? vkf__stored_bytes(p->dim, x) : 0;
    taken.bytes_written += 4 * sums * vkf__div_up_u32(p->rows, p->group_rows);
    return taken;
}

static bool output(const vkf__dispatched *dispatched, vkf__extent *out_extent)
{
    const struct vkf_norm_gradients_params *p = dispatched->params;
    *out_extent =
        vkf__extent_rows(VKF_NORM_GRADIENTS_BINDING_DX, dispatched->kernel->types[0], p->rows, p->dim, p->dim);
    return true;
}

// No pipeline is made ahead, because only training asks for one.
static const vkf__typical_problem problems[] = {
    {.label = "32 columns", .problem = {.m = 512, .n = 32}},
    {.label = "256", .problem = {.m = 512, .n = 256}},
};

const vkf__op_info vkf__op_norm_gradients = {
    .params_bytes = sizeof(struct vkf_norm_gradients_params),
    .account = account,
    .output = output,
    VKF_OP_PROBLEMS(problems),
    .usual = {{VKF_NORM_GRADIENTS_SPEC_HAS_BIAS, 1}, {VKF_NORM_GRADIENTS_SPEC_EACH, 8}},
};
