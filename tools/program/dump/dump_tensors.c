// Collects what dispatches write, and puts the parts of a module's tensor together.
#include "dump/dump_tensors.h"

#include <stdio.h>
#include <string.h>

#include "dump/dump.h"
#include "io/safetensors.h"

void vkf_dump_tensors_clear(const vkf__host *host, vkf_dump_tensors *tensors)
{
    for (size_t i = 0; i < tensors->count; i++)
        vkf__free(host, tensors->items[i].values);
    vkf__free(host, tensors->items);
    *tensors = (vkf_dump_tensors){.batch = tensors->batch, .memory_batch = tensors->memory_batch};
}

// ---- collecting

static uint64_t count_of(const vkf_dump_tensor *tensor)
{
    uint64_t count = 1;
    for (uint32_t i = 0; i < tensor->rank; i++)
        count *= tensor->shape[i];
    return count;
}

// Appends a tensor of the same kind and shape, with all values zero.
static vkf_status append(const vkf__host *host, vkf_dump_tensors *tensors, const vkf_dump_tensor *like,
                         vkf_dump_tensor **out_tensor)
{
    vkf_status status = VKF_OK;
    vkf_dump_tensor tensor = *like;
    tensor.count = count_of(like);
    VKF_ALLOC(host, tensor.values, (size_t)tensor.count);
    VKF_TRY(vkf__grow(host, (void **)&tensors->items, sizeof *tensors->items, tensors->count, &tensors->capacity,
                      tensors->count + 1));
    *out_tensor = &tensors->items[tensors->count++];
    **out_tensor = tensor;
    return VKF_OK;
fail:
    vkf__free(host, tensor.values);
    return status;
}

// A second tensor of the same name gets the suffix "#2".
static void set_own_name(const vkf_dump_tensors *tensors, const vkf_probe_output *output, bool counted, char *out_name)
{
    uint32_t same = 1;
    int length = snprintf(out_name, VKF_MODULE_NAME_MAX, VKF_DUMP_OWN "%.40s.%.60s", output->part, output->label);
    for (size_t i = 0; counted && i < tensors->count; i++)
        if (strcmp(tensors->items[i].own_name, out_name) == 0)
            (void)snprintf(out_name + length, VKF_MODULE_NAME_MAX - (size_t)length, "#%u", ++same);
}

static vkf_status add_own(const vkf__host *host, vkf_dump_tensors *tensors, const vkf_probe_output *output)
{
    vkf_dump_tensor like = {.rank = output->rank}, *tensor = NULL;
    memcpy(like.shape, output->shape, sizeof like.shape);
    set_own_name(tensors, output, true, like.own_name);
    VKF_RETURN_IF_ERROR(append(host, tensors, &like, &tensor));
    memcpy(tensor->values, output->values, (size_t)output->count * sizeof(float));
    return VKF_OK;
}

// The shape (rows, width) of a module's tensor, and the columns of it that an output has.
typedef struct view {
    uint32_t batch, rows, width;
    uint32_t first, columns;
} view;

static uint32_t columns_of(const vkf_module_result *place, const vkf_probe_output *output, uint32_t width)
{
    if (place->key_heads > 0)
        return place->key_heads * place->head_dim;
    return place->in_heads ? width : output->shape[output->rank - 1];
}

// The slices of a product follow each other, each with its own columns; after the last one they begin again. False: the
// output does not fit the place, and keeps its own name.
static bool find_view(vkf_dump_tensors *tensors, const vkf_module_result *place, const vkf_probe_output *output,
                      view *out_view)
{
    char label[VKF_MODULE_NAME_MAX];
    view v = {.batch = place->of_memory ? tensors->memory_batch : tensors->batch};
    for (uint32_t i = 0; i < place->piece_count; i++)
        v.width += place->pieces[i].width;
    v.columns = columns_of(place, output, v.width);
    if (v.width == 0 || v.batch == 0 || v.columns == 0 || v.columns > v.width || output->count % v.columns != 0)
        return false;
    v.rows = (uint32_t)(output->count / v.columns);
    set_own_name(tensors, output, false, label);
    if (strcmp(label, tensors->label) != 0 || tensors->columns + v.columns > v.width)
        tensors->columns = 0;
    memcpy(tensors->label, label, sizeof label);
    v.first = tensors->columns;
    tensors->columns += v.columns;
    *out_view = v;
    return v.rows % v.batch == 0;
}

