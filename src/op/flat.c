#include "op/flat.h"

#include "base/size.h"

vkf_status vkf__emit_flat(vkf__work *work, const vkf__flat_args *args)
{
    vkf_status status = VKF_OK;
    vkf__variant variant;
    uint64_t count = 0;
    if (!vkf__product_u64(args->count, args->factors, &count) || count > UINT32_MAX)
        return vkf__fail(work->context->device.host, VKF_ERROR_TOO_LARGE, "%s.%s: more than 2^32 elements", work->name,
                         args->label);
    const vkf__problem problem = {.m = (uint32_t)count};
    VKF_TRY(vkf__work_select(work, args->op, args->types, &problem, &variant));
    if (args->out_count)
        *args->out_count = (uint32_t)count;
    vkf__dispatch dispatch = {
        .label = args->label,
        .variant = variant,
        .flags = args->flags,
        .params = args->params,
    };
    for (uint32_t i = 0; i < VKF_KERNEL_MAX_OPERANDS; i++)
        dispatch.bindings[i] = args->bindings[i];
    vkf__grid_flat(
        work, vkf__div_up_u32((uint32_t)count, vkf__variant_local_size(&work->context->device.plan.caps, &variant)),
        dispatch.grid);
    VKF_TRY(vkf__work_dispatch(work, &dispatch));
fail:
    return status;
}
