// Stored tensors on their way to the device: converted, taken out of fused ones, and turned round where files keep them so.
#ifndef VKF_MODEL_WEIGHT_UPLOAD_H
#define VKF_MODEL_WEIGHT_UPLOAD_H

#include "model/weight_names.h"

// Where a row of a slot stands in the file's tensor: a row of it, or a column of a transposed one.
static inline uint64_t vkf__stored_row(const vkf__weight_slot *slot, uint32_t row)
{
    if (slot->parts == 0)
        return row;
    return ((uint64_t)(row / slot->part_rows) * slot->parts + slot->part) * slot->part_rows + row % slot->part_rows;
}

// The tensor of a slot, whose type and shape were checked, to compact rows on the device. Statuses: FORMAT (names an
// element that is not a number), OUT_OF_HOST_MEMORY, FILE, and those of vkf_buffer_write().
VKF_MUST_CHECK vkf_status vkf__upload_weight(vkf_context *context, const vkf__checkpoint *checkpoint,
                                             const vkf__stored_tensor *stored, const vkf__weight_slot *slot,
                                             const vkf_tensor *to);

#endif
