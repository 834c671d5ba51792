// Public entry point of softmax with masks as a single operator.
#include "api/mask_check.h"
#include "api/op_check.h"
#include "base/sized.h"
#include "op/operators.h"

vkf_status vkf_softmax_sized(vkf_context *context, const vkf_softmax_desc *desc, size_t desc_bytes)
{
    if (!context || !desc)
        return vkf__null_argument(__func__);
    vkf_status status = vkf__context_enter(context, "vkf_softmax");
    if (status != VKF_OK)
        return status;
    VKF_TAKE_SIZED(&context->host, "vkf_softmax", vkf_softmax_desc, desc, desc_bytes);
    const vkf__checker check = vkf__operator_checker(context, "vkf_softmax");
    VKF_RETURN_IF_ERROR(vkf__check_float(&check, &desc->x, "x"));
    VKF_RETURN_IF_ERROR(vkf__check_shape(&check, &desc->out, "out", desc->x.dtype, desc->x.rank, desc->x.shape));
    if (!vkf__same_tensor(&desc->x, &desc->out))
        VKF_RETURN_IF_ERROR(vkf__check_apart(&check, &desc->out, &desc->x, "x"));
    const vkf__mask_target target = {vkf__dim_from_end(&desc->x, 3), vkf__dim_from_end(&desc->x, 2),
                                     vkf__dim_from_end(&desc->x, 1), vkf__dim_from_end(&desc->x, 0), &desc->out};
    const vkf__mask_members members = VKF_MASK_MEMBERS(desc);
    vkf__softmax_args args = {
        .label = "softmax",
        .x = vkf__span_of(&desc->x),
        .out = vkf__span_of(&desc->out),
        .batch = target.batch,
        .heads = target.heads,
        .q_len = target.q_len,
        .k_len = target.k_len,
        .logarithm = desc->logarithm,
    };
    VKF_RETURN_IF_ERROR(vkf__check_masks(&check, &members, &target, 1.0f, &args.masks));
    return vkf__run_operator(&check, &desc->out, "softmax", vkf__operator(VKF_OP_SOFTMAX)->emit, &args);
}
