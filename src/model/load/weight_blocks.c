// Reads weights as blocks, converts others to blocks, and uploads them as panels.
#include "model/load/weight_blocks.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "kernel/context.h"
#include "model/load/weight_upload.h"

#define COLUMN_ELEMENTS 1024 // elements of a column that are read at once

bool vkf__fits_blocks(const vkf__weight_slot *slot)
{
    bool whole = slot->cut == 0 || slot->shape[0] / slot->cut % VKF_BLOCK_PANEL == 0;
    return slot->linear && whole && slot->shape[0] >= VKF_BLOCK_PANEL && slot->shape[1] > 0 &&
           slot->shape[1] % VKF_BLOCK == 0;
}

bool vkf__stored_in_blocks(const vkf__weight_slot *slot, const vkf__stored_tensor *stored, vkf_dtype *out_dtype)
{
    static const vkf_dtype dtypes[] = {VKF_DTYPE_Q8, VKF_DTYPE_Q4};
    uint64_t rows = (uint64_t)slot->shape[0] * (slot->parts > 0 ? slot->parts : 1);
    if (!vkf__fits_blocks(slot) || stored->type != VKF_STORED_U8 || stored->rank != 2 || stored->shape[0] != rows)
        return false;
    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++) {
        if (stored->shape[1] == vkf__block_row_bytes(dtypes[i], slot->shape[1])) {
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

// How many rows from `row` on, at most `count`, are consecutive in the file as well.
static uint32_t run_of(const vkf__weight_slot *slot, uint32_t row, uint32_t count)
{
    if (slot->parts == 0)
        return count;
    uint32_t left = slot->part_rows - row % slot->part_rows;
    return count < left ? count : left;
}

// Copies blocks as they are stored. Scales are checked, because one that is not finite would spoil every result.
static vkf_status copy_rows(const vkf__block_source *source, uint64_t stored_row, uint32_t count, uint8_t *out_blocks)
{
    size_t block_bytes = vkf_dtype_block_bytes(source->dtype);
    uint64_t bytes = vkf__block_row_bytes(source->dtype, source->slot->shape[1]);
    VKF_RETURN_IF_ERROR(vkf__stored_read(source->stored, stored_row * bytes, count * bytes, out_blocks));
    for (uint64_t at = 0; at < count * bytes; at += block_bytes) {
        uint16_t scale = (uint16_t)(out_blocks[at] | out_blocks[at + 1] << 8);
        if ((scale & 0x7c00) == 0x7c00)
            return fail_number(source, stored_row * bytes + at);
    }
    return VKF_OK;
}

static vkf_status read_rows(const vkf__block_source *source, uint64_t stored_row, uint32_t count, float *out_values)
{
    uint64_t elements = (uint64_t)count * source->slot->shape[1], first = stored_row * source->slot->shape[1];
    VKF_RETURN_IF_ERROR(vkf__stored_convert(source->host, source->stored, first, elements, VKF_DTYPE_F32, out_values));
    for (uint64_t i = 0; i < elements; i++)
        if (!isfinite(out_values[i]))
            return fail_number(source, first + i);
    return VKF_OK;
}

// Reads rows of the slot that are columns of the file's tensor. Each read takes up to COLUMN_ELEMENTS consecutive
// elements of a row of the file, which are one element each of as many rows of the slot.
static vkf_status read_columns(const vkf__block_source *source, uint64_t stored_col, uint32_t count, float *out_values)
{
    uint8_t room[COLUMN_ELEMENTS * sizeof(float)]; // no type of weights is wider
    float values[COLUMN_ELEMENTS];
    uint32_t cols = source->slot->shape[1];
    for (uint32_t row = 0; row < count; row += COLUMN_ELEMENTS) {
        uint32_t part_rows = count - row < COLUMN_ELEMENTS ? count - row : COLUMN_ELEMENTS;
        for (uint32_t col = 0; col < cols; col++) {
            uint64_t first = col * source->stored->shape[1] + stored_col + row;
            vkf__stored_tensor part;
            VKF_RETURN_IF_ERROR(vkf__stored_part(source->stored, first, part_rows, room, &part));
            (void)vkf__stored_to_f32(&part, 0, part_rows, values);
            for (uint32_t i = 0; i < part_rows; i++) {
                if (!isfinite(values[i]))
                    return fail_number(source, first + i);
                out_values[(size_t)(row + i) * cols + col] = values[i];
            }
        }
    }
    return VKF_OK;
}

vkf_status vkf__rows_to_blocks(const vkf__block_source *source, uint32_t first, uint32_t count, float *values,
                               uint8_t *out_blocks)
{
    const vkf__weight_slot *slot = source->slot;
    size_t cols = slot->shape[1];
    vkf_dtype stored_dtype;
    bool stored = vkf__stored_in_blocks(slot, source->stored, &stored_dtype);
    for (uint32_t i = 0, run; i < count; i += run) {
        uint64_t stored_row = vkf__stored_row(slot, first + i);
        run = run_of(slot, first + i, count - i);
        if (stored)
            VKF_RETURN_IF_ERROR(copy_rows(source, stored_row, run,
                                          out_blocks + i * vkf__block_row_bytes(source->dtype, slot->shape[1])));
        else if (slot->transposed)
            VKF_RETURN_IF_ERROR(read_columns(source, stored_row, run, values + i * cols));
        else
            VKF_RETURN_IF_ERROR(read_rows(source, stored_row, run, values + i * cols));
    }
    if (!stored)
        vkf__blocks_from_f32_on_threads(source->dtype, values, count * cols / VKF_BLOCK, out_blocks);
    return VKF_OK;
}

vkf_status vkf__upload_blocks(const vkf__block_source *source, const vkf_tensor *to)
{
    vkf_status status = VKF_OK, ended = VKF_OK;
    const vkf__host *host = source->host;
    uint32_t rows = source->slot->shape[0], cols = source->slot->shape[1];
    uint32_t most = vkf__block_rows_at_once(rows, cols);
    uint64_t bytes = vkf__block_row_bytes(source->dtype, cols), panel_bytes = VKF_BLOCK_PANEL * bytes;
    float *values = NULL;
    uint8_t *blocks = NULL, *chunk = NULL;
    vkf__transfer_flow flow = {.transfer = to->buffer->transfer};
    VKF_ALLOC(host, values, (size_t)most * cols);
    VKF_ALLOC(host, blocks, most * bytes);
    VKF_ALLOC(host, chunk, vkf__panels_of(most) * panel_bytes);
    for (uint32_t first = 0; first < rows; first += most) {
        uint32_t count = rows - first < most ? rows - first : most;
        VKF_TRY(vkf__rows_to_blocks(source, first, count, values, blocks));
        vkf__blocks_to_panels(source->dtype, blocks, count, cols, chunk);
        VKF_TRY(vkf__buffer_write_on(&flow, to->buffer, to->offset_bytes + first / VKF_BLOCK_PANEL * panel_bytes, chunk,
                                     vkf__panels_of(count) * panel_bytes));
    }
fail:
    ended = vkf__transfer_flow_end(&flow);
    vkf__free(host, values);
    vkf__free(host, blocks);
    vkf__free(host, chunk);
    return status != VKF_OK ? status : ended;
}
