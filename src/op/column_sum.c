// The emitter of sums over rows, and its operator's row.
#include "op/column_sum.h"

#include <math.h>

#include "base/size.h"
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

const vkf__op_info vkf__op_column_sum = {
    .params_bytes = sizeof(struct vkf_column_sum_params),
    .account = account,
    .output = output,
    VKF_OP_PROBLEMS(problems),
};