static vkf_dump_tensor shape_of(const vkf_module_result *place, const vkf_module_piece *piece, const view *v)
{
    vkf_dump_tensor tensor = {.piece = *piece, .rank = 3, .shape = {v->batch, v->rows / v->batch, piece->width}};
    if (place->of_sequences) {
        tensor.rank = 2;
        tensor.shape[1] = piece->width;
    }
    return tensor;
}

// *out_tensor is NULL if there already is a longer one. The last norm of a prompt runs twice: for the positions that
// get logits, and for all positions, of which keys and values are made.
static vkf_status find_or_append(const vkf__host *host, vkf_dump_tensors *tensors, const vkf_dump_tensor *like,
                                 vkf_dump_tensor **out_tensor)
{
    vkf_status status = VKF_OK;
    const vkf_module_piece *piece = &like->piece;
    *out_tensor = NULL;
    for (size_t i = 0; i < tensors->count; i++) {
        vkf_dump_tensor *there = &tensors->items[i];
        if (strcmp(there->piece.name, piece->name) != 0 || there->piece.part != piece->part)
            continue;
        if (count_of(like) < there->count)
            return VKF_OK;
        *out_tensor = there;
        if (count_of(like) == there->count)
            return VKF_OK;
        vkf__free(host, there->values);
        memcpy(there->shape, like->shape, sizeof like->shape);
        there->count = count_of(like);
        there->values = NULL;
        VKF_ALLOC(host, there->values, (size_t)there->count);
        return VKF_OK;
    }
    VKF_TRY(append(host, tensors, like, out_tensor));
fail:
    return status;
}

// Copies the columns of the output that belong to the piece, which begins at column `begin`.
static void copy_columns(const vkf_probe_output *output, const view *v, uint32_t begin, vkf_dump_tensor *tensor)
{
    uint32_t width = tensor->piece.width;
    for (uint64_t row = 0; row < v->rows; row++)
        for (uint32_t c = 0; c < v->columns; c++) {
            uint32_t column = v->first + c;
            if (column >= begin && column - begin < width)
                tensor->values[row * width + column - begin] = output->values[row * v->columns + c];
        }
}

// Copies from (B, key_heads, L, head_dim). An output has one query head of each group, so that its heads lie `group`
// heads apart in the tensor.
static void copy_heads(const vkf_probe_output *output, const vkf_module_result *place, const view *v,
                       vkf_dump_tensor *tensor)
{
    uint32_t query_head = v->first / v->columns, length = v->rows / v->batch, dim = place->head_dim;
    const float *from = output->values;
    for (uint32_t b = 0; b < v->batch; b++)
        for (uint32_t h = 0; h < place->key_heads; h++)
            for (uint32_t l = 0; l < length; l++, from += dim) {
                uint64_t column = (uint64_t)(h * place->group + query_head) * dim;
                memcpy(tensor->values + ((uint64_t)b * length + l) * v->width + column, from, dim * sizeof *from);
            }
}

static vkf_status add_pieces(const vkf__host *host, vkf_dump_tensors *tensors, const vkf_module_result *place,
                             const vkf_probe_output *output, const view *v)
{
    uint32_t begin = 0;
    for (uint32_t i = 0; i < place->piece_count; i++) {
        vkf_dump_tensor like = shape_of(place, &place->pieces[i], v), *tensor = NULL;
        set_own_name(tensors, output, false, like.own_name);
        VKF_RETURN_IF_ERROR(find_or_append(host, tensors, &like, &tensor));
        if (tensor && place->key_heads > 0)
            copy_heads(output, place, v, tensor);
        else if (tensor)
            copy_columns(output, v, begin, tensor);
        begin += place->pieces[i].width;
    }
    return VKF_OK;
}

// The embedding tells how many sequences there are; it comes first in every submission.
static void note_batch(vkf_dump_tensors *tensors, const vkf_probe_output *output)
{
    if (strcmp(output->label, "embed") == 0)
        tensors->batch = output->rank == 3 ? output->shape[0] : 1;
    if (strcmp(output->submission, "encoder") == 0)
        tensors->memory_batch = tensors->batch;
}

vkf_status vkf_dump_tensors_add(const vkf__host *host, vkf_dump_tensors *tensors, const vkf_inspection *model,
                                const vkf_probe_output *output)
{
    view v;
    vkf_module_result place = {0};
    (void)vkf_inspection_get_module(model, output->part, output->label, &place);
    note_batch(tensors, output);
    if (!find_view(tensors, &place, output, &v))
        return add_own(host, tensors, output);
    return add_pieces(host, tensors, &place, output, &v);
}

