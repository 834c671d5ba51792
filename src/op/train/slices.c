// Where slices of tensors begin and end.
#include "op/train/slices.h"

vkf_status vkf__slices_begin(vkf__work *work, uint32_t count, uint32_t element_bytes, uint32_t step,
                             vkf__slices *out_slices)
{
    const vkf__caps *caps = &work->context->device.plan.caps;
    // A binding begins up to an alignment ahead of its operand.
    const uint64_t limit = (caps->max_storage_buffer_range - caps->storage_buffer_alignment) / element_bytes;
    uint64_t most = 0;
    VKF_RETURN_IF_ERROR(vkf__work_decide(work, count, &most));
    *out_slices = (vkf__slices){
        .most = (uint32_t)most,
        .count = count,
        .each = most <= limit || limit < step ? (uint32_t)most : (uint32_t)(limit / step * step),
    };
    return VKF_OK;
}

static uint32_t least(uint64_t a, uint64_t b)
{
    return (uint32_t)(a < b ? a : b);
}

bool vkf__slices_next(vkf__slices *slices, vkf__slice *out_slice)
{
    const uint64_t begin = slices->at;
    if (begin > 0 && begin >= slices->most)
        return false;
    *out_slice = (vkf__slice){
        .begin = (uint32_t)begin,
        .most = least(slices->most - begin, slices->each),
        .count = slices->count > begin ? least(slices->count - begin, slices->each) : 0,
    };
    slices->at = begin + (slices->each > 0 ? slices->each : 1);
    return true;
}
