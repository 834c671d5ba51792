#include "op/copy.h"

#include "op/flat.h"
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
