// Public entry point of weights that are rounded to blocks, and how blocks get onto the device and back.
#include "api/block_tensor.h"

#include <math.h>
#include <string.h>

#include "api/check.h"
#include "base/blocks.h"
#include "base/elements.h"
#include "base/half.h"
#include "shared/blocks.h"

bool vkf__is_block_tensor(const vkf_tensor *tensor, uint64_t *out_bytes)
{
    uint64_t count = 0;
    return vkf__is_blocks(tensor->dtype) && tensor->layout == VKF_LAYOUT_PANELS && tensor->rank == 2 &&
           tensor->shape[1] % VKF_BLOCK == 0 && tensor->offset_bytes % VKF_BLOCKS_ALIGNMENT == 0 &&
           vkf_tensor_count(tensor, &count) && vkf__bytes_of(tensor->dtype, count, out_bytes);
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
    const vkf_tensor *tensor = m->tensor;
    const uint32_t k = tensor->shape[1];
    const uint64_t bytes = vkf__block_row_bytes(tensor->dtype, k),
                   size = vkf__panels_of(count) * VKF_BLOCK_PANEL * bytes,
                   at = tensor->offset_bytes + (m->first + begin) * bytes;
    if (!m->out_rows) {
        vkf__blocks_to_panels(tensor->dtype, m->rows + begin * bytes, count, k, panels);
        return vkf_buffer_write(tensor->buffer, at, panels, size);
    }
    VKF_RETURN_IF_ERROR(vkf_buffer_read(tensor->buffer, at, panels, size));
    vkf__blocks_from_panels(tensor->dtype, panels, count, k, m->out_rows + begin * bytes);
    return VKF_OK;
}

static vkf_status move_rows(const panel_move *m)
{
    vkf_status status = VKF_OK;
    const vkf_tensor *tensor = m->tensor;
    uint8_t *panels = NULL;
    if (m->count == 0 || tensor->shape[1] == 0)
        return VKF_OK;
    const vkf__host *host = tensor->buffer->transfer->memory->device->host;
    const uint32_t most = vkf__block_rows_at_once(tensor->shape[0], tensor->shape[1]);
    VKF_ALLOC(host, panels,
              vkf__panels_of(most) * VKF_BLOCK_PANEL * vkf__block_row_bytes(tensor->dtype, tensor->shape[1]));
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

// What the rounding of a weight passes through, vkf__block_rows_at_once() rows of it.
typedef struct rounding {
    uint8_t *stored; // as the weight stores them
    float *values;
    uint8_t *blocks;
} rounding;

static void widen(vkf_dtype dtype, const uint8_t *stored, size_t count, float *out_values)
{
    const uint16_t *halves = (const uint16_t *)(const void *)stored;
    if (dtype == VKF_DTYPE_F32)
        memcpy(out_values, stored, count * sizeof *out_values);
    else if (dtype == VKF_DTYPE_F16)
        vkf_f16_to_f32(halves, out_values, count);
    for (size_t i = 0; dtype == VKF_DTYPE_BF16 && i < count; i++)
        out_values[i] = vkf__float_from_bfloat(halves[i]);
}

static vkf_status round_part(const vkf__checker *check, const vkf_tensor *weight, uint32_t first, uint32_t count,
                             const rounding *r, const vkf_tensor *to)
{
    const uint32_t k = weight->shape[1];
    const uint64_t size = vkf_dtype_size(weight->dtype);
    const size_t elements = (size_t)count * k;
    VKF_RETURN_IF_ERROR(
        vkf_buffer_read(weight->buffer, weight->offset_bytes + (uint64_t)first * k * size, r->stored, elements * size));
    widen(weight->dtype, r->stored, elements, r->values);
    for (size_t i = 0; i < elements; i++)
        if (!isfinite(r->values[i]))
            return vkf__fail(check->host, VKF_ERROR_INVALID_ARGUMENT, "%s: weight[%zu, %zu] is no finite number",
                             check->function, first + i / k, i % k);
    vkf__blocks_from_f32_on_threads(to->dtype, r->values, elements / VKF_BLOCK, r->blocks);
    return vkf__block_rows_write(to, first, count, r->blocks);
}

static vkf_status round_weight(const vkf__checker *check, const vkf_tensor *weight, const vkf_tensor *to)
{
    vkf_status status = VKF_OK;
    const uint32_t k = weight->shape[1], n = weight->shape[0], most = vkf__block_rows_at_once(n, k);
    const size_t elements = (size_t)most * k;
    rounding r = {0};
    VKF_ALLOC(check->host, r.stored, elements * vkf_dtype_size(weight->dtype));
    VKF_ALLOC(check->host, r.values, elements);
    VKF_ALLOC(check->host, r.blocks, most * vkf__block_row_bytes(to->dtype, k));
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
