// Checks what softmax and attention make of scores, and finds the strides by which masks broadcast.
#include "api/mask_check.h"

#include "base/float_or.h"

uint32_t vkf__dim_from_end(const vkf_tensor *tensor, uint32_t from_end)
{
    return from_end < tensor->rank ? tensor->shape[tensor->rank - 1 - from_end] : 1;
}

// Returns false when a dimension is neither 1 nor the target's.
static bool mask_strides(const vkf_tensor *mask, const vkf__mask_target *target, vkf__masks *out)
{
    const uint32_t sizes[] = {target->q_len, target->heads, target->batch};
    uint32_t *const strides[] = {&out->row, &out->head, &out->batch};
    uint32_t stride = vkf__dim_from_end(mask, 0);
    if (stride != target->k_len)
        return false;
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t size = vkf__dim_from_end(mask, i + 1);
        if (size != 1 && size != sizes[i])
            return false;
        *strides[i] = size == 1 ? 0 : stride;
        stride *= size;
    }
    return true;
}

static vkf_status check_mask(const vkf__checker *check, const vkf__mask_members *members,
                             const vkf__mask_target *target, vkf__masks *out)
{
    const vkf_tensor *mask = members->mask;
    if (members->kind == VKF_MASK_NONE)
        return VKF_OK;
    if (members->kind >= VKF_MASK_LENGTHS)
        return vkf__fail(check->host, VKF_ERROR_INVALID_ARGUMENT, "%s: mask_kind %d is not for this mask",
                         check->function, (int)members->kind);
    VKF_RETURN_IF_ERROR(vkf__check_shape(check, mask, "mask", vkf__mask_dtype(members->kind), mask->rank, mask->shape));
    if (!mask_strides(mask, target, out))
        return vkf__fail(check->host, VKF_ERROR_INVALID_ARGUMENT, "%s: the mask's shape does not broadcast to x's",
                         check->function);
    out->mask = vkf__span_of(mask);
    return vkf__check_apart(check, target->out, mask, "mask");
}

static vkf_status check_key_mask(const vkf__checker *check, const vkf__mask_members *members,
                                 const vkf__mask_target *target, vkf__masks *out)
{
    const bool lengths = members->key_kind == VKF_MASK_LENGTHS;
    const uint32_t shape[] = {target->batch, target->k_len};
    if (members->key_kind == VKF_MASK_NONE)
        return VKF_OK;
    if (members->key_kind >= VKF_MASK_KIND_COUNT)
        return vkf__fail(check->host, VKF_ERROR_INVALID_ARGUMENT, "%s: unknown key_mask_kind %d", check->function,
                         (int)members->key_kind);
    VKF_RETURN_IF_ERROR(vkf__check_shape(check, members->key_mask, "key_mask", vkf__mask_dtype(members->key_kind),
                                         lengths ? 1 : 2, shape));
    out->key_mask = vkf__span_of(members->key_mask);
    out->key_batch = lengths ? 1 : target->k_len;
    return vkf__check_apart(check, target->out, members->key_mask, "key_mask");
}

// A number for each head of the target.
static vkf_status check_values(const vkf__checker *check, const vkf_tensor *values, const char *name,
                               const vkf__mask_target *target, vkf__span *out)
{
    VKF_RETURN_IF_ERROR(vkf__check_head_values(check, values, name, target->heads));
    *out = vkf__span_of(values);
    return values->rank == 0 ? VKF_OK : vkf__check_apart(check, target->out, values, name);
}

vkf_status vkf__check_masks(const vkf__checker *check, const vkf__mask_members *members, const vkf__mask_target *target,
                            float default_scale, vkf__masks *out)
{
    const vkf__own_positions own =
        vkf__own_positions_of(members->causal, members->first_position, target->q_len, target->k_len);
    *out = (vkf__masks){
        .kind = members->kind,
        .key_kind = members->key_kind,
        .cols = target->k_len,
        .soft_cap = members->soft_cap,
        .scale = vkf__float_or(members->scale, default_scale),
        .fully_masked = members->fully_masked,
    };
    if (members->causal >= VKF_CAUSAL_COUNT || members->fully_masked >= VKF_FULLY_MASKED_COUNT)
        return vkf__fail(check->host, VKF_ERROR_INVALID_ARGUMENT, "%s: unknown causal or fully_masked value",
                         check->function);
    VKF_RETURN_IF_ERROR(vkf__check_causal(check, members->causal, members->key_kind));
    if (members->first_position > 0 &&
        (members->causal > VKF_CAUSAL_TOP_LEFT || (uint64_t)members->first_position + target->q_len > INT32_MAX))
        return vkf__fail(
            check->host, VKF_ERROR_INVALID_ARGUMENT,
            "%s: first_position is %u; it is for causal NONE and TOP_LEFT, and positions are less than 2^31",
            check->function, members->first_position);
    VKF_RETURN_IF_ERROR(vkf__check_soft_cap(check, members->soft_cap));
    vkf__place_window(&own, members->causal != VKF_CAUSAL_NONE, members->window, members->window_right, out);
    VKF_RETURN_IF_ERROR(check_mask(check, members, target, out));
    VKF_RETURN_IF_ERROR(check_key_mask(check, members, target, out));
    VKF_RETURN_IF_ERROR(check_values(check, members->slopes, "slopes", target, &out->slopes));
    return check_values(check, members->sinks, "sinks", target, &out->sinks);
}
