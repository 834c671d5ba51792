// Public entry point of softmax with masks as a single operator.
#include "api/mask_check.h"
#include "base/sized.h"
#include "op/operators.h"
#include "op/run_once.h"
#include "op/softmax.h"

vkf_status vkf_softmax_sized(vkf_context *context, const vkf_softmax_desc *desc, size_t desc_bytes)
{
    if (!context || !desc)
        return vkf__null_argument(__func__);
    vkf_status status = vkf__context_enter(context, "vkf_softmax");
    if (status != VKF_OK)
        return status;
    VKF_TAKE_SIZED(&context->host, "vkf_softmax", vkf_softmax_desc, desc, desc_bytes);
    const vkf__checker check = {.host = &context->host, .function = "vkf_softmax", .context = context};
    VKF_RETURN_IF_ERROR(vkf__check_float(&check, &desc->x, "x"));
    VKF_RETURN_IF_ERROR(vkf__check_shape(&check, &desc->out, "out", desc->x.dtype, desc->x.rank, desc->x.shape));
    if (!vkf__same_tensor(&desc->x, &desc->out))
        VKF_RETURN_IF_ERROR(vkf__check_apart(&check, &desc->out, &desc->x, "x"));
    if (desc->causal >= VKF_CAUSAL_COUNT || desc->fully_masked >= VKF_FULLY_MASKED_COUNT)
        return vkf__fail(check.host, VKF_ERROR_INVALID_ARGUMENT, "%s: unknown causal or fully_masked value",
                         check.function);
    vkf__softmax_args args = {
        .label = "softmax",
        .x = vkf__span_of(&desc->x),
        .out = vkf__span_of(&desc->out),
        .mask_kind = desc->mask_kind,
        .key_mask_kind = desc->key_mask_kind,
        .batch = vkf__dim_from_end(&desc->x, 3),
        .heads = vkf__dim_from_end(&desc->x, 2),
        .q_len = vkf__dim_from_end(&desc->x, 1),
        .k_len = vkf__dim_from_end(&desc->x, 0),
        .mask_cols = vkf__dim_from_end(&desc->x, 0),
        .causal = desc->causal != VKF_CAUSAL_NONE || desc->window > 0,
        .window = desc->window,
        .scale = vkf__factor_or(desc->scale, 1),
        .fully_masked = desc->fully_masked,
    };
    if (desc->causal == VKF_CAUSAL_BOTTOM_RIGHT)
        args.causal_offset = (int32_t)((int64_t)args.k_len - args.q_len);
    const vkf__mask_target target = {args.batch, args.heads, args.q_len, args.k_len, &desc->out};
    vkf__mask_strides strides;
    VKF_RETURN_IF_ERROR(vkf__check_mask(&check, desc->mask_kind, &desc->mask, &target, &strides));
    VKF_RETURN_IF_ERROR(
        vkf__check_key_mask(&check, desc->key_mask_kind, &desc->key_mask, &target, &args.key_mask_batch));
    args.mask_batch = strides.batch;
    args.mask_head = strides.head;
    args.mask_row = strides.row;
    if (desc->mask_kind != VKF_MASK_NONE)
        args.mask = vkf__span_of(&desc->mask);
    if (desc->key_mask_kind != VKF_MASK_NONE)
        args.key_mask = vkf__span_of(&desc->key_mask);
    return vkf__run_once(context, "softmax", vkf__operator(VKF_OP_SOFTMAX)->emit, &args);
}
