// Linear layers' weights in blocks (VKF_DTYPE_Q8, VKF_DTYPE_Q4): which weights may be, how files hold them, and how
// they come to the device.
#ifndef VKF_MODEL_WEIGHT_BLOCKS_H
#define VKF_MODEL_WEIGHT_BLOCKS_H

#include "base/blocks.h"
#include "base/elements.h"
#include "model/family/weight_names.h"

// Whether the weight of a slot can be in blocks and is worth it: its rows are whole blocks, it has at least a panel's
// rows, and where it is cut into views each of them is whole panels.
bool vkf__fits_blocks(const vkf__weight_slot *slot);

// Whether a file holds a slot's weight in blocks already. It is then a tensor of bytes with a row of blocks for each
// row of the weight, and never transposed.
bool vkf__stored_in_blocks(const vkf__weight_slot *slot, const vkf__stored_tensor *stored, vkf_dtype *out_dtype);

// Whether every slot that reads a tensor can be in blocks: they must be linear layers' weights, and none an embedding.
// *out_slot then describes the whole tensor with all its parts as one weight; otherwise it is not changed.
bool vkf__whole_in_blocks(const vkf__weight_slot *slots, size_t count, const vkf__stored_tensor *tensor,
                          vkf__weight_slot *out_slot);

// A weight that is to be in blocks: the slot, and the stored tensor that it is read from.
typedef struct vkf__block_source {
    const vkf__host *host;
    const vkf__checkpoint *checkpoint;
    const vkf__stored_tensor *stored;
    const vkf__weight_slot *slot;
    vkf_dtype dtype; // of the blocks
} vkf__block_source;

// Writes rows [first, first + count) of the slot as blocks, rounded once from what is stored, or copied if that is
// blocks. `values` is scratch with room for as many rows. Statuses: FORMAT (names an element that is not a finite
// number), OUT_OF_HOST_MEMORY, FILE.
VKF_MUST_CHECK vkf_status vkf__rows_to_blocks(const vkf__block_source *source, uint32_t first, uint32_t count,
                                              float *values, uint8_t *out_blocks);

// Uploads all rows as panels. Statuses: FORMAT, OUT_OF_HOST_MEMORY, FILE, and those of vkf_buffer_write().
VKF_MUST_CHECK vkf_status vkf__upload_blocks(const vkf__block_source *source, const vkf_tensor *to);

#endif
