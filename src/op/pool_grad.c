// The emitter of the backward pass of pooling, in one phase or two, and its operator's row.
#include "op/pool_grad.h"

#include "base/size.h"
#include "op/operators.h"
#include "shared/pool_grad.h"

// Eight to an iteration, of which some drivers run fewer than 65,535.
#define MAX_POSITIONS (8 * 65534)

// A workgroup for each sequence prepares; else one takes a part of a position's columns.
static uint64_t count_groups(const vkf__work *work, const vkf__variant *variant, const struct vkf_pool_grad_params *p)
{
    const uint32_t width = VKF_PART_EACH * vkf__variant_local_size(&work->context->device.plan.caps, variant);
    return p->prepares ? p->batch : (uint64_t)p->batch * p->len * vkf__div_up_u32(p->dim, width);
}

static vkf_status emit_phase(vkf__work *work, const vkf__pool_grad_args *args, const vkf__span *dout, uint32_t dout_row,
                             const vkf__span *dx, bool prepares)
{
    vkf__variant variant;
    const vkf_dtype types[VKF_KERNEL_MAX_TYPES] = {args->x.dtype};
    const vkf__problem problem = {.m = args->batch, .n = args->dim};
    VKF_RETURN_IF_ERROR(vkf__work_select(work, VKF_OP_POOL_GRAD, types, &problem, &variant));
    const uint32_t flags[VKF_KERNEL_MAX_SPEC] = {
        [VKF_POOL_GRAD_SPEC_MODE] = (uint32_t)args->pooling,
        [VKF_POOL_GRAD_SPEC_NORMALISE] = args->normalise,
    };
    const struct vkf_pool_grad_params params = {
        .batch = args->batch,
        .len = args->len,
        .dim = args->dim,
        .first = args->first,
        .dout_stride = dout_row,
        .prepares = prepares,
        .accumulate = args->accumulate,
    };
    vkf__dispatch dispatch = {
        .label = args->label,
        .variant = variant,
        .flags = flags,
        .bindings = {{args->x, false}, {args->lengths, false}, {*dout, false}, {*dx, true}},
        .params = &params,
    };
    vkf__grid_flat(work, count_groups(work, &variant, &params), dispatch.grid);
    return vkf__work_dispatch(work, &dispatch);
}

vkf_status vkf__emit_pool_grad(vkf__work *work, const vkf__pool_grad_args *args)
{
    const uint32_t dout_row = args->dout_row > 0 ? args->dout_row : args->dim;
    uint64_t count = 0;
    vkf__span prepared; // (2, batch, dim)
    if (!vkf__product_u64((const uint64_t[]){args->batch, args->len, args->dim}, 3, &count) || count > UINT32_MAX ||
        args->len > MAX_POSITIONS)
        return vkf__fail(work->context->device.host, VKF_ERROR_TOO_LARGE,
                         "%s.%s: more than 2^32 elements, or than %d positions", work->name, args->label,
                         MAX_POSITIONS);
    if (!args->normalise && args->pooling != VKF_POOLING_MAX)
        return emit_phase(work, args, &args->dout, dout_row, &args->dx, false);
    // Never absent, or something else would be bound in its place.
    const uint64_t prepared_count = args->batch > 0 ? (uint64_t)2 * args->batch * args->dim : 1;
    VKF_RETURN_IF_ERROR(vkf__work_temp(work, VKF_DTYPE_F32, prepared_count, &prepared));
    VKF_RETURN_IF_ERROR(emit_phase(work, args, &args->dout, dout_row, &prepared, true));
    return emit_phase(work, args, &prepared, args->dim, &args->dx, false);
}

static vkf__account account(const vkf__dispatched *dispatched)
{
    const struct vkf_pool_grad_params *p = dispatched->params;
    const double pooled = (double)p->batch * p->dim, elements = pooled * p->len;
    if (p->prepares)
        return (vkf__account){
            .flops = 2 * elements,
            .bytes_read = vkf__stored_bytes(elements, dispatched->kernel->types[0]) + 4 * pooled,
            .bytes_written = 8 * pooled,
        };
    return (vkf__account){
        .flops = elements,
        .bytes_read = 4 * pooled + (p->accumulate ? 4 * elements : 0),
        .bytes_written = 4 * elements,
    };
}

// What was prepared, without the positions beside it, or dx.
static bool output(const vkf__dispatched *dispatched, vkf__extent *out_extent)
{
    const struct vkf_pool_grad_params *p = dispatched->params;
    const uint32_t rows = p->prepares ? p->batch : p->batch * p->len;
    *out_extent = vkf__extent_rows(VKF_POOL_GRAD_BINDING_DX, VKF_DTYPE_F32, rows, p->dim, p->dim);
    return true;
}

// No pipeline is made ahead, because only training asks for it.
static const vkf__typical_problem problems[] = {
    {.label = "768", .problem = {.m = 32, .n = 768}},
    {.label = "1024", .problem = {.m = 32, .n = 1024}},
};

const vkf__op_info vkf__op_pool_grad = {
    .params_bytes = sizeof(struct vkf_pool_grad_params),
    .account = account,
    .output = output,
    VKF_OP_PROBLEMS(problems),
};
