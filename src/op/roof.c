// The emitters of the kernels that measure a device's roofs, and their operators' rows.
#include "op/roof.h"

#include "base/size.h"
#include "op/operators.h"
#include "shared/roof.h"

// Vectors per invocation. Of 1, 4, 16 and 64, 16 is the fastest on the software drivers, and it keeps enough loads in
// flight on a GPU.
#define VECTORS_EACH 16u

vkf_status vkf__emit_roof_copy(vkf__work *work, const vkf__roof_copy_args *args)
{
    vkf__variant variant;
    const vkf_dtype types[VKF_KERNEL_MAX_TYPES] = {VKF_DTYPE_F32};
    uint64_t vectors = args->x.size_bytes / (4 * sizeof(float));
    if (vectors > UINT32_MAX / 4)
        return vkf__fail(work->context->device.host, VKF_ERROR_TOO_LARGE, "%s.%s: more than 2^32 elements", work->name,
                         args->label);
    const vkf__problem problem = {.m = (uint32_t)vectors};
    VKF_RETURN_IF_ERROR(
        vkf__work_select(work, args->read ? VKF_OP_ROOF_READ : VKF_OP_ROOF_COPY, types, &problem, &variant));
    const uint32_t flags[VKF_KERNEL_MAX_SPEC] = {[VKF_ROOF_COPY_SPEC_EACH] = VECTORS_EACH};
    const struct vkf_roof_copy_params params = {.vectors = (uint32_t)vectors};
    vkf__dispatch dispatch = {
        .label = args->label,
        .variant = variant,
        .flags = flags,
        .bindings = {{args->x, false}, {args->out, true}},
        .params = &params,
    };
    vkf__grid_flat(work, vkf__div_up_u32((uint32_t)vectors, variant.config->local_size * VECTORS_EACH), dispatch.grid);
    return vkf__work_dispatch(work, &dispatch);
}

vkf_status vkf__emit_roof_fma(vkf__work *work, const vkf__roof_fma_args *args)
{
    vkf__variant variant;
    const vkf_dtype types[VKF_KERNEL_MAX_TYPES] = {VKF_DTYPE_F32};
    const vkf__problem problem = {.m = args->count};
    VKF_RETURN_IF_ERROR(vkf__work_select(work, VKF_OP_ROOF_FMA, types, &problem, &variant));
    const uint32_t flags[VKF_KERNEL_MAX_SPEC] = {[VKF_ROOF_FMA_SPEC_CHAINS] = args->chains};
    const struct vkf_roof_fma_params params = {
        .count = args->count,
        .rounds = args->rounds,
        .factor = 1.0f,
        .addend = 1.0f,
    };
    vkf__dispatch dispatch = {
        .label = args->label,
        .variant = variant,
        .flags = flags,
        .bindings = {{args->out, true}},
        .params = &params,
    };
    vkf__grid_flat(work, vkf__div_up_u32(args->count, variant.config->local_size), dispatch.grid);
    return vkf__work_dispatch(work, &dispatch);
}

// These kernels measure the device: their work is not part of a model's account.
const vkf__op_info vkf__op_roof_copy = {
    .params_bytes = sizeof(struct vkf_roof_copy_params),
    VKF_OP_PROBLEMS(vkf__typical_any),
    .usual = {{VKF_ROOF_COPY_SPEC_EACH, VECTORS_EACH}},
};

const vkf__op_info vkf__op_roof_read = {
    .params_bytes = sizeof(struct vkf_roof_copy_params),
    VKF_OP_PROBLEMS(vkf__typical_any),
    .usual = {{VKF_ROOF_COPY_SPEC_EACH, VECTORS_EACH}},
};

const vkf__op_info vkf__op_roof_fma = {
    .params_bytes = sizeof(struct vkf_roof_fma_params),
    VKF_OP_PROBLEMS(vkf__typical_any),
    .usual = {{VKF_ROOF_FMA_SPEC_CHAINS, 4}},
};
