// Selects, sizes and dispatches a kernel with one invocation per element.
#include "op/flat.h"

#include "base/size.h"
#include "shared/types.h"

// The number of workgroups: enough for all elements, or for the parts of all rows.
static uint64_t count_groups(const vkf__flat_args *args, uint32_t count, uint32_t local_size)
{
    uint32_t width = args->parts ? (uint32_t)args->count[args->factors - 1] : 0;
    if (width == 0)
        return vkf__div_up_u32(count, local_size);
    return (uint64_t)(count / width) * vkf__div_up_u32(width, VKF_PART_EACH * local_size);
}

vkf_status vkf__emit_flat(vkf__work *work, const vkf__flat_args *args)
{
    vkf__variant variant;
    uint64_t count = 0;
    if (!vkf__product_u64(args->count, args->factors, &count) || count > UINT32_MAX)
        return vkf__fail(work->context->device.host, VKF_ERROR_TOO_LARGE, "%s.%s: more than 2^32 elements", work->name,
                         args->label);
    const vkf__problem problem = {
        .m = (uint32_t)count, .n = args->columns, .wants = args->normed ? VKF_FORM_NORMED : 0};
    VKF_RETURN_IF_ERROR(vkf__work_select(work, args->op, args->types, &problem, &variant));
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
    uint32_t local_size = vkf__variant_local_size(&work->context->device.plan.caps, &variant);
    vkf__grid_flat(work, count_groups(args, (uint32_t)count, local_size), dispatch.grid);
    return vkf__work_dispatch(work, &dispatch);
}
