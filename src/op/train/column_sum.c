// The emitter of sums over rows, and its operator's row.
#include "op/train/column_sum.h"

#include <math.h>

#include "base/size.h"
#include "op/cases.h"
#include "op/execution.h"
#include "op/flat.h"
#include "op/operators.h"
#include "shared/column_sum.h"

// So many rows are summed in one step.
#define FEW_ROWS 32u

// The rows of a group; 0: there are too few for groups. As many as groups, or a little more: then the two steps take
// equally long for an invocation. A buffer of 2^32 bytes has 2^30 rows at most, whose groups stay far below lavapipe's
// limit of 65,535 iterations.
static uint32_t group_rows_of(uint32_t rows)
{
    const uint64_t side = vkf__align_u64((uint64_t)ceil(sqrt((double)rows)), 8);
    if (rows <= FEW_ROWS)
        return 0;
    return side > FEW_ROWS ? (uint32_t)side : FEW_ROWS;
}

static vkf_status emit_sum(vkf__work *work, const vkf__column_sum_args *args, uint32_t group_rows)
{
    const uint32_t flags[VKF_KERNEL_MAX_SPEC] = {[VKF_COLUMN_SUM_SPEC_NORM] = vkf__present(&args->stats)};
    const struct vkf_column_sum_params params = {
        .rows = args->rows,
        .cols = args->cols,
        .x_row = args->x_row > 0 ? args->x_row : args->cols,
        .group_rows = group_rows,
        .accumulate = args->accumulate,
    };
    const vkf__flat_args flat = {
        .label = args->label,
        .op = VKF_OP_COLUMN_SUM,
        .types = {args->x.dtype},
        .bindings = {{args->x, false}, {args->out, true}, {args->normed, false}, {args->stats, false}},
        .flags = flags,
        .params = &params,
        .count = {vkf__div_up_u32(args->rows, group_rows), args->cols},
        .factors = 2,
        .parts = true,
        .columns = args->cols,
    };
    return vkf__emit_flat(work, &flat);
}

static vkf_status emit_groups(vkf__work *work, const vkf__column_sum_args *args, uint32_t group_rows)
{
    const uint32_t groups = vkf__div_up_u32(args->rows, group_rows);
    vkf__span sums; // (groups, cols)
    VKF_RETURN_IF_ERROR(vkf__work_temp(work, VKF_DTYPE_F32, (uint64_t)groups * args->cols, &sums));
    vkf__column_sum_args of_groups = *args;
    of_groups.label = "row_groups";
    of_groups.out = sums;
    of_groups.accumulate = false;
    VKF_RETURN_IF_ERROR(emit_sum(work, &of_groups, group_rows));
    const vkf__column_sum_args whole = {
        .label = args->label,
        .x = sums,
        .out = args->out,
        .rows = groups,
        .cols = args->cols,
        .accumulate = args->accumulate,
    };
    return emit_sum(work, &whole, groups > 0 ? groups : 1);
}

vkf_status vkf__emit_column_sum(vkf__work *work, const vkf__column_sum_args *args)
{
    uint64_t group_rows = 0;
    VKF_RETURN_IF_ERROR(vkf__work_decide(work, group_rows_of(args->rows), &group_rows));
    if (group_rows > 0)
        return emit_groups(work, args, (uint32_t)group_rows);
    return emit_sum(work, args, args->rows > 0 ? args->rows : 1);
}

static vkf__account account(const vkf__dispatched *dispatched)
{
    const struct vkf_column_sum_params *p = dispatched->params;
    const bool norm = dispatched->spec[VKF_COLUMN_SUM_SPEC_NORM] != 0;
    const double elements = (double)p->rows * p->cols;
    const double sums = 4.0 * vkf__div_up_u32(p->rows, p->group_rows) * p->cols;
    const double read = vkf__stored_bytes(elements, dispatched->kernel->types[0]);
    return (vkf__account){elements * (norm ? 4 : 1), read * (norm ? 2 : 1) + (p->accumulate ? sums : 0), sums};
}

static bool output(const vkf__dispatched *dispatched, vkf__extent *out_extent)
{
    const struct vkf_column_sum_params *p = dispatched->params;
    *out_extent = vkf__extent_flat(VKF_COLUMN_SUM_BINDING_OUT, VKF_DTYPE_F32, p->cols);
    return p->rows <= p->group_rows;
}

