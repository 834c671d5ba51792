// Writes the tensors of a trainable model back to files as they were read, and reads them again.
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/system_file.h"
#include "io/path.h"
#include "io/safetensors.h"
#include "model/load/model_directory.h"
#include "model/load/weight_resolution.h"
#include "model/load/weight_upload.h"
#include "model/sentence/sentence_modules.h"
#include "training/train_checkpoint.h"

#define CHUNK_ELEMENTS (1u << 20)     // that are read from the device at once
#define TURNED_ELEMENTS (1u << 22)    // of a transposed tensor, that are put in the file's order at once
#define COMPARED_BYTES ((size_t)4096) // at once

// A file that is written. Each of its tensors is one of the model's, in one or more parts, or one of the source's.
typedef struct writing {
    vkf_model *model;
    vkf__stored_tensor *tensors;
    const vkf__trainable **first; // per tensor, its first part; NULL: it is copied from `from`
    const vkf__stored_tensor **from;
    size_t count;
    float *chunk;  // CHUNK_ELEMENTS, or a row if that is more
    float *turned; // TURNED_ELEMENTS, or a row of the file if that is more
} writing;

static uint32_t parts_of(const vkf__weight_slot *slot)
{
    return slot->parts > 0 ? slot->parts : 1;
}

static uint32_t cols_of(const vkf__weight_slot *slot)
{
    return slot->rank == 2 ? slot->shape[1] : 1;
}

// ---- a tensor of the model's

// Writes rows that are consecutive on the device and in the file.
static vkf_status write_rows(const writing *w, const vkf__trainable *part, uint32_t row, uint32_t rows,
                             vkf__new_file *file)
{
    const uint64_t cols = cols_of(&part->slot), count = rows * cols;
    for (uint64_t done = 0; done < count; done += CHUNK_ELEMENTS) {
        const uint64_t left = count - done, most = left < CHUNK_ELEMENTS ? left : CHUNK_ELEMENTS;
        const uint64_t at = part->tensor.offset_bytes + (row * cols + done) * sizeof(float);
        VKF_RETURN_IF_ERROR(vkf_buffer_read(part->tensor.buffer, at, w->chunk, most * sizeof(float)));
        VKF_RETURN_IF_ERROR(vkf__new_file_write(file, w->chunk, (size_t)most * sizeof(float)));
    }
    return VKF_OK;
}

// Puts elements [first, first + count) of each row of a part into `count` rows of the file.
static vkf_status turn_part(const writing *w, const vkf__trainable *part, uint32_t first, uint32_t count)
{
    const vkf__weight_slot *slot = &part->slot;
    const uint32_t cols = slot->shape[1], at_once = cols < CHUNK_ELEMENTS ? CHUNK_ELEMENTS / cols : 1;
    const uint64_t file_cols = (uint64_t)slot->shape[0] * parts_of(slot);
    for (uint32_t row = 0; row < slot->shape[0]; row += at_once) {
        const uint32_t left = slot->shape[0] - row, rows = left < at_once ? left : at_once;
        const uint64_t at = part->tensor.offset_bytes + (uint64_t)row * cols * sizeof(float);
        VKF_RETURN_IF_ERROR(vkf_buffer_read(part->tensor.buffer, at, w->chunk, (uint64_t)rows * cols * sizeof(float)));
        for (uint32_t r = 0; r < rows; r++)
            for (uint32_t c = 0; c < count; c++)
                w->turned[c * file_cols + vkf__stored_row(slot, row + r)] = w->chunk[(size_t)r * cols + first + c];
    }
    return VKF_OK;
}

static vkf_status write_turned(const writing *w, const vkf__trainable *first, vkf__new_file *file)
{
    const vkf__weight_slot *slot = &first->slot;
    const uint64_t file_cols = (uint64_t)slot->shape[0] * parts_of(slot);
    const uint32_t at_once = file_cols < TURNED_ELEMENTS ? (uint32_t)(TURNED_ELEMENTS / file_cols) : 1;
    for (uint32_t col = 0; col < slot->shape[1]; col += at_once) {
        const uint32_t left = slot->shape[1] - col, count = left < at_once ? left : at_once;
        for (uint32_t part = 0; part < parts_of(slot); part++)
            VKF_RETURN_IF_ERROR(turn_part(w, &first[part], col, count));
        VKF_RETURN_IF_ERROR(vkf__new_file_write(file, w->turned, (size_t)(count * file_cols) * sizeof(float)));
    }
    return VKF_OK;
}

static vkf_status write_parts(const writing *w, const vkf__trainable *first, vkf__new_file *file)
{
    const vkf__weight_slot *slot = &first->slot;
    const uint32_t run = slot->parts > 0 ? slot->part_rows : slot->shape[0];
    if (slot->transposed)
        return write_turned(w, first, file);
    for (uint32_t row = 0; row < slot->shape[0]; row += run)
        for (uint32_t part = 0; part < parts_of(slot); part++)
            VKF_RETURN_IF_ERROR(write_rows(w, &first[part], row, run, file));
    return VKF_OK;
}

