// Checks of tensors: presence, shape, type, layout, buffer and overlap.
#include "api/check.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/elements.h"
#include "shared/blocks.h"
#include "vk/buffer.h"

#define PANELS_ALIGNMENT 16u // kernels read four elements of a panel at once

static void shape_text(uint32_t rank, const uint32_t *shape, char *out_text, size_t capacity)
{
    size_t used = 0;
    out_text[0] = '\0';
    for (uint32_t i = 0; i < rank && i < VKF_MAX_RANK && used < capacity; i++)
        used += (size_t)snprintf(out_text + used, capacity - used, "%s%u", i > 0 ? ", " : "", shape[i]);
}

// Why a tensor of a type of blocks is invalid; NULL if it is valid. Only weights, and here and there keys and values,
// may have these types, see vkf_dtype.
static const char *why_no_blocks(const vkf__checker *check, const vkf_tensor *tensor)
{
    if (!vkf__is_blocks(tensor->dtype))
        return NULL;
    if (!(check->block_rows && vkf__is_block_rows(tensor)) &&
        (tensor->layout != VKF_LAYOUT_PANELS || tensor->rank != 2))
        return check->block_rows ? "of types in blocks q8 in rows of rank 4 alone will do"
                                 : "its type is for weights in panels alone";
    if (tensor->shape[tensor->rank - 1] % vkf_dtype_block_elements(tensor->dtype) != 0)
        return "its rows are not whole blocks of 32 elements";
    return tensor->offset_bytes % VKF_BLOCKS_ALIGNMENT != 0 ? "its offset is no multiple of 16 bytes" : NULL;
}

static vkf_status check_any_layout(const vkf__checker *check, const vkf_tensor *tensor, const char *name)
{
    uint64_t count = 0, bytes = 0;
    const char *why = NULL;
    if (tensor->rank == 0)
        why = "it is absent";
    else if (tensor->rank > VKF_MAX_RANK)
        why = "its rank is above 4";
    else if (tensor->dtype >= VKF_DTYPE_COUNT)
        why = "its dtype is unknown";
    else if (!vkf_tensor_count(tensor, &count) || count > UINT64_MAX / 8)
        why = "its shape overflows";
    else if (count == 0 && !check->empty)
        why = "a dimension is 0";
    else if ((why = why_no_blocks(check, tensor)) != NULL)
        ;
    else if (!vkf_tensor_bytes(tensor, &bytes))
        why = "its layout is unknown, or is for matrices alone";
    else if (!tensor->buffer && !check->buffers_optional && count > 0)
        why = "it has no buffer";
    else if (tensor->buffer && !vkf__buffer_is_alive(&check->context->memory, tensor->buffer))
        why = "its buffer is of another context, or was destroyed";
    else if (tensor->offset_bytes % vkf__unit_bytes(tensor->dtype) != 0)
        why = "its offset is no multiple of its element size";
    else if (tensor->layout == VKF_LAYOUT_PANELS && tensor->offset_bytes % PANELS_ALIGNMENT != 0)
        why = "its offset is no multiple of 16 bytes, as that of panels has to be";
    else if (tensor->buffer && (tensor->offset_bytes > vkf_buffer_get_size(tensor->buffer) ||
                                bytes > vkf_buffer_get_size(tensor->buffer) - tensor->offset_bytes))
        why = "it does not fit its buffer";
    if (!why)
        return VKF_OK;
    return vkf__fail(check->host, VKF_ERROR_INVALID_ARGUMENT, "%s: tensor %s: %s", check->function, name, why);
}

vkf_status vkf__check_tensor(const vkf__checker *check, const vkf_tensor *tensor, const char *name)
{
    vkf_status status = check_any_layout(check, tensor, name);
    if (status == VKF_OK && tensor->layout != VKF_LAYOUT_ROWS)
        return vkf__fail(check->host, VKF_ERROR_INVALID_ARGUMENT, "%s: tensor %s must lie in rows", check->function,
                         name);
    return status;
}

static vkf_status check_dtype_and_shape(const vkf__checker *check, const vkf_tensor *tensor, const char *name,
                                        vkf_dtype dtype, uint32_t rank, const uint32_t *shape)
{
    if (tensor->dtype != dtype)
        return vkf__fail(check->host, VKF_ERROR_INVALID_ARGUMENT, "%s: tensor %s has dtype %s, expected %s",
                         check->function, name, vkf_dtype_name(tensor->dtype), vkf_dtype_name(dtype));
    if (tensor->rank != rank || memcmp(tensor->shape, shape, rank * sizeof shape[0]) != 0) {
        char got[64], expected[64];
        shape_text(tensor->rank, tensor->shape, got, sizeof got);
        shape_text(rank, shape, expected, sizeof expected);
        return vkf__fail(check->host, VKF_ERROR_INVALID_ARGUMENT, "%s: tensor %s has shape (%s), expected (%s)",
                         check->function, name, got, expected);
    }
    return VKF_OK;
}

vkf_status vkf__check_shape(const vkf__checker *check, const vkf_tensor *tensor, const char *name, vkf_dtype dtype,
                            uint32_t rank, const uint32_t *shape)
{
    vkf_status status = vkf__check_tensor(check, tensor, name);
    return status != VKF_OK ? status : check_dtype_and_shape(check, tensor, name, dtype, rank, shape);
}

vkf_status vkf__check_weight(const vkf__checker *check, const vkf_tensor *tensor, const char *name, vkf_dtype dtype,
                             uint32_t n, uint32_t k)
{
    const uint32_t shape[] = {n, k};
    vkf_status status = check_any_layout(check, tensor, name);
    return status != VKF_OK ? status : check_dtype_and_shape(check, tensor, name, dtype, 2, shape);
}

