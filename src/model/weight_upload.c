#include "model/weight_upload.h"

#include <inttypes.h>
#include <string.h>

#define CHUNK_ELEMENTS (1u << 20)

typedef struct upload {
    vkf_context *context;
    const vkf__checkpoint *checkpoint;
    const vkf__stored_tensor *stored;
    const vkf__weight_slot *slot;
    const vkf_tensor *to;
    uint32_t cols;
    size_t element_bytes;
    uint8_t *chunk;  // CHUNK_ELEMENTS, or a row if that is more, in the type of `to`
    uint8_t *column; // as many, of transposed tensors
} upload;

// The type was checked when the tensor was found.
static void convert(const vkf__stored_tensor *stored, uint64_t first, uint64_t count, vkf_dtype dtype, void *out)
{
    switch (dtype) {
    case VKF_DTYPE_F16:
        (void)vkf__stored_to_f16(stored, first, count, out);
        break;
    case VKF_DTYPE_BF16:
        (void)vkf__stored_to_bf16(stored, first, count, out);
        break;
    default:
        (void)vkf__stored_to_f32(stored, first, count, out);
        break;
    }
}

// With a NaN among its weights a model gives nothing but NaN, and says nothing of where it comes from.
static vkf_status check_numbers(const upload *u, uint64_t first, uint64_t count)
{
    uint64_t bad = vkf__stored_first_nan(u->stored, first, count);
    if (bad == first + count)
        return VKF_OK;
    return vkf__fail(&u->context->host, VKF_ERROR_FORMAT, "%s: element %" PRIu64 " of tensor %s is not a number",
                     vkf__checkpoint_path_of(u->checkpoint, u->stored), bad, u->stored->name);
}

// Elements that follow each other on both sides.
static vkf_status upload_run(const upload *u, uint64_t from, uint64_t to, uint64_t count)
{
    vkf_status status = VKF_OK;
    for (uint64_t first = 0; first < count; first += CHUNK_ELEMENTS) {
        uint64_t left = count - first;
        uint64_t part = left < CHUNK_ELEMENTS ? left : CHUNK_ELEMENTS;
        VKF_TRY(check_numbers(u, from + first, part));
        convert(u->stored, from + first, part, u->to->dtype, u->chunk);
        VKF_TRY(vkf_buffer_write(u->to->buffer, u->to->offset_bytes + (to + first) * u->element_bytes, u->chunk,
                                 part * u->element_bytes));
    }
fail:
    return status;
}

// `rows` rows, each of which is a column of the file's tensor, from column `from` on.
static vkf_status upload_columns(const upload *u, uint64_t from, uint64_t to_row, uint32_t rows)
{
    vkf_status status = VKF_OK;
    size_t bytes = u->element_bytes;
    uint64_t stored_cols = u->stored->shape[1];
    uint32_t most = CHUNK_ELEMENTS / u->cols > 0 ? CHUNK_ELEMENTS / u->cols : 1;
    for (uint32_t first = 0; first < rows; first += most) {
        uint32_t part = rows - first < most ? rows - first : most;
        for (uint32_t col = 0; col < u->cols; col++) {
            uint64_t at = col * stored_cols + from + first;
            VKF_TRY(check_numbers(u, at, part));
            convert(u->stored, at, part, u->to->dtype, u->column);
            for (size_t row = 0; row < part; row++)
                memcpy(u->chunk + (row * u->cols + col) * bytes, u->column + row * bytes, bytes);
        }
        VKF_TRY(vkf_buffer_write(u->to->buffer, u->to->offset_bytes + (to_row + first) * u->cols * bytes, u->chunk,
                                 (uint64_t)part * u->cols * bytes));
    }
fail:
    return status;
}

// Rows that follow each other in the file, whole parts at most, at once.
static vkf_status upload_rows(const upload *u)
{
    vkf_status status = VKF_OK;
    const vkf__weight_slot *slot = u->slot;
    uint32_t run = slot->parts > 0 ? slot->part_rows : slot->shape[0];
    for (uint32_t row = 0; row < slot->shape[0]; row += run) {
        uint64_t from = vkf__stored_row(slot, row);
        if (slot->transposed)
            VKF_TRY(upload_columns(u, from, row, run));
        else
            VKF_TRY(upload_run(u, from * u->cols, (uint64_t)row * u->cols, (uint64_t)run * u->cols));
    }
fail:
    return status;
}

vkf_status vkf__upload_weight(vkf_context *context, const vkf__checkpoint *checkpoint, const vkf__stored_tensor *stored,
                              const vkf__weight_slot *slot, const vkf_tensor *to)
{
    vkf_status status = VKF_OK;
    const vkf__host *host = &context->host;
    upload u = {
        .context = context,
        .checkpoint = checkpoint,
        .stored = stored,
        .slot = slot,
        .to = to,
        .cols = slot->rank == 2 ? slot->shape[1] : 1,
        .element_bytes = vkf_dtype_size(to->dtype),
    };
    size_t elements = u.cols > CHUNK_ELEMENTS ? u.cols : CHUNK_ELEMENTS;
    VKF_ALLOC(host, u.chunk, elements * u.element_bytes);
    if (slot->transposed)
        VKF_ALLOC(host, u.column, elements * u.element_bytes);
    VKF_TRY(upload_rows(&u));
fail:
    vkf__free(host, u.chunk);
    vkf__free(host, u.column);
    return status;
}
