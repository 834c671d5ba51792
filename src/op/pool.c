// The emitter of pooling, and its operator's row.
#include "op/pool.h"

#include "op/operators.h"
#include "shared/pool.h"

_Static_assert(VKF_POOL_MEAN == VKF_POOLING_MEAN && VKF_POOL_MEAN_SQRT == VKF_POOLING_MEAN_SQRT &&
                   VKF_POOL_FIRST == VKF_POOLING_FIRST && VKF_POOL_LAST == VKF_POOLING_LAST &&
                   VKF_POOL_MAX == VKF_POOLING_MAX && VKF_POOL_WEIGHTED_MEAN == VKF_POOLING_WEIGHTED_MEAN,
               "the shader takes the values of vkf_pooling");

vkf_status vkf__emit_pool(vkf__work *work, const vkf__pool_args *args)
{
    vkf__variant variant;
    const vkf_dtype types[VKF_KERNEL_MAX_TYPES] = {args->x.dtype};
    const vkf__problem problem = {.m = args->batch, .n = args->dim};
    VKF_RETURN_IF_ERROR(vkf__work_select(work, VKF_OP_POOL, types, &problem, &variant));
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
    return vkf__work_dispatch(work, &dispatch);
}

static vkf__account account(const vkf__dispatched *dispatched)
{
    const struct vkf_pool_params *p = dispatched->params;
    const double outputs = (double)p->batch * p->dim;
    return (vkf__account){
        .flops = 2 * outputs * p->len,
        .bytes_read = vkf__stored_bytes(outputs * p->len, dispatched->kernel->types[0]),
        .bytes_written = 4 * outputs,
    };
}

static bool output(const vkf__dispatched *dispatched, vkf__extent *out_extent)
{
    const struct vkf_pool_params *p = dispatched->params;
    *out_extent = vkf__extent_rows(VKF_POOL_BINDING_OUT, VKF_DTYPE_F32, p->batch, p->dim, p->out_stride);
    return true;
}

const vkf__op_info vkf__op_pool = {
    .params_bytes = sizeof(struct vkf_pool_params),
    .account = account,
    .output = output,
    VKF_OP_PROBLEMS(vkf__typical_rows),
};
