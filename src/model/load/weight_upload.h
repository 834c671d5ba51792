// Brings stored tensors to the device: converts their type, takes them out of fused ones, and transposes them where the
// file has them transposed.
#ifndef VKF_MODEL_WEIGHT_UPLOAD_H
#define VKF_MODEL_WEIGHT_UPLOAD_H

#include "model/family/weight_names.h"

// The index of a slot's row in the file's tensor: of a row there, or of a column where that is transposed.
static inline uint64_t vkf__stored_row(const vkf__weight_slot *slot, uint32_t row)
{
    if (slot->parts == 0)
        return row;
    return ((uint64_t)(row / slot->part_rows) * slot->parts + slot->part) * slot->part_rows + row % slot->part_rows;
}

// Writes the tensor of a slot, whose type and shape were checked, as compact rows to the device; a tensor `to` without
// a buffer has only a type, and all is read and checked for it. Statuses: FORMAT
// (names an element that is not a finite number), OUT_OF_HOST_MEMORY, FILE, and those of vkf_buffer_write().
VKF_MUST_CHECK vkf_status vkf__upload_weight(vkf_context *context, const vkf__checkpoint *checkpoint,
                                             const vkf__stored_tensor *stored, const vkf__weight_slot *slot,
                                             const vkf_tensor *to);

#endif
