// The emitter of a norm's gradients, and its operator's row. Rows that a subgroup can hold in registers are read once;
// other rows, and devices without large enough subgroups, take one pass for each gradient.
#include "op/train/norm_gradients.h"

#include <math.h>
#include <string.h>

#include "base/size.h"
#include "op/cases.h"
#include "op/execution.h"
#include "op/operators.h"
#include "op/rows.h"
#include "op/train/column_sum.h"
#include "op/train/layer_norm_grad.h"
#include "shared/layer_norm_grad.h"
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

// Sums of columns of the groups' sums, from the given one on.
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

static vkf_status emit(vkf__work *work, const void *args)
{
    return vkf__emit_norm_gradients(work, args);
}

_Static_assert(VKF_NORM_GRADIENTS_BINDING_X == VKF_LAYER_NORM_GRAD_BINDING_X &&
                   VKF_NORM_GRADIENTS_BINDING_DX == VKF_LAYER_NORM_GRAD_BINDING_DX &&
                   VKF_NORM_GRADIENTS_BINDING_WEIGHT == VKF_LAYER_NORM_GRAD_BINDING_WEIGHT &&
                   VKF_NORM_GRADIENTS_BINDING_DOUT == VKF_LAYER_NORM_GRAD_BINDING_DOUT,
               "rows are read as those of layer_norm_grad");

// Adds a row's part of the gradients of the weight and of the bias, (2, dim).
static void add_row(const vkf__execution *e, const vkf__norm_row *row, double *sums)
{
    for (uint32_t col = 0; col < row->dim; col++) {
        const double dout = vkf__load(e, VKF_NORM_GRADIENTS_BINDING_DOUT, row->first + col);
        sums[col] += dout != 0 ? dout * vkf__norm_row_value(e, row, col) : 0;
        sums[row->dim + col] += dout;
    }
}

static vkf_status reference(const vkf__execution *e)
{
    const struct vkf_norm_gradients_params *p = e->params;
    const uint64_t width = (e->spec[VKF_NORM_GRADIENTS_SPEC_HAS_BIAS] ? 2 : 1) * (uint64_t)p->dim;
    double *sums = NULL;
    VKF_ALLOC_OR_RETURN(e->host, sums, 2 * (size_t)p->dim);
    for (uint64_t i = 0; i < p->rows; i++) {
        const vkf__norm_row row = vkf__norm_row_at(e, i, p->dim, p->eps, e->spec[VKF_NORM_GRADIENTS_SPEC_RMS]);
        if (i % p->group_rows == 0)
            memset(sums, 0, 2 * p->dim * sizeof *sums);
        add_row(e, &row, sums);
        vkf__norm_row_gradient(e, &row, p->accumulate);
        for (uint64_t at = 0; at < width; at++)
            vkf__store(e, VKF_NORM_GRADIENTS_BINDING_SUMS, i / p->group_rows * width + at, sums[at]);
    }
    vkf__free(e->host, sums);
    return VKF_OK;
}

static vkf_status cases_of(vkf__cases *c, const uint32_t edge[2], bool rms)
{
    const vkf_dtype type = c->variant->kernel->types[0];
    const bool bias = vkf__case_constant(c, VKF_NORM_GRADIENTS_SPEC_HAS_BIAS, vkf__case_flip(c, true));
    const bool apart = vkf__case_flip(c, false);
    vkf__norm_gradients_args args = {
        .label = "norm_gradients",
        .rows = vkf__case_size(c, edge[0], 400), // more than groups: the last one may be shorter
        .dim = vkf__case_size(c, edge[1], 512),
        .eps = vkf__case_norm_eps(c),
        .rms = vkf__case_flip(c, rms),
        .accumulate = vkf__case_flip(c, true),
    };
    const uint64_t count = (uint64_t)args.rows * args.dim;
    const vkf__span sums = vkf__case_floats(c, VKF_DTYPE_F32, 2 * (uint64_t)args.dim);
    args.dweight = (vkf__norm_gradient){vkf__span_part(&sums, 0, args.dim), vkf__case_flip(c, true)};
    args.dbias = (vkf__norm_gradient){vkf__span_part(&sums, args.dim, args.dim), vkf__case_flip(c, true)};
    if (apart || !bias)
        args.dbias.out = vkf__case_floats(c, VKF_DTYPE_F32, bias ? args.dim : 0);
    args.x = vkf__case_floats(c, type, count);
    args.weight = vkf__case_floats(c, type, args.dim);
    args.dout = vkf__case_floats(c, type, count);
    args.dx = vkf__case_floats(c, type, vkf__case_flip(c, true) ? count : 0);
    if (!args.accumulate)
        vkf__case_blank(c, &args.dx);
    vkf__case_offset(c, &args.x);
    // A row without a gradient adds nothing, whatever x has there.
    if (args.rows > 1) {
        memset(vkf__case_bytes(c, &args.dout), 0, args.dim * vkf_dtype_size(type));
        vkf__element_set(type, vkf__case_bytes(c, &args.x), NAN);
    }
    return vkf__case_run(c, &args, vkf__case_close(type), "%s(%u, %u)%s%s, eps %g", args.rms ? "RMS of " : "",
                         args.rows, args.dim, bias ? " with a bias" : "", args.accumulate ? ", added" : "",
                         (double)args.eps);
}

// Rows as long as what subgroups of several sizes hold, and shorter ones; groups of one row and of several.
static vkf_status cases(vkf__cases *c)
{
    static const uint32_t shapes[][2] = {{1, 1}, {3, 13}, {3, 33}, {70, 32}, {70, 64}, {70, 128}, {70, 512}};
    for (size_t i = 0; i < 2 * sizeof shapes / sizeof shapes[0]; i++)
        VKF_RETURN_IF_ERROR(cases_of(c, shapes[i / 2], i % 2 == 1));
    return VKF_OK;
}

const vkf__op_info vkf__op_norm_gradients = {
    .params_bytes = sizeof(struct vkf_norm_gradients_params),
    .account = account,
    .output = output,
    .emit = emit,
    .reference = reference,
    .cases = cases,
    VKF_OP_PROBLEMS(problems),
    .usual = {{VKF_NORM_GRADIENTS_SPEC_HAS_BIAS, 1}, {VKF_NORM_GRADIENTS_SPEC_EACH, 8}},
};
