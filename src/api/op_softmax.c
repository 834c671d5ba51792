#include "api/check.h"
#include "op/run_once.h"
#include "op/softmax.h"

// A tensor's dimension counted from the last, 1 where it has fewer.
static uint32_t dim_from_end(const vkf_tensor *tensor, uint32_t from_end)
{
    return from_end < tensor->rank ? tensor->shape[tensor->rank - 1 - from_end] : 1;
}

// Strides of a mask over (B, H, L): 0 where it broadcasts. False when a dimension is neither 1 nor x's.
static bool mask_strides(const vkf_tensor *x, const vkf_tensor *mask, vkf__softmax_args *args)
{
    uint32_t stride = dim_from_end(mask, 0);
    uint32_t strides[3];
    if (stride != dim_from_end(x, 0))
        return false;
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t size = dim_from_end(mask, i + 1);
        if (size != 1 && size != dim_from_end(x, i + 1))
            return false;
        strides[i] = size == 1 ? 0 : stride;
        stride *= size;
    }
    args->mask_row = strides[0];
    args->mask_head = strides[1];
    args->mask_batch = strides[2];
    return true;
}

static vkf_status check_mask(const vkf__checker *check, const vkf_softmax_desc *desc, vkf__softmax_args *args)
{
    vkf_status status = VKF_OK;
    if (desc->mask_kind == VKF_MASK_NONE)
        return VKF_OK;
    if (desc->mask_kind >= VKF_MASK_LENGTHS)
        return vkf__fail(check->host, VKF_ERROR_INVALID_ARGUMENT, "%s: mask_kind %d is not for this mask",
                         check->function, (int)desc->mask_kind);
    VKF_TRY(vkf__check_shape(check, &desc->mask, "mask", vkf__mask_dtype(desc->mask_kind), desc->mask.rank,
                             desc->mask.shape));
    if (!mask_strides(&desc->x, &desc->mask, args))
        return vkf__fail(check->host, VKF_ERROR_INVALID_ARGUMENT, "%s: the mask's shape does not broadcast to x's",
                         check->function);
    VKF_TRY(vkf__check_apart(check, &desc->out, &desc->mask, "mask"));
fail:
    return status;
}

static vkf_status check_key_mask(const vkf__checker *check, const vkf_softmax_desc *desc, vkf__softmax_args *args)
{
    vkf_status status = VKF_OK;
    if (desc->key_mask_kind == VKF_MASK_NONE)
        return VKF_OK;
    if (desc->key_mask_kind >= VKF_MASK_KIND_COUNT)
        return vkf__fail(check->host, VKF_ERROR_INVALID_ARGUMENT, "%s: unknown key_mask_kind %d", check->function,
                         (int)desc->key_mask_kind);
    bool lengths = desc->key_mask_kind == VKF_MASK_LENGTHS;
    const uint32_t shape[] = {args->batch, args->k_len};
    VKF_TRY(vkf__check_shape(check, &desc->key_mask, "key_mask", vkf__mask_dtype(desc->key_mask_kind), lengths ? 1 : 2,
                             shape));
    VKF_TRY(vkf__check_apart(check, &desc->out, &desc->key_mask, "key_mask"));
    args->key_mask_batch = lengths ? 1 : args->k_len;
fail:
    return status;
}

static vkf_status emit_softmax(vkf__work *work, const void *args)
{
    return vkf__emit_softmax(work, args);
}

vkf_status vkf_softmax(vkf_context *context, const vkf_softmax_desc *desc)
{
    if (!context || !desc)
        return VKF_ERROR_INVALID_ARGUMENT;
    vkf_status status = VKF_OK;
    const vkf__checker check = {.host = &context->host, .function = "vkf_softmax"};
    VKF_TRY(vkf__check_float(&check, &desc->x, "x"));
    VKF_TRY(vkf__check_shape(&check, &desc->out, "out", desc->x.dtype, desc->x.rank, desc->x.shape));
    if (!vkf__same_tensor(&desc->x, &desc->out))
        VKF_TRY(vkf__check_apart(&check, &desc->out, &desc->x, "x"));
    if (desc->causal >= VKF_CAUSAL_COUNT || desc->fully_masked >= VKF_FULLY_MASKED_COUNT)
        return vkf__fail(check.host, VKF_ERROR_INVALID_ARGUMENT, "%s: unknown causal or fully_masked value",
                         check.function);
    vkf__softmax_args args = {
        .label = "softmax",
        .x = vkf__span_of(&desc->x),
        .out = vkf__span_of(&desc->out),
        .mask_kind = desc->mask_kind,
        .key_mask_kind = desc->key_mask_kind,
        .batch = dim_from_end(&desc->x, 3),
        .heads = dim_from_end(&desc->x, 2),
        .q_len = dim_from_end(&desc->x, 1),
        .k_len = dim_from_end(&desc->x, 0),
        .mask_cols = dim_from_end(&desc->x, 0),
        .causal = desc->causal != VKF_CAUSAL_NONE || desc->window > 0,
        .window = desc->window,
        .scale = desc->scale == 0.0f ? 1.0f : desc->scale,
        .fully_masked = desc->fully_masked,
    };
    if (desc->causal == VKF_CAUSAL_BOTTOM_RIGHT)
        args.causal_offset = (int32_t)((int64_t)args.k_len - args.q_len);
    VKF_TRY(check_mask(&check, desc, &args));
    VKF_TRY(check_key_mask(&check, desc, &args));
    if (desc->mask_kind != VKF_MASK_NONE)
        args.mask = vkf__span_of(&desc->mask);
    if (desc->key_mask_kind != VKF_MASK_NONE)
        args.key_mask = vkf__span_of(&desc->key_mask);
    VKF_TRY(vkf__run_once(context, "softmax", emit_softmax, &args));
fail:
    return status;
}