static vkf_status write_tensor(void *user, size_t index, vkf__new_file *file)
{
    const writing *w = user;
    return w->first[index] ? write_parts(w, w->first[index], file) : vkf__new_file_write_tensor(file, w->from[index]);
}

// ---- the tensors of a file

static void list_own(uint32_t module, writing *w)
{
    const vkf__weights *weights = &w->model->weights;
    for (size_t i = 0; i < weights->trainable_count; i += parts_of(&weights->trainable[i].slot)) {
        const vkf__trainable *first = &weights->trainable[i];
        vkf__stored_tensor *tensor = &w->tensors[w->count];
        if (first->module != module)
            continue;
        assert(first->slot.part == 0);
        const vkf__shape_in_file shape = vkf__slot_in_file(&first->slot);
        *tensor = (vkf__stored_tensor){.name = first->slot.name, .type = VKF_STORED_F32, .rank = shape.rank};
        tensor->size_bytes = sizeof(float);
        for (uint32_t d = 0; d < shape.rank; d++) {
            tensor->shape[d] = shape.size[d];
            tensor->size_bytes *= shape.size[d];
        }
        w->first[w->count++] = first;
    }
}

static vkf_status equal_bytes(const vkf__stored_tensor *a, const vkf__stored_tensor *b, bool *out_equal)
{
    uint8_t left[COMPARED_BYTES], right[COMPARED_BYTES];
    *out_equal = a->type == b->type && a->size_bytes == b->size_bytes;
    for (uint64_t done = 0; *out_equal && done < a->size_bytes; done += COMPARED_BYTES) {
        const uint64_t rest = a->size_bytes - done, most = rest < COMPARED_BYTES ? rest : COMPARED_BYTES;
        VKF_RETURN_IF_ERROR(vkf__stored_read(a, done, most, left));
        VKF_RETURN_IF_ERROR(vkf__stored_read(b, done, most, right));
        *out_equal = memcmp(left, right, (size_t)most) == 0;
    }
    return VKF_OK;
}

// Whether a tensor of the source's is one of the model's by another name, as files have tied ones: then it would be
// untrained there, and readers would not tie it any more. That are tables and biases of the vocabulary; elsewhere, as
// among norms that nothing has trained, equal ones are just equal.
static vkf_status is_second_name(const writing *w, const vkf__checkpoint *source, const vkf__stored_tensor *tensor,
                                 bool *out_second)
{
    const vkf_model_config *config = &w->model->config;
    *out_second = false;
    for (size_t i = 0; !*out_second && i < w->count && w->first[i]; i++) {
        const vkf__stored_tensor *own = vkf__checkpoint_find(source, w->tensors[i].name);
        const uint32_t tokens = w->first[i]->slot.shape[0];
        if (own && (tokens == config->source_vocab || tokens == config->target_vocab) && tensor->rank == own->rank)
            VKF_RETURN_IF_ERROR(equal_bytes(own, tensor, out_second));
    }
    return VKF_OK;
}

static bool is_listed(const writing *w, const char *name)
{
    size_t i = 0;
    while (i < w->count && strcmp(w->tensors[i].name, name) != 0)
        i++;
    return i < w->count;
}

static vkf_status list_source(const vkf__checkpoint *source, writing *w)
{
    for (size_t i = 0; source && i < vkf__checkpoint_count(source); i++) {
        const vkf__stored_tensor *tensor = vkf__checkpoint_at(source, i);
        bool second = false;
        if (is_listed(w, tensor->name))
            continue;
        VKF_RETURN_IF_ERROR(is_second_name(w, source, tensor, &second));
        if (second)
            continue;
        w->tensors[w->count] = *tensor;
        w->from[w->count++] = tensor;
    }
    return VKF_OK;
}

// What files have beside their tensors; without "format" transformers does not read them.
static json_t *metadata_of(const vkf_model *model)
{
    json_t *metadata = model->metadata.weights ? json_copy(model->metadata.weights) : json_object();
    if (metadata && !json_object_get(metadata, "format") &&
        json_object_set_new(metadata, "format", json_string("pt")) != 0) {
        json_decref(metadata);
        return NULL;
    }
    return metadata;
}

