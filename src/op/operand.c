// Sizes of tensors, and spans over them.
#include "op/operand.h"

#include "base/elements.h"
#include "base/size.h"
#include "shared/gemm.h"

bool vkf_tensor_count(const vkf_tensor *tensor, uint64_t *out_count)
{
    uint64_t count = 1;
    if (!tensor || !out_count || tensor->rank > VKF_MAX_RANK)
        return false;
    for (uint32_t i = 0; i < tensor->rank; i++) {
        if (!vkf__mul_u64(count, tensor->shape[i], &count))
            return false;
    }
    *out_count = count;
    return true;
}

bool vkf_tensor_bytes(const vkf_tensor *tensor, uint64_t *out_bytes)
{
    uint64_t count = 0, bytes = 0;
    if (!out_bytes || !vkf_tensor_count(tensor, &count) || vkf_dtype_block_bytes(tensor->dtype) == 0)
        return false;
    const bool rows = vkf__is_block_rows(tensor);
    if (vkf__is_blocks(tensor->dtype) && ((tensor->layout != VKF_LAYOUT_PANELS && !rows) ||
                                          tensor->shape[rows ? 3 : 1] % vkf_dtype_block_elements(tensor->dtype) != 0))
        return false;
    if (tensor->layout == VKF_LAYOUT_PANELS) {
        const uint64_t factors[] = {vkf__align_u64(tensor->shape[0], VKF_GEMM_PANEL), tensor->shape[1]};
        if (tensor->rank != 2 || !vkf__product_u64(factors, 2, &count))
            return false;
    } else if (tensor->layout != VKF_LAYOUT_ROWS) {
        return false;
    }
    if (!vkf__bytes_of(tensor->dtype, count, &bytes))
        return false;
    *out_bytes = bytes;
    return true;
}

vkf__span vkf__span_of(const vkf_tensor *tensor)
{
    uint64_t bytes = 0;
    if (tensor->rank == 0 || !vkf_tensor_bytes(tensor, &bytes))
        return (vkf__span){0};
    return (vkf__span){
        .buffer = tensor->buffer,
        .offset_bytes = tensor->offset_bytes,
        .size_bytes = bytes,
        .dtype = tensor->dtype,
        .panels = tensor->layout == VKF_LAYOUT_PANELS,
    };
}

vkf__span vkf__span_part(const vkf__span *span, uint64_t first, uint64_t count)
{
    vkf__span part = *span;
    uint64_t offset_bytes = 0;
    (void)vkf__bytes_of(span->dtype, first, &offset_bytes);
    (void)vkf__bytes_of(span->dtype, count, &part.size_bytes);
    part.offset_bytes += offset_bytes;
    return part;
}

bool vkf__span_follows(const vkf__span *first, const vkf__span *second)
{
    return first->buffer == second->buffer && first->panels == second->panels && first->dtype == second->dtype &&
           first->offset_bytes + first->size_bytes == second->offset_bytes;
}

vkf__span vkf__span_joined(const vkf__span *first, const vkf__span *last)
{
    vkf__span whole = *first;
    if (vkf__present(first))
        whole.size_bytes = last->offset_bytes + last->size_bytes - first->offset_bytes;
    return whole;
}

bool vkf__is_one_operand(const vkf__work *work, const vkf__span *first, const vkf__span *second)
{
    return first->buffer == second->buffer && first->dtype == second->dtype &&
           first->offset_bytes <= second->offset_bytes &&
           (second->offset_bytes - first->offset_bytes) % vkf_dtype_size(first->dtype) == 0 &&
           vkf__span_joined(first, second).size_bytes <= work->context->device.plan.caps.max_storage_buffer_range;
}

uint64_t vkf__elements_between(const vkf__span *first, const vkf__span *second)
{
    return (second->offset_bytes - first->offset_bytes) / vkf_dtype_size(first->dtype);
}
