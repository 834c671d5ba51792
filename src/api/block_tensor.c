// Public entry point of weights that are rounded to blocks, and how blocks get onto the device and back.
#include "api/block_tensor.h"

#include <math.h>

#include "api/check.h"
#include "base/blocks.h"
#include "base/elements.h"
#include "op/execution.h"
#include "shared/blocks.h"

#define CHUNK_ELEMENTS (1u << 20)

bool vkf__is_block_tensor(const vkf_tensor *tensor, uint64_t *out_bytes)
{
    uint64_t count = 0;
    return vkf__is_blocks(tensor->dtype) && tensor->layout == VKF_LAYOUT_PANELS && tensor->rank == 2 &&
           tensor->shape[1] % VKF_BLOCK == 0 && tensor->offset_bytes % VKF_BLOCKS_ALIGNMENT == 0 &&
           vkf_tensor_count(tensor, &count) && count > 0 && vkf__bytes_of(tensor->dtype, count, out_bytes);
}

static uint64_t row_bytes(const vkf_tensor *tensor)
{
    return (uint64_t)tensor->shape[1] / VKF_BLOCK * vkf_dtype_block_bytes(tensor->dtype);
}

// Rows of whole panels, about as many as CHUNK_ELEMENTS have.
static uint32_t rows_at_once(const vkf_tensor *tensor)
{
    const uint32_t panels = CHUNK_ELEMENTS / VKF_BLOCK_PANEL / tensor->shape[1];
    const uint32_t rows = (panels > 0 ? panels : 1) * VKF_BLOCK_PANEL;
    return tensor->shape[0] < rows ? tensor->shape[0] : rows;
}

typedef struct panel_move {
    const vkf_tensor *tensor;
    uint32_t first, count; // rows
    const uint8_t *rows;   // to write; or
    uint8_t *out_rows;     // to read
} panel_move;

// Moves one part of the rows, whose panels go through `panels`.
static vkf_status move_part(const panel_move *m, uint32_t begin, uint32_t count, uint8_t *panels)
{
    const uint64_t bytes = row_bytes(m->tensor),
                   size = (count + VKF_BLOCK_PANEL - 1) / VKF_BLOCK_PANEL * VKF_BLOCK_PANEL * bytes;
    const uint64_t at = m->tensor->offset_bytes + (m->first + begin) * bytes;
    if (m->out_rows)
        VKF_RETURN_IF_ERROR(vkf_buffer_read(m->tensor->buffer, at, panels, size));
    for (uint32_t row = 0; row < count; row += VKF_BLOCK_PANEL) {
        const uint32_t left = count - row, rows = left < VKF_BLOCK_PANEL ? left : VKF_BLOCK_PANEL;
        uint8_t *panel = panels + row * bytes;
        if (m->out_rows)
            vkf__blocks_from_panel(m->tensor->dtype, panel, rows, m->tensor->shape[1],
                                   m->out_rows + (begin + row) * bytes);
        else
            vkf__blocks_to_panel(m->tensor->dtype, m->rows + (begin + row) * bytes, rows, m->tensor->shape[1], panel);
    }
    return m->out_rows ? VKF_OK : vkf_buffer_write(m->tensor->buffer, at, panels, size);
}

static vkf_status move_rows(const panel_move *m)
{
    vkf_status status = VKF_OK;
    const vkf__host *host = m->tensor->buffer->transfer->memory->device->host;
    const uint32_t most = rows_at_once(m->tensor);
    uint8_t *panels = NULL;
    VKF_ALLOC(host, panels, (most + VKF_BLOCK_PANEL - 1) / VKF_BLOCK_PANEL * VKF_BLOCK_PANEL * row_bytes(m->tensor));
    for (uint32_t begin = 0; begin < m->count; begin += most)
        VKF_TRY(move_part(m, begin, m->count - begin < most ? m->count - begin : most, panels));
fail:
    vkf__free(host, panels);
    return status;
}