vkf_status vkf__write_module(vkf_model *model, uint32_t module, const vkf__checkpoint *source, const char *path)
{
    vkf_status status = VKF_OK;
    const vkf__host *host = &model->context->host;
    const vkf__weights *weights = &model->weights;
    const size_t most = weights->trainable_count + (source ? vkf__checkpoint_count(source) : 0);
    uint64_t chunk = CHUNK_ELEMENTS, turned = 0;
    writing w = {.model = model};
    json_t *metadata = metadata_of(model);
    if (!metadata)
        VKF_TRY(vkf__fail(host, VKF_ERROR_OUT_OF_HOST_MEMORY, "%s: no host memory for its metadata", path));
    for (size_t i = 0; i < weights->trainable_count; i++) {
        const vkf__weight_slot *slot = &weights->trainable[i].slot;
        const uint64_t file_cols = (uint64_t)slot->shape[0] * parts_of(slot);
        chunk = cols_of(slot) > chunk ? cols_of(slot) : chunk;
        if (slot->transposed && turned < TURNED_ELEMENTS)
            turned = TURNED_ELEMENTS;
        if (slot->transposed && turned < file_cols)
            turned = file_cols;
    }
    VKF_ALLOC(host, w.tensors, most);
    VKF_ALLOC(host, w.first, most);
    VKF_ALLOC(host, w.from, most);
    VKF_ALLOC(host, w.chunk, chunk);
    if (turned > 0)
        VKF_ALLOC(host, w.turned, turned);
    list_own(module, &w);
    VKF_TRY(list_source(source, &w));
    VKF_TRY(vkf__safetensors_write_made(host, path, w.tensors, w.count, metadata, write_tensor, &w));
fail:
    json_decref(metadata);
    vkf__free(host, w.tensors);
    vkf__free(host, w.first);
    vkf__free(host, w.from);
    vkf__free(host, w.chunk);
    vkf__free(host, w.turned);
    return status;
}

static bool has_modules(const vkf_model *model)
{
    bool any = false;
    for (size_t i = 0; i < model->weights.trainable_count; i++)
        any = any || model->weights.trainable[i].module > 0;
    return any;
}

static vkf_status fail_modules(const vkf_model *model, const char *path)
{
    return vkf__fail(&model->context->host, VKF_ERROR_UNSUPPORTED,
                     "%s: the model's embedding modules have weights in files of their own; name a directory", path);
}

vkf_status vkf__checkpoint_save_weights(vkf_model *model, const char *path)
{
    vkf_status status = VKF_OK;
    const vkf__host *host = &model->context->host;
    vkf__checkpoint *source = NULL;
    char *transformer = NULL;
    if (has_modules(model))
        return fail_modules(model, path);
    if (model->directory) {
        VKF_TRY(vkf__transformer_directory(host, model->directory, &transformer));
        VKF_TRY(vkf__checkpoint_open(host, transformer, &source));
    }
    VKF_TRY(vkf__write_module(model, 0, source, path));
fail:
    vkf__checkpoint_close(&source);
    vkf__free(host, transformer);
    return status;
}

// ---- reading

static vkf_status open_saved(const vkf_model *model, const char *path, vkf__model_source *source)
{
    vkf_status status = VKF_OK;
    const vkf__host *host = &model->context->host;
    vkf__file_info info;
    char *transformer = NULL;
    if (vkf__path_info(path, &info) && info.kind != VKF_FILE_DIRECTORY)
        return has_modules(model) ? fail_modules(model, path)
                                  : vkf__checkpoint_open_file(host, path, &source->checkpoint);
    if (has_modules(model)) {
        VKF_RETURN_IF_ERROR(vkf__model_directory_load(host, path, source));
        VKF_RETURN_IF_ERROR(vkf__sentence_weights_open(host, path, source));
    }
    VKF_RETURN_IF_ERROR(vkf__transformer_directory(host, path, &transformer));
    status = vkf__checkpoint_open(host, transformer, &source->checkpoint);
    vkf__free(host, transformer);
    return status;
}

// The file that a tensor is in; NULL: the directory has no such module.
static const vkf__checkpoint *checkpoint_of(const vkf__model_source *source, const vkf__trainable *t)
{
    return t->module > 0 ? source->modules[t->module - 1].checkpoint : source->checkpoint;
}

static vkf_status check_all(const vkf_model *model, const vkf__model_source *source, const char *path)
{
    const vkf__host *host = &model->context->host;
    for (size_t i = 0; i < model->weights.trainable_count; i++) {
        const vkf__trainable *t = &model->weights.trainable[i];
        const vkf__checkpoint *checkpoint = checkpoint_of(source, t);
        const vkf__stored_tensor *stored = checkpoint ? vkf__checkpoint_find(checkpoint, t->slot.name) : NULL;
        if (!stored || !vkf__stored_is_float(stored->type))
            return vkf__fail(host, VKF_ERROR_FORMAT, "%s: tensor %s is missing, or is not of floats", path,
                             t->slot.name);
        VKF_RETURN_IF_ERROR(vkf__slot_check(host, checkpoint, &t->slot, stored));
    }
    return VKF_OK;
}

vkf_status vkf__checkpoint_load_weights(vkf_model *model, const char *path, bool check)
{
    vkf_status status = VKF_OK;
    vkf__model_source source = {0};
    VKF_TRY(open_saved(model, path, &source));
    VKF_TRY(check_all(model, &source, path));
    for (size_t i = 0; i < model->weights.trainable_count; i++) {
        const vkf__trainable *t = &model->weights.trainable[i];
        const vkf__checkpoint *checkpoint = checkpoint_of(&source, t);
        vkf_tensor to = t->tensor;
        if (check)
            to.buffer = NULL;
        VKF_TRY(vkf__upload_weight(model->context, checkpoint, vkf__checkpoint_find(checkpoint, t->slot.name), &t->slot,
                                   &to));
    }
fail:
    vkf__model_source_close(&source);
    return status;
}