// No pipeline is made ahead, because only training asks for one.
static const vkf__typical_problem problems[] = {{.label = "any", .problem = {.m = 1u << 16, .n = 512}}};

static vkf_status emit(vkf__work *work, const void *args)
{
    return vkf__emit_column_sum(work, args);
}

static double term_of(const vkf__execution *e, uint64_t row, uint64_t col)
{
    const struct vkf_column_sum_params *p = e->params;
    const double x = vkf__load(e, VKF_COLUMN_SUM_BINDING_X, row * p->x_row + col);
    if (x == 0 || !e->spec[VKF_COLUMN_SUM_SPEC_NORM])
        return x;
    const double distance = vkf__load(e, VKF_COLUMN_SUM_BINDING_NORMED, row * p->x_row + col) -
                            vkf__load(e, VKF_COLUMN_SUM_BINDING_STATS, 2 * row);
    return x * distance * vkf__load(e, VKF_COLUMN_SUM_BINDING_STATS, 2 * row + 1);
}

static vkf_status reference(const vkf__execution *e)
{
    const struct vkf_column_sum_params *p = e->params;
    for (uint64_t begin = 0, group = 0; begin < p->rows; begin += p->group_rows, group++) {
        for (uint64_t col = 0; col < p->cols; col++) {
            const uint64_t at = group * p->cols + col;
            double sum = p->accumulate ? vkf__load(e, VKF_COLUMN_SUM_BINDING_OUT, at) : 0;
            for (uint64_t row = begin; row < begin + p->group_rows && row < p->rows; row++)
                sum += term_of(e, row, col);
            vkf__store(e, VKF_COLUMN_SUM_BINDING_OUT, at, sum);
        }
    }
    return VKF_OK;
}

static vkf_status cases_of(vkf__cases *c, const uint32_t edge[2], bool norm)
{
    const vkf_dtype type = c->variant->kernel->types[0];
    const bool normed = vkf__case_constant(c, VKF_COLUMN_SUM_SPEC_NORM, vkf__case_flip(c, norm));
    vkf__column_sum_args args = {
        .label = "column_sum",
        .rows = vkf__case_size(c, edge[0], 300),
        .cols = vkf__case_size(c, edge[1], 1100),
        .accumulate = vkf__case_flip(c, true),
    };
    args.x_row = args.cols + vkf__case_pick(c, 0, 3);
    const uint64_t count = (uint64_t)args.rows * args.x_row;
    args.x = vkf__case_floats(c, type, count);
    args.out = vkf__case_floats(c, VKF_DTYPE_F32, args.cols);
    if (!args.accumulate)
        vkf__case_blank(c, &args.out);
    args.normed = vkf__case_floats(c, type, normed ? count : 0);
    args.stats = vkf__case_floats(c, VKF_DTYPE_F32, normed ? 2 * (uint64_t)args.rows : 0);
    if (normed)
        vkf__case_extremes(c, &args.stats);
    // Sums are exact in float32, but for those of extremes.
    return vkf__case_run(c, &args, 1e-6, "(%u, %u) in rows of %u%s%s", args.rows, args.cols, args.x_row,
                         normed ? " with a norm" : "", args.accumulate ? ", added" : "");
}

// Few rows and many, which are summed by groups; columns about those of a workgroup.
static vkf_status cases(vkf__cases *c)
{
    const uint32_t width = VKF_PART_EACH * c->variant->config->local_size;
    const uint32_t shapes[][2] = {{1, 1}, {7, width + 1}, {32, 13}, {33, width - 1}, {131, 37}};
    for (size_t i = 0; i < 2 * sizeof shapes / sizeof shapes[0]; i++)
        VKF_RETURN_IF_ERROR(cases_of(c, shapes[i / 2], i % 2 == 1));
    return VKF_OK;
}

const vkf__op_info vkf__op_column_sum = {
    .params_bytes = sizeof(struct vkf_column_sum_params),
    .account = account,
    .output = output,
    .emit = emit,
    .reference = reference,
    .cases = cases,
    VKF_OP_PROBLEMS(problems),
};
