#include "op/operand.h"

#include "base/elements.h"

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
