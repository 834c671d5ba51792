#include "op/pool.h"

#include "shared/pool.h"

_Static_assert(VKF_POOL_MEAN == VKF_POOLING_MEAN && VKF_POOL_MEAN_SQRT == VKF_POOLING_MEAN_SQRT &&
                   VKF_POOL_FIRST == VKF_POOLING_FIRST && VKF_POOL_LAST == VKF_POOLING_LAST &&
                   VKF_POOL_MAX == VKF_POOLING_MAX && VKF_POOL_WEIGHTED_MEAN == VKF_POOLING_WEIGHTED_MEAN,
               "the shader takes the values of vkf_pooling");

vkf_status vkf__emit_pool(vkf__work *work, const vkf__pool_args *args)
{
    vkf_status status = VKF_OK;
    vkf__variant variant;
    const vkf_dtype types[VKF_KERNEL_MAX_TYPES] = {args->x.dtype};
    const vkf__problem problem = {.m = args->batch, .n = args->dim};
    VKF_TRY(vkf__work_select(work, VKF_OP_POOL, types, &problem, &variant));
    const uint32_t flags[VKF_KERNEL_MAX_SPEC] = {
        [VKF_POOL_SPEC_MODE] = (uint32_t)args->pooling,
        [VKF_POOL_SPEC_NORMALISE] = args->normalise,
    };
    struct vkf_pool_params params = {
        .batch = args->batch,
        .len = args->len,
        .dim = args->dim,
        .first = args->first,
        .out_stride = args->out_row > 0 ? args->out_row : args->dim,
    };
    vkf__dispatch dispatch = {
        .label = args->label,
        .variant = variant,
        .flags = flags,
        .bindings = {{args->x, false}, {args->lengths, false}, {args->out, true}},
        .params = &params,
    };
    vkf__grid_flat(work, args->batch, dispatch.grid);
    VKF_TRY(vkf__work_dispatch(work, &dispatch));
fail:
    return status;
}
