// Reads tensors in chunks, converts and checks their elements, and writes them to the device row by row.
#include "model/load/weight_upload.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "kernel/context.h"
#include "model/load/finite.h"

#define CHUNK_ELEMENTS (1u << 20)

typedef struct upload {
    vkf_context *context;
    vkf__transfer_flow flow; // the device copies what was written while more is read and converted
    const vkf__checkpoint *checkpoint;
    const vkf__stored_tensor *stored;
    const vkf__weight_slot *slot;
    const vkf_tensor *to;
    uint32_t cols;
    size_t element_bytes;
    // Each has room for CHUNK_ELEMENTS, for a row if that is more, or for all elements if they are fewer.
    uint8_t *read;   // elements as they are stored
    uint8_t *chunk;  // in the type of `to`
    uint8_t *column; // the same, for a column of a transposed tensor
} upload;

// Checks that all elements are finite. A model with a NaN or an infinity among its weights gives NaN, and nothing shows
// where that comes from. A number that is finite in the file may be infinite in the type that is asked for. `elements`
// is `part` in that type; it begins at element `first` of the file's tensor.
static vkf_status check_numbers(const upload *u, const vkf__stored_tensor *part, uint64_t first,
                                const uint8_t *elements)
{
    const vkf__host *host = &u->context->host;
    const char *path = vkf__checkpoint_path_of(u->checkpoint, u->stored), *name = u->stored->name;
    uint64_t bad = vkf__first_not_finite(u->to->dtype, elements, part->count);
    float value = NAN;
    if (bad == part->count)
        return VKF_OK;
    (void)vkf__stored_to_f32(part, bad, 1, &value);
    if (!isfinite(value))
        return vkf__fail(host, VKF_ERROR_FORMAT, "%s: element %" PRIu64 " of tensor %s is not a finite number", path,
                         first + bad, name);
    return vkf__fail(host, VKF_ERROR_FORMAT,
                     "%s: element %" PRIu64 " of tensor %s is %g, which weights in %s cannot hold; ask for f32", path,
                     first + bad, name, (double)value, vkf_dtype_name(u->to->dtype));
}

// Loads elements in the type of `to` and checks them. They stay where they were read if they are stored in that type,
// and are converted into `room` otherwise.
static vkf_status load(const upload *u, uint64_t first, uint64_t count, uint8_t *room, const uint8_t **out_elements)
{
    vkf__stored_tensor part;
    VKF_RETURN_IF_ERROR(vkf__stored_part(u->stored, first, count, u->read, &part));
    bool same = vkf__stored_is_dtype(part.type, u->to->dtype);
    if (!same)
        VKF_RETURN_IF_ERROR(vkf__stored_convert(&u->context->host, &part, 0, count, u->to->dtype, room));
    VKF_RETURN_IF_ERROR(check_numbers(u, &part, first, same ? part.data : room));
    *out_elements = same ? part.data : room;
    return VKF_OK;
}

static vkf_status write_at(upload *u, uint64_t element, const uint8_t *elements, uint64_t count)
{
    if (!u->to->buffer)
        return VKF_OK;
    return vkf__buffer_write_on(&u->flow, u->to->buffer, u->to->offset_bytes + element * u->element_bytes, elements,
                                count * u->element_bytes);
}

// Uploads elements that are consecutive in the file and on the device.
static vkf_status upload_run(upload *u, uint64_t from, uint64_t to, uint64_t count)
{
    for (uint64_t first = 0; first < count; first += CHUNK_ELEMENTS) {
        uint64_t left = count - first;
        uint64_t part = left < CHUNK_ELEMENTS ? left : CHUNK_ELEMENTS;
        const uint8_t *elements = NULL;
        VKF_RETURN_IF_ERROR(load(u, from + first, part, u->chunk, &elements));
        VKF_RETURN_IF_ERROR(write_at(u, to + first, elements, part));
    }
    return VKF_OK;
}

// Uploads `rows` rows, each of which is a column of the file's tensor, from column `from` on.
static vkf_status upload_columns(upload *u, uint64_t from, uint64_t to_row, uint32_t rows)
{
    size_t bytes = u->element_bytes;
    uint64_t stored_cols = u->stored->shape[1];
    uint32_t most = CHUNK_ELEMENTS / u->cols > 0 ? CHUNK_ELEMENTS / u->cols : 1;
    for (uint32_t first = 0; first < rows; first += most) {
        uint32_t part = rows - first < most ? rows - first : most;
        for (uint32_t col = 0; col < u->cols; col++) {
            const uint8_t *column = NULL;
            VKF_RETURN_IF_ERROR(load(u, col * stored_cols + from + first, part, u->column, &column));
            for (size_t row = 0; row < part; row++)
                memcpy(u->chunk + (row * u->cols + col) * bytes, column + row * bytes, bytes);
        }
        VKF_RETURN_IF_ERROR(write_at(u, (to_row + first) * u->cols, u->chunk, (uint64_t)part * u->cols));
    }
    return VKF_OK;
}

// Uploads all rows of a slot, as many at once as are consecutive in the file.
static vkf_status upload_rows(upload *u)
{
    const vkf__weight_slot *slot = u->slot;
    uint32_t run = slot->parts > 0 ? slot->part_rows : slot->shape[0];
    for (uint32_t row = 0; row < slot->shape[0]; row += run) {
        uint64_t from = vkf__stored_row(slot, row);
        if (slot->transposed)
            VKF_RETURN_IF_ERROR(upload_columns(u, from, row, run));
        else
            VKF_RETURN_IF_ERROR(upload_run(u, from * u->cols, (uint64_t)row * u->cols, (uint64_t)run * u->cols));
    }
    return VKF_OK;
}

vkf_status vkf__upload_weight(vkf_context *context, const vkf__checkpoint *checkpoint, const vkf__stored_tensor *stored,
                              const vkf__weight_slot *slot, const vkf_tensor *to)
{
    vkf_status status = VKF_OK, ended = VKF_OK;
    const vkf__host *host = &context->host;
    upload u = {
        .context = context,
        .flow = {.transfer = &context->transfer},
        .checkpoint = checkpoint,
        .stored = stored,
        .slot = slot,
        .to = to,
        .cols = slot->rank == 2 ? slot->shape[1] : 1,
        .element_bytes = vkf_dtype_size(to->dtype),
    };
    uint64_t elements = (uint64_t)slot->shape[0] * u.cols, most = u.cols > CHUNK_ELEMENTS ? u.cols : CHUNK_ELEMENTS;
    if (elements > most)
        elements = most;
    VKF_ALLOC(host, u.read, elements * vkf__stored_type_size(stored->type));
    VKF_ALLOC(host, u.chunk, elements * u.element_bytes);
    if (slot->transposed)
        VKF_ALLOC(host, u.column, elements * u.element_bytes);
    VKF_TRY(upload_rows(&u));
fail:
    ended = vkf__transfer_flow_end(&u.flow);
    vkf__free(host, u.read);
    vkf__free(host, u.chunk);
    vkf__free(host, u.column);
    return status != VKF_OK ? status : ended;
}
