// Reads safetensors files: their header, and the checks that span several tensors.
#include "io/safetensors.h"

#include <stdlib.h>
#include <string.h>

#include "io/safetensors_header.h"
#include "io/tensor_file_reader.h"

#define LENGTH_BYTES 8 // the header's length, little-endian, at the beginning of the file

static int compare_places(const void *a, const void *b)
{
    const vkf__stored_tensor *left = a;
    const vkf__stored_tensor *right = b;
    if (left->offset_bytes != right->offset_bytes)
        return left->offset_bytes < right->offset_bytes ? -1 : 1;
    // An empty tensor comes before the one that shares its offset.
    return (left->size_bytes > right->size_bytes) - (left->size_bytes < right->size_bytes);
}

// Sorts the tensors by place, and checks that they fill the data area exactly.
static vkf_status check_places(const vkf__tensor_file *file, const vkf__safetensors_area *area)
{
    if (file->count > 0)
        qsort(file->tensors, file->count, sizeof *file->tensors, compare_places);
    uint64_t end = 0;
    for (size_t i = 0; i < file->count; i++) {
        const vkf__stored_tensor *tensor = &file->tensors[i];
        uint64_t begin = tensor->offset_bytes - area->begin_bytes;
        if (begin < end)
            return vkf__fail(
                area->host, VKF_ERROR_FORMAT,
                "%s: tensors '%.200s' and '%.200s' overlap: one begins at %llu, before the other's end %llu",
                area->path, tensor->name, file->tensors[i - 1].name, (unsigned long long)begin,
                (unsigned long long)end);
        if (begin > end)
            return vkf__fail(area->host, VKF_ERROR_FORMAT,
                             "%s: a hole of %llu bytes, which no tensor describes, before tensor '%.200s'", area->path,
                             (unsigned long long)(begin - end), tensor->name);
        end = begin + tensor->size_bytes;
    }
    if (end != area->size_bytes)
        return vkf__fail(area->host, VKF_ERROR_FORMAT, "%s: %llu bytes after the last tensor", area->path,
                         (unsigned long long)(area->size_bytes - end));
    return VKF_OK;
}

static vkf_status read_entries(vkf__tensor_file *file, const vkf__safetensors_area *area, json_t *root)
{
    const char *key;
    json_t *entry;
    size_t count = json_object_size(root);
    size_t names_bytes = 0;
    if (count == 0)
        return VKF_OK;
    json_object_foreach(root, key, entry) names_bytes += strlen(key) + 1;
    VKF_ALLOC_OR_RETURN(area->host, file->tensors, count);
    VKF_ALLOC_OR_RETURN(area->host, file->names, names_bytes);
    char *name = file->names;
    json_object_foreach(root, key, entry)
    {
        size_t bytes = strlen(key) + 1;
        memcpy(name, key, bytes);
        VKF_RETURN_IF_ERROR(vkf__safetensors_parse_entry(area, name, entry, &file->tensors[file->count]));
        file->count++;
        name += bytes;
    }
    return VKF_OK;
}

static vkf_status read_length(const vkf__byte_source *source, uint64_t *out_header_bytes)
{
    uint8_t length[LENGTH_BYTES];
    if (source->size_bytes < sizeof length)
        return vkf__fail(source->host, VKF_ERROR_FORMAT,
                         "%s: %llu bytes; a safetensors file is not shorter than 8 bytes", source->path,
                         (unsigned long long)source->size_bytes);
    VKF_RETURN_IF_ERROR(vkf__source_read(source, 0, length, sizeof length));
    uint64_t header_bytes = vkf__load_le(length, sizeof length);
    if (header_bytes > VKF_SAFETENSORS_MAX_HEADER)
        return vkf__fail(source->host, VKF_ERROR_FORMAT,
                         "%s: its header claims %llu bytes, more than 100 MB; is it a safetensors file?", source->path,
                         (unsigned long long)header_bytes);
    if (header_bytes > source->size_bytes - LENGTH_BYTES)
        return vkf__fail(source->host, VKF_ERROR_FORMAT,
                         "%s: its header claims %llu bytes, longer than the file; is it cut off?", source->path,
                         (unsigned long long)header_bytes);
    *out_header_bytes = header_bytes;
    return VKF_OK;
}

static vkf_status read_file(vkf__tensor_file *file, const vkf__byte_source *source)
{
    vkf_status status = VKF_OK;
    json_t *root = NULL;
    char *room = NULL; // for the header's text, where that is not in memory already
    uint64_t header_bytes = 0;
    VKF_TRY(read_length(source, &header_bytes));
    uint64_t begin_bytes = LENGTH_BYTES + header_bytes;
    vkf__safetensors_area area = {
        .host = source->host,
        .path = source->path,
        .file = source->file,
        .data = source->data ? source->data + begin_bytes : NULL,
        .begin_bytes = begin_bytes,
        .size_bytes = source->size_bytes - begin_bytes,
    };
    if (!source->data) {
        VKF_ALLOC(source->host, room, header_bytes);
        VKF_TRY(vkf__source_read(source, LENGTH_BYTES, room, (size_t)header_bytes));
    }
    const char *header = room ? room : (const char *)source->data + LENGTH_BYTES;
    VKF_TRY(vkf__safetensors_parse_header(&area, header, (size_t)header_bytes, &root, &file->metadata));
    vkf__free(source->host, room); // before the entries take memory of their own
    room = NULL;
    VKF_TRY(read_entries(file, &area, root));
    VKF_TRY(check_places(file, &area));
fail:
    vkf__free(source->host, room);
    json_decref(root);
    return status;
}

vkf_status vkf__safetensors_open_memory(const vkf__host *host, const char *path, const uint8_t *data, size_t size_bytes,
                                        vkf__tensor_file **out_file)
{
    return vkf__tensor_file_read_memory(host, path, data, size_bytes, read_file, out_file);
}

vkf_status vkf__safetensors_open(const vkf__host *host, const char *path, vkf__tensor_file **out_file)
{
    return vkf__tensor_file_read(host, path, read_file, out_file);
}
