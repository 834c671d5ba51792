// Checks the shapes of masks, and finds the strides by which they broadcast.
#include "api/mask_check.h"

#include "op/softmax.h"

uint32_t vkf__dim_from_end(const vkf_tensor *tensor, uint32_t from_end)
{
    return from_end < tensor->rank ? tensor->shape[tensor->rank - 1 - from_end] : 1;
}

// Returns false when a dimension is neither 1 nor the target's.
static bool mask_strides(const vkf_tensor *mask, const vkf__mask_target *target, vkf__mask_strides *out_strides)
{
    const uint32_t sizes[] = {target->q_len, target->heads, target->batch};
    uint32_t stride = vkf__dim_from_end(mask, 0);
    uint32_t strides[3];
    if (stride != target->k_len)
        return false;
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t size = vkf__dim_from_end(mask, i + 1);
        if (size != 1 && size != sizes[i])
            return false;
        strides[i] = size == 1 ? 0 : stride;
        stride *= size;
    }
    *out_strides = (vkf__mask_strides){.row = strides[0], .head = strides[1], .batch = strides[2]};
    return true;
}

vkf_status vkf__check_mask(const vkf__checker *check, vkf_mask_kind kind, const vkf_tensor *mask,
                           const vkf__mask_target *target, vkf__mask_strides *out_strides)
{
    *out_strides = (vkf__mask_strides){0};
    if (kind == VKF_MASK_NONE)
        return VKF_OK;
    if (kind >= VKF_MASK_LENGTHS)
        return vkf__fail(check->host, VKF_ERROR_INVALID_ARGUMENT, "%s: mask_kind %d is not for this mask",
                         check->function, (int)kind);
    VKF_RETURN_IF_ERROR(vkf__check_shape(check, mask, "mask", vkf__mask_dtype(kind), mask->rank, mask->shape));
    if (!mask_strides(mask, target, out_strides))
        return vkf__fail(check->host, VKF_ERROR_INVALID_ARGUMENT, "%s: the mask's shape does not broadcast to x's",
                         check->function);
    return vkf__check_apart(check, target->out, mask, "mask");
}

vkf_status vkf__check_key_mask(const vkf__checker *check, vkf_mask_kind kind, const vkf_tensor *mask,
                               const vkf__mask_target *target, uint32_t *out_stride)
{
    *out_stride = 0;
    if (kind == VKF_MASK_NONE)
        return VKF_OK;
    if (kind >= VKF_MASK_KIND_COUNT)
        return vkf__fail(check->host, VKF_ERROR_INVALID_ARGUMENT, "%s: unknown key_mask_kind %d", check->function,
                         (int)kind);
    bool lengths = kind == VKF_MASK_LENGTHS;
    const uint32_t shape[] = {target->batch, target->k_len};
    VKF_RETURN_IF_ERROR(vkf__check_shape(check, mask, "key_mask", vkf__mask_dtype(kind), lengths ? 1 : 2, shape));
    VKF_RETURN_IF_ERROR(vkf__check_apart(check, target->out, mask, "key_mask"));
    *out_stride = lengths ? 1 : target->k_len;
    return VKF_OK;
}
