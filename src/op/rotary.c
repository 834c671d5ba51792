#include "op/rotary.h"

#include <assert.h>

#include "base/size.h"
#include "op/rows.h"
#include "shared/rotary.h"

static uint32_t weight_flag(const vkf__span *weight)
{
    if (!vkf__present(weight))
        return VKF_ROTARY_WEIGHT_NONE;
    return weight->dtype == VKF_DTYPE_F16    ? VKF_ROTARY_WEIGHT_F16
           : weight->dtype == VKF_DTYPE_BF16 ? VKF_ROTARY_WEIGHT_BF16
                                             : VKF_ROTARY_WEIGHT_F32;
}

vkf_status vkf__emit_rotary(vkf__work *work, const vkf__rotary_args *args)
{
    vkf_status status = VKF_OK;
    vkf__variant variant;
    uint64_t rows = 0;
    assert(args->rotary_dim % 2 == 0 && args->rotary_dim <= args->head_dim);
    if (!vkf__product_u64((const uint64_t[]){args->batch, args->len, args->heads}, 3, &rows) || rows > UINT32_MAX)
        return vkf__fail(work->context->device.host, VKF_ERROR_TOO_LARGE, "%s.%s: more than 2^32 rows", work->name,
                         args->label);
    const vkf_dtype types[VKF_KERNEL_MAX_TYPES] = {args->x.dtype, args->out.dtype};
    const vkf__problem problem = {.m = (uint32_t)rows, .n = args->head_dim};
    VKF_TRY(vkf__work_select(work, VKF_OP_ROTARY, types, &problem, &variant));
    const uint32_t flags[VKF_KERNEL_MAX_SPEC] = {
        [VKF_ROTARY_SPEC_WEIGHT] = weight_flag(&args->weight),
        [VKF_ROTARY_SPEC_HAS_TABLE] = vkf__present(&args->table),
    };
    struct vkf_rotary_params params = {
        .rows = (uint32_t)rows,
        .len = args->len,
        .heads = args->heads,
        .head_dim = args->head_dim,
        .rotary_dim = args->rotary_dim,
        .first_position = args->first_position,
        .x_first = args->x_first,
        .x_batch = args->x_batch,
        .x_row = args->x_row,
        .out_first = args->out_first,
        .out_batch = args->out_batch,
        .out_row = args->out_row,
        .eps = args->eps,
    };
    vkf__dispatch dispatch = {
        .label = args->label,
        .variant = variant,
        .flags = flags,
        .bindings = {{args->x, false}, {args->out, true}, {args->table, false}, {args->weight, false}},
        .params = &params,
    };
    vkf__grid_rows(work, &variant, rows, dispatch.grid);
    VKF_TRY(vkf__work_dispatch(work, &dispatch));
fail:
    return status;
}
