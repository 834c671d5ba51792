// Public entry points of measuring: single runs of the kernels that find a device's roofs, and the measurement of all
// roofs.
#include "api/check.h"
#include "base/sized.h"
#include "observe/roofs.h"

static vkf_status check_vectors(const vkf__checker *check, const vkf_tensor *tensor, const char *name)
{
    uint64_t count = 0;
    VKF_RETURN_IF_ERROR(vkf__check_tensor(check, tensor, name));
    (void)vkf_tensor_count(tensor, &count);
    if (tensor->dtype != VKF_DTYPE_F32 || tensor->offset_bytes % 16 != 0 || count % 4 != 0)
        return vkf__fail(check->host, VKF_ERROR_INVALID_ARGUMENT,
                         "%s: %s must be f32, begin at a multiple of 16 bytes and hold a multiple of 4 elements",
                         check->function, name);
    return VKF_OK;
}

static vkf_status run_copy(vkf_context *context, const char *function, const vkf_tensor *x, const vkf_tensor *out,
                           bool read)
{
    uint64_t x_count = 0, out_count = 0;
    const vkf__checker check = {.host = &context->host, .function = function, .context = context};
    VKF_RETURN_IF_ERROR(check_vectors(&check, x, "x"));
    VKF_RETURN_IF_ERROR(check_vectors(&check, out, "out"));
    (void)vkf_tensor_count(x, &x_count);
    (void)vkf_tensor_count(out, &out_count);
    if (!read && out_count != x_count)
        return vkf__fail(check.host, VKF_ERROR_INVALID_ARGUMENT, "%s: x and out differ in their number of elements",
                         function);
    VKF_RETURN_IF_ERROR(vkf__check_apart(&check, out, x, "x"));
    const vkf__roof_copy_args args = {
        .label = read ? "read" : "copy",
        .x = vkf__span_of(x),
        .out = vkf__span_of(out),
        .read = read,
    };
    return vkf__run_roof_copy(context, &args);
}

vkf_status vkf_measure_copy(vkf_context *context, const vkf_tensor *x, const vkf_tensor *out)
{
    if (!context || !x || !out)
        return vkf__null_argument(__func__);
    vkf_status status = vkf__context_enter(context, __func__);
    if (status != VKF_OK)
        return status;
    return run_copy(context, __func__, x, out, false);
}

vkf_status vkf_measure_read(vkf_context *context, const vkf_tensor *x, const vkf_tensor *out)
{
    if (!context || !x || !out)
        return vkf__null_argument(__func__);
    vkf_status status = vkf__context_enter(context, __func__);
    if (status != VKF_OK)
        return status;
    return run_copy(context, __func__, x, out, true);
}

vkf_status vkf_measure_fma_sized(vkf_context *context, const vkf_measure_fma_desc *desc, size_t desc_bytes)
{
    if (!context || !desc)
        return vkf__null_argument(__func__);
    vkf_status status = vkf__context_enter(context, "vkf_measure_fma");
    if (status != VKF_OK)
        return status;
    VKF_TAKE_SIZED(&context->host, "vkf_measure_fma", vkf_measure_fma_desc, desc, desc_bytes);
    uint64_t count = 0;
    const vkf__checker check = {.host = &context->host, .function = "vkf_measure_fma", .context = context};
    VKF_RETURN_IF_ERROR(vkf__check_tensor(&check, &desc->out, "out"));
    (void)vkf_tensor_count(&desc->out, &count);
    if (desc->out.dtype != VKF_DTYPE_F32 || desc->rounds == 0 || desc->rounds > VKF_MEASURE_FMA_MAX_ROUNDS ||
        desc->chains < VKF_MEASURE_FMA_MIN_CHAINS || desc->chains > VKF_MEASURE_FMA_MAX_CHAINS)
        return vkf__fail(check.host, VKF_ERROR_INVALID_ARGUMENT,
                         "%s: out must be f32, rounds from 1 to %d (it is %u), chains from %d to %d (it is %u)",
                         check.function, VKF_MEASURE_FMA_MAX_ROUNDS, desc->rounds, VKF_MEASURE_FMA_MIN_CHAINS,
                         VKF_MEASURE_FMA_MAX_CHAINS, desc->chains);
    if (count > UINT32_MAX)
        return vkf__fail(check.host, VKF_ERROR_TOO_LARGE, "%s: more than 2^32 elements", check.function);
    const vkf__roof_fma_args args = {
        .label = "fma",
        .out = vkf__span_of(&desc->out),
        .count = (uint32_t)count,
        .rounds = desc->rounds,
        .chains = desc->chains,
    };
    return vkf__run_roof_fma(context, &args);
}

double vkf_measure_fma_flops_sized(const vkf_measure_fma_desc *desc, size_t desc_bytes)
{
    vkf_measure_fma_desc full;
    uint64_t count = 0;
    if (!desc || !vkf__read_sized(&full, sizeof full, desc, desc_bytes) || !vkf_tensor_count(&full.out, &count))
        return 0;
    return vkf__roof_fma_flops((double)count, full.rounds, full.chains);
}

vkf_status vkf_measure_roofs_sized(vkf_context *context, vkf_progress_fn progress, void *user, vkf_roofs *out_roofs,
                                   size_t roofs_bytes)
{
    if (!context || !out_roofs)
        return vkf__null_argument(__func__);
    vkf_status status = vkf__context_enter(context, "vkf_measure_roofs");
    if (status != VKF_OK)
        return status;
    vkf_roofs roofs = {0};
    VKF_RETURN_IF_ERROR(vkf__check_sized(&context->host, "vkf_measure_roofs", roofs_bytes));
    VKF_RETURN_IF_ERROR(vkf__measure_roofs(context, progress, user, &roofs));
    (void)vkf__give_sized(out_roofs, roofs_bytes, &roofs, sizeof roofs);
    return VKF_OK;
}
