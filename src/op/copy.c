// The emitters of strided copies and of the mean over heads, and their operators' rows.
#include "op/copy.h"

#include "op/flat.h"
#include "op/operators.h"
#include "shared/copy.h"
#include "shared/head_mean.h"

vkf_status vkf__emit_copy(vkf__work *work, const vkf__copy_args *args)
{
    struct vkf_copy_params params = {
        .rows = args->rows,
        .cols = args->cols,
        .x_first = args->x_first,
        .x_outer = args->x_outer,
        .x_row = args->x_row,
        .out_first = args->out_first,
        .out_outer = args->out_outer,
        .out_row = args->out_row,
        .alpha = args->alpha,
        .beta = args->beta,
    };
    const vkf__flat_args flat = {
        .label = args->label,
        .op = VKF_OP_COPY,
        .types = {args->x.dtype, args->out.dtype},
        .bindings = {{args->x, false}, {args->out, true}},
        .params = &params,
        .count = {args->outer, args->rows, args->cols},
        .factors = 3,
        .out_count = &params.count,
    };
    return vkf__emit_flat(work, &flat);
}

vkf_status vkf__emit_head_mean(vkf__work *work, const vkf__head_mean_args *args)
{
    struct vkf_head_mean_params params = {.heads = args->heads, .plane = args->plane};
    const vkf__flat_args flat = {
        .label = args->label,
        .op = VKF_OP_HEAD_MEAN,
        .types = {VKF_DTYPE_F32},
        .bindings = {{args->x, false}, {args->out, true}},
        .params = &params,
        .count = {args->batch, args->plane},
        .factors = 2,
        .out_count = &params.count,
    };
    return vkf__emit_flat(work, &flat);
}

static vkf__account copy_account(const vkf__dispatched *dispatched)
{
    const struct vkf_copy_params *p = dispatched->params;
    const vkf_dtype *types = dispatched->kernel->types;
    vkf__account moved = vkf__account_elementwise(p->count, 1, types[0], types[1]);
    if (p->beta != 0.0f)
        moved.bytes_read += moved.bytes_written;
    return moved;
}

static bool copy_output(const vkf__dispatched *dispatched, vkf__extent *out_extent)
{
    const struct vkf_copy_params *p = dispatched->params;
    const uint32_t plane = p->rows * p->cols;
    *out_extent = (vkf__extent){
        .operand = VKF_COPY_BINDING_OUT - 1,
        .dtype = dispatched->kernel->types[1],
        .first = p->out_first,
        .counts = {1, plane > 0 ? p->count / plane : 0, p->rows, p->cols},
        .strides = {0, p->out_outer, p->out_row, 1},
    };
    return true;
}

static vkf__account head_mean_account(const vkf__dispatched *dispatched)
{
    const struct vkf_head_mean_params *p = dispatched->params;
    return (vkf__account){(double)p->count * p->heads, 4.0 * p->count * p->heads, 4.0 * p->count};
}

static bool head_mean_output(const vkf__dispatched *dispatched, vkf__extent *out_extent)
{
    const struct vkf_head_mean_params *p = dispatched->params;
    *out_extent = vkf__extent_flat(VKF_HEAD_MEAN_BINDING_OUT, VKF_DTYPE_F32, p->count);
    return true;
}

static const vkf__typical_problem problems[] = {{.label = "any", .problem = {.m = 1u << 16}, .ahead = true}};

const vkf__op_info vkf__op_copy = {
    .params_bytes = sizeof(struct vkf_copy_params),
    .account = copy_account,
    .output = copy_output,
    VKF_OP_PROBLEMS(problems),
};

const vkf__op_info vkf__op_head_mean = {
    .params_bytes = sizeof(struct vkf_head_mean_params),
    .account = head_mean_account,
    .output = head_mean_output,
    VKF_OP_PROBLEMS(problems),
};