vkf_status vkf__block_rows_write(const vkf_tensor *tensor, uint32_t first, uint32_t count, const void *rows)
{
    return move_rows(&(panel_move){.tensor = tensor, .first = first, .count = count, .rows = rows});
}

vkf_status vkf__block_rows_read(const vkf_tensor *tensor, uint32_t first, uint32_t count, void *out_rows)
{
    return move_rows(&(panel_move){.tensor = tensor, .first = first, .count = count, .out_rows = out_rows});
}

// What the rounding of a weight passes through, rows_at_once() rows of it.
typedef struct rounding {
    uint8_t *stored; // as the weight stores them
    float *values;
    uint8_t *blocks;
} rounding;

static vkf_status round_part(const vkf__checker *check, const vkf_tensor *weight, uint32_t first, uint32_t count,
                             const rounding *r, const vkf_tensor *to)
{
    const uint32_t k = weight->shape[1];
    const uint64_t size = vkf_dtype_size(weight->dtype);
    const size_t elements = (size_t)count * k;
    VKF_RETURN_IF_ERROR(
        vkf_buffer_read(weight->buffer, weight->offset_bytes + (uint64_t)first * k * size, r->stored, elements * size));
    for (size_t i = 0; i < elements; i++) {
        r->values[i] = (float)vkf__element_value(weight->dtype, r->stored + i * size);
        if (!isfinite(r->values[i]))
            return vkf__fail(check->host, VKF_ERROR_INVALID_ARGUMENT, "%s: weight[%zu, %zu] is no finite number",
                             check->function, first + i / k, i % k);
    }
    vkf__blocks_from_f32_on_threads(to->dtype, r->values, elements / VKF_BLOCK, r->blocks);
    return vkf__block_rows_write(to, first, count, r->blocks);
}

static vkf_status round_weight(const vkf__checker *check, const vkf_tensor *weight, const vkf_tensor *to)
{
    vkf_status status = VKF_OK;
    const uint32_t most = rows_at_once(to), n = weight->shape[0];
    const size_t elements = (size_t)most * weight->shape[1];
    rounding r = {0};
    VKF_ALLOC(check->host, r.stored, elements * vkf_dtype_size(weight->dtype));
    VKF_ALLOC(check->host, r.values, elements);
    VKF_ALLOC(check->host, r.blocks, most * row_bytes(to));
    for (uint32_t first = 0; first < n; first += most)
        VKF_TRY(round_part(check, weight, first, n - first < most ? n - first : most, &r, to));
fail:
    vkf__free(check->host, r.stored);
    vkf__free(check->host, r.values);
    vkf__free(check->host, r.blocks);
    return status;
}

vkf_status vkf_quantize_weight(vkf_context *context, const vkf_tensor *weight, vkf_dtype dtype, const char *name,
                               vkf_tensor *out_quantized)
{
    if (!context || !weight || !out_quantized)
        return vkf__null_argument(__func__);
    vkf_status status = vkf__context_enter(context, __func__);
    if (status != VKF_OK)
        return status;
    vkf_tensor quantized = {0};
    const vkf__checker check = {.host = &context->host, .function = "vkf_quantize_weight", .context = context};
    VKF_RETURN_IF_ERROR(vkf__check_factor(&check, weight, "weight"));
    if (weight->rank != 2 || weight->shape[1] % VKF_BLOCK != 0)
        return vkf__fail(check.host, VKF_ERROR_INVALID_ARGUMENT,
                         "%s: weight must be of rank 2, its rows whole blocks of 32 elements", check.function);
    if (!vkf__is_blocks(dtype))
        return vkf__fail(check.host, VKF_ERROR_INVALID_ARGUMENT, "%s: dtype is %s, expected q8 or q4", check.function,
                         vkf_dtype_name(dtype));
    VKF_TRY(vkf_tensor_create(context, dtype, 2, weight->shape, name ? name : "blocks", &quantized));
    VKF_TRY(round_weight(&check, weight, &quantized));
    *out_quantized = quantized;
    return VKF_OK;
fail:
    vkf_tensor_destroy(&quantized);
    return status;
}
