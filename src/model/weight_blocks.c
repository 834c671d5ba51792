#include "model/weight_blocks.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/half.h"
#include "model/weight_upload.h"

// Elements that are converted at once, in whole panels.
#define CHUNK_ELEMENTS (1u << 20)

bool vkf__fits_blocks(const vkf__weight_slot *slot)
{
    bool whole = slot->cut == 0 || slot->shape[0] / slot->cut % VKF_BLOCK_PANEL == 0;
    return slot->linear && whole && slot->shape[0] >= VKF_BLOCK_PANEL && slot->shape[1] > 0 &&
           slot->shape[1] % VKF_BLOCK == 0;
}

static uint64_t row_bytes(vkf_dtype dtype, uint32_t cols)
{
    return cols / VKF_BLOCK * vkf_dtype_block_bytes(dtype);
}

bool vkf__stored_in_blocks(const vkf__weight_slot *slot, const vkf__stored_tensor *stored, vkf_dtype *out_dtype)
{
    static const vkf_dtype dtypes[] = {VKF_DTYPE_Q8, VKF_DTYPE_Q4};
    uint64_t rows = (uint64_t)slot->shape[0] * (slot->parts > 0 ? slot->parts : 1);
    if (!vkf__fits_blocks(slot) || stored->type != VKF_STORED_U8 || stored->rank != 2 || stored->shape[0] != rows)
        return false;
    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++) {
        if (stored->shape[1] == row_bytes(dtypes[i], slot->shape[1])) {
            *out_dtype = dtypes[i];
            return true;
        }
    }
    return false;
}

bool vkf__whole_in_blocks(const vkf__weight_slot *slots, size_t count, const vkf__stored_tensor *tensor,
                          vkf__weight_slot *out_slot)
{
    const vkf__weight_slot *found = NULL;
    bool known = tensor->type == VKF_STORED_F32 || tensor->type == VKF_STORED_F16 || tensor->type == VKF_STORED_BF16;
    for (size_t i = 0; known && i < count; i++) {
        if (strcmp(slots[i].name, tensor->name) != 0)
            continue;
        if (!vkf__fits_blocks(&slots[i]) || slots[i].tied)
            return false;
        found = &slots[i];
    }
    uint32_t rows_at = found && found->transposed ? 1 : 0;
    if (!found || tensor->rank != 2 || tensor->shape[1 - rows_at] != found->shape[1] ||
        tensor->shape[rows_at] > UINT32_MAX)
        return false;
    *out_slot = *found;
    out_slot->parts = 0;
    out_slot->shape[0] = (uint32_t)tensor->shape[rows_at];
    return true;
}

static vkf_status fail_number(const vkf__block_source *source, uint64_t element)
{
    return vkf__fail(source->host, VKF_ERROR_FORMAT, "%s: element %" PRIu64 " of tensor %s is not a finite number",
                     vkf__checkpoint_path_of(source->checkpoint, source->stored), element, source->stored->name);
}

// Blocks as they are stored; a scale or minimum that is not finite would spoil every result.
static vkf_status copy_row(const vkf__block_source *source, uint64_t stored_row, uint8_t *out_blocks)
{
    size_t block_bytes = vkf_dtype_block_bytes(source->dtype), head_bytes = vkf__block_head_bytes(source->dtype);
    uint64_t bytes = row_bytes(source->dtype, source->slot->shape[1]);
    memcpy(out_blocks, source->stored->data + stored_row * bytes, bytes);
    for (uint64_t at = 0; at < bytes; at += block_bytes) {
        for (size_t i = 0; i < head_bytes; i += 2) {
            uint16_t half = (uint16_t)(out_blocks[at + i] | out_blocks[at + i + 1] << 8);
            if ((half & 0x7c00) == 0x7c00)
                return fail_number(source, stored_row * bytes + at + i);
        }
    }
    return VKF_OK;
}

static vkf_status read_row(const vkf__block_source *source, uint64_t stored_row, float *out_values)
{
    const vkf__stored_tensor *stored = source->stored;
    uint32_t cols = source->slot->shape[1];
    bool transposed = source->slot->transposed;
    if (transposed) {
        for (uint32_t col = 0; col < cols; col++)
            (void)vkf__stored_to_f32(stored, col * stored->shape[1] + stored_row, 1, &out_values[col]);
    } else {
        (void)vkf__stored_to_f32(stored, stored_row * cols, cols, out_values);
    }
    for (uint32_t col = 0; col < cols; col++) {
        if (!isfinite(out_values[col]))
            return fail_number(source, transposed ? col * stored->shape[1] + stored_row : stored_row * cols + col);
    }
    return VKF_OK;
}

vkf_status vkf__rows_to_blocks(const vkf__block_source *source, uint32_t first, uint32_t count, float *values,
                               uint8_t *out_blocks)
{
    vkf_status status = VKF_OK;
    uint32_t cols = source->slot->shape[1];
    vkf_dtype stored_dtype;
    bool stored = vkf__stored_in_blocks(source->slot, source->stored, &stored_dtype);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t stored_row = vkf__stored_row(source->slot, first + i);
        uint8_t *blocks = out_blocks + i * row_bytes(source->dtype, cols);
        if (stored)
            VKF_TRY(copy_row(source, stored_row, blocks));
        else
            VKF_TRY(read_row(source, stored_row, values + (size_t)i * cols));
    }
    if (!stored)
        vkf__blocks_from_f32(source->dtype, values, (size_t)count * cols / VKF_BLOCK, out_blocks);
fail:
    return status;
}

vkf_status vkf__upload_blocks(const vkf__block_source *source, const vkf_tensor *to)
{
    vkf_status status = VKF_OK;
    const vkf__host *host = source->host;
    uint32_t rows = source->slot->shape[0], cols = source->slot->shape[1];
    uint64_t bytes = row_bytes(source->dtype, cols), panel_bytes = VKF_BLOCK_PANEL * bytes;
    uint32_t panels = CHUNK_ELEMENTS / VKF_BLOCK_PANEL / cols > 0 ? CHUNK_ELEMENTS / VKF_BLOCK_PANEL / cols : 1;
    float *values = NULL;
    uint8_t *blocks = NULL, *chunk = NULL;
    VKF_ALLOC(host, values, (size_t)VKF_BLOCK_PANEL * cols);
    VKF_ALLOC(host, blocks, panel_bytes);
    VKF_ALLOC(host, chunk, panels * panel_bytes);
    for (uint32_t first = 0; first < rows; first += panels * VKF_BLOCK_PANEL) {
        uint32_t used = 0;
        for (uint32_t row = first; row < rows && used < panels; row += VKF_BLOCK_PANEL, used++) {
            uint32_t count = rows - row < VKF_BLOCK_PANEL ? rows - row : VKF_BLOCK_PANEL;
            VKF_TRY(vkf__rows_to_blocks(source, row, count, values, blocks));
            vkf__blocks_to_panel(source->dtype, blocks, count, cols, chunk + used * panel_bytes);
        }
        VKF_TRY(vkf_buffer_write(to->buffer, to->offset_bytes + first / VKF_BLOCK_PANEL * panel_bytes, chunk,
                                 used * panel_bytes));
    }
fail:
    vkf__free(host, values);
    vkf__free(host, blocks);
    vkf__free(host, chunk);
    return status;
}
