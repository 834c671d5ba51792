#include "op/permute.h"

#include "op/flat.h"
#include "shared/permute.h"

vkf_status vkf__emit_permute(vkf__work *work, const vkf__permute_args *args)
{
    struct vkf_permute_params params = {.rows = args->rows, .cols = args->cols, .depth = args->depth};
    const vkf__flat_args flat = {
        .label = args->label,
        .op = VKF_OP_PERMUTE,
        .types = {args->x.dtype},
        .bindings = {{args->x, false}, {args->out, true}},
        .params = &params,
        .count = {args->batch, args->rows, args->cols, args->depth},
        .factors = 4,
        .out_count = &params.count,
    };
    return vkf__emit_flat(work, &flat);
}