vkf_status vkf__check_weight_type(const vkf__checker *check, const vkf_tensor *tensor, const char *name)
{
    vkf_status status = check_any_layout(check, tensor, name);
    if (status == VKF_OK && tensor->dtype != VKF_DTYPE_F32 && tensor->dtype != VKF_DTYPE_F16 &&
        tensor->dtype != VKF_DTYPE_BF16)
        return vkf__fail(check->host, VKF_ERROR_INVALID_ARGUMENT,
                         "%s: tensor %s has dtype %s, expected f32, f16 or bf16", check->function, name,
                         vkf_dtype_name(tensor->dtype));
    return status;
}

vkf_status vkf__check_optional(const vkf__checker *check, const vkf_tensor *tensor, const char *name, vkf_dtype dtype,
                               uint32_t rank, const uint32_t *shape)
{
    return tensor->rank == 0 ? VKF_OK : vkf__check_shape(check, tensor, name, dtype, rank, shape);
}

vkf_status vkf__check_head_values(const vkf__checker *check, const vkf_tensor *values, const char *name, uint32_t heads)
{
    VKF_RETURN_IF_ERROR(vkf__check_optional(check, values, name, VKF_DTYPE_F32, 1, &heads));
    if (values->rank == 0 || !values->buffer || vkf__buffer_has_texels(values->buffer))
        return VKF_OK;
    return vkf__fail(check->host, VKF_ERROR_INVALID_ARGUMENT,
                     "%s: the buffer of %s must be made with the usage of a uniform texel buffer", check->function,
                     name);
}

vkf_status vkf__check_causal(const vkf__checker *check, vkf_causal causal, vkf_mask_kind key_kind)
{
    if (causal != VKF_CAUSAL_LENGTHS || key_kind == VKF_MASK_LENGTHS)
        return VKF_OK;
    return vkf__fail(check->host, VKF_ERROR_INVALID_ARGUMENT, "%s: causal LENGTHS, and key_mask_kind is another",
                     check->function);
}

vkf_status vkf__check_soft_cap(const vkf__checker *check, float soft_cap)
{
    if (soft_cap >= 0 && isfinite(soft_cap))
        return VKF_OK;
    return vkf__fail(check->host, VKF_ERROR_INVALID_ARGUMENT, "%s: soft_cap must be positive and finite, or 0",
                     check->function);
}

vkf_status vkf__check_float(const vkf__checker *check, const vkf_tensor *tensor, const char *name)
{
    vkf_status status = vkf__check_tensor(check, tensor, name);
    if (status == VKF_OK && tensor->dtype != VKF_DTYPE_F32 && tensor->dtype != VKF_DTYPE_F16)
        return vkf__fail(check->host, VKF_ERROR_INVALID_ARGUMENT, "%s: tensor %s has dtype %s, expected f32 or f16",
                         check->function, name, vkf_dtype_name(tensor->dtype));
    return status;
}

vkf_status vkf__check_factor(const vkf__checker *check, const vkf_tensor *tensor, const char *name)
{
    if (tensor->dtype == VKF_DTYPE_BF16)
        return vkf__check_tensor(check, tensor, name);
    return vkf__check_float(check, tensor, name);
}

bool vkf__is_empty(const vkf_tensor *tensor)
{
    uint64_t count = 0;
    return vkf_tensor_count(tensor, &count) && count == 0;
}

// In the VkBuffer, in which another wrapped buffer may lie, too.
static uint64_t tensor_begin(const vkf_tensor *tensor)
{
    return tensor->buffer->begin + tensor->offset_bytes;
}

static uint64_t tensor_end(const vkf_tensor *tensor)
{
    uint64_t bytes = 0;
    (void)vkf_tensor_bytes(tensor, &bytes);
    return tensor_begin(tensor) + bytes;
}

vkf_status vkf__check_apart(const vkf__checker *check, const vkf_tensor *out, const vkf_tensor *in, const char *in_name)
{
    if (in->rank == 0 || !in->buffer || !out->buffer || !vkf__buffers_share(in->buffer, out->buffer) ||
        vkf__is_empty(in) || vkf__is_empty(out) || tensor_end(in) <= tensor_begin(out) ||
        tensor_end(out) <= tensor_begin(in))
        return VKF_OK;
    return vkf__fail(check->host, VKF_ERROR_INVALID_ARGUMENT, "%s: the output overlaps tensor %s", check->function,
                     in_name);
}

bool vkf__same_shape(const vkf_tensor *a, const vkf_tensor *b)
{
    return a->rank == b->rank && memcmp(a->shape, b->shape, a->rank * sizeof a->shape[0]) == 0;
}

bool vkf__same_tensor(const vkf_tensor *a, const vkf_tensor *b)
{
    const bool both = a->buffer && b->buffer;
    return vkf__buffers_share(a->buffer, b->buffer) &&
           (both ? tensor_begin(a) == tensor_begin(b) : a->offset_bytes == b->offset_bytes) && a->dtype == b->dtype &&
           a->layout == b->layout && vkf__same_shape(a, b);
}

vkf_status vkf__give_text(const vkf__host *host, const char *function, const char *text, size_t size_bytes,
                          size_t *inout_bytes, char *out_text)
{
    const size_t capacity = *inout_bytes;
    if (out_text && size_bytes >= capacity)
        return vkf__fail(host, VKF_ERROR_TOO_LARGE, "%s: the text takes %zu bytes and a zero, not %zu", function,
                         size_bytes, capacity);
    *inout_bytes = size_bytes;
    if (out_text) {
        memcpy(out_text, text, size_bytes);
        out_text[size_bytes] = '\0';
    }
    return VKF_OK;
}