// ---- joining the parts of one module

static bool of_module(const vkf_dump_tensor *tensor, const vkf_dump_tensor *first)
{
    return tensor->piece.parts > 0 && strcmp(tensor->piece.name, first->piece.name) == 0;
}

// The number of positions that all parts have; 0 if a part is missing.
static uint32_t common_length(const vkf_dump_tensors *tensors, const vkf_dump_tensor *first)
{
    uint32_t length = UINT32_MAX, found = 0;
    for (size_t i = 0; i < tensors->count; i++) {
        const vkf_dump_tensor *tensor = &tensors->items[i];
        if (!of_module(tensor, first))
            continue;
        found++;
        if (tensor->shape[1] < length)
            length = tensor->shape[1];
    }
    return found == first->piece.parts ? length : 0;
}

// Puts the last positions of a part into the whole. vkf_module_piece tells where the row of each column is.
static void put_part(const vkf_dump_tensor *part, vkf_dump_tensor *whole)
{
    const vkf_module_piece *p = &part->piece;
    uint32_t length = whole->shape[1], width = whole->shape[2], skipped = part->shape[1] - length;
    for (uint32_t b = 0; b < whole->shape[0]; b++)
        for (uint32_t l = 0; l < length; l++) {
            const float *from = part->values + ((uint64_t)b * part->shape[1] + skipped + l) * p->width;
            float *to = whole->values + ((uint64_t)b * length + l) * width;
            for (uint32_t c = 0; c < p->width; c++)
                to[(c / p->part_rows * p->parts + p->part) * p->part_rows + c % p->part_rows] = from[c];
        }
}

// A part that cannot be joined, or that has more positions than the others, is kept under its own name, too.
static vkf_status join(const vkf__host *host, vkf_dump_tensors *tensors, size_t first_index)
{
    vkf_dump_tensor *whole = NULL, first = tensors->items[first_index];
    uint32_t length = common_length(tensors, &first);
    if (length > 0) {
        vkf_dump_tensor like = {.piece = first.piece, .rank = 3, .shape = {first.shape[0], length}};
        like.shape[2] = first.piece.width * first.piece.parts;
        VKF_RETURN_IF_ERROR(append(host, tensors, &like, &whole));
        whole->piece.parts = 0;
    }
    for (size_t i = first_index; i < tensors->count; i++) {
        vkf_dump_tensor *tensor = &tensors->items[i];
        if (!of_module(tensor, &first))
            continue;
        if (whole)
            put_part(tensor, whole);
        if (whole && tensor->shape[1] == length)
            tensor->count = 0;
        tensor->piece = (vkf_module_piece){0};
    }
    if (whole) { // moves the whole to where its parts were
        vkf_dump_tensor joined = *whole;
        memmove(&tensors->items[first_index + 1], &tensors->items[first_index],
                (tensors->count - 1 - first_index) * sizeof joined);
        tensors->items[first_index] = joined;
    }
    return VKF_OK;
}

// ---- the file

static vkf__stored_tensor stored_of(const vkf_dump_tensor *tensor)
{
    vkf__stored_tensor stored = {
        .name = tensor->piece.name[0] ? tensor->piece.name : tensor->own_name,
        .type = VKF_STORED_F32,
        .rank = tensor->rank,
        .data = (const uint8_t *)tensor->values,
        .size_bytes = tensor->count * sizeof(float),
    };
    for (uint32_t i = 0; i < tensor->rank; i++)
        stored.shape[i] = tensor->shape[i];
    return stored;
}

vkf_status vkf_dump_tensors_write(const vkf__host *host, const char *path, vkf_dump_tensors *tensors)
{
    vkf_status status = VKF_OK;
    vkf__stored_tensor *stored = NULL;
    size_t count = 0;
    for (size_t i = 0; i < tensors->count; i++)
        if (tensors->items[i].piece.parts > 0)
            VKF_TRY(join(host, tensors, i));
    VKF_ALLOC(host, stored, tensors->count + 1);
    for (size_t i = 0; i < tensors->count; i++)
        if (tensors->items[i].count > 0)
            stored[count++] = stored_of(&tensors->items[i]);
    VKF_TRY(vkf__safetensors_write_as_given(host, path, stored, count));
fail:
    vkf__free(host, stored);
    return status;
}
