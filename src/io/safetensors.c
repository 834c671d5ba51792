#include "io/safetensors.h"

#include <stdlib.h>
#include <string.h>

#include "io/file_map.h"
#include "io/safetensors_header.h"

#define LENGTH_BYTES 8 // the header's length, little-endian, at the beginning of the file

struct vkf__safetensors {
    vkf__host host;
    vkf__file_map map; // {0} when the caller keeps the bytes
    char *path;
    char *names;                 // all of them, zero-terminated, one after the other
    vkf__stored_tensor *tensors; // sorted by name
    size_t count;
};

static int compare_places(const void *a, const void *b)
{
    const vkf__stored_tensor *left = a;
    const vkf__stored_tensor *right = b;
    if (left->data != right->data)
        return left->data < right->data ? -1 : 1;
    // An empty tensor stands before the one that shares its offset.
    return (left->size_bytes > right->size_bytes) - (left->size_bytes < right->size_bytes);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const vkf__stored_tensor *)a)->name, ((const vkf__stored_tensor *)b)->name);
}

// Tensors must fill the data area exactly. Sorts them by place.
static vkf_status check_places(const vkf__safetensors *file, const vkf__safetensors_area *area)
{
    if (file->count > 0)
        qsort(file->tensors, file->count, sizeof *file->tensors, compare_places);
    uint64_t end = 0;
    for (size_t i = 0; i < file->count; i++) {
        const vkf__stored_tensor *tensor = &file->tensors[i];
        uint64_t begin = (uint64_t)(tensor->data - area->data);
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

static vkf_status read_entries(vkf__safetensors *file, const vkf__safetensors_area *area, json_t *root)
{
    vkf_status status = VKF_OK;
    const char *key;
    json_t *entry;
    size_t count = json_object_size(root);
    size_t names_bytes = 0;
    if (count == 0)
        return VKF_OK;
    json_object_foreach(root, key, entry) names_bytes += strlen(key) + 1;
    VKF_ALLOC(area->host, file->tensors, count);
    VKF_ALLOC(area->host, file->names, names_bytes);
    char *name = file->names;
    json_object_foreach(root, key, entry)
    {
        size_t bytes = strlen(key) + 1;
        memcpy(name, key, bytes);
        VKF_TRY(vkf__safetensors_parse_entry(area, name, entry, &file->tensors[file->count]));
        file->count++;
        name += bytes;
    }
fail:
    return status;
}

static vkf_status read_file(vkf__safetensors *file, const uint8_t *data, size_t size_bytes)
{
    vkf_status status = VKF_OK;
    json_t *root = NULL;
    uint64_t header_bytes = 0;
    if (size_bytes < LENGTH_BYTES)
        return vkf__fail(&file->host, VKF_ERROR_FORMAT, "%s: %zu bytes; a safetensors file is not shorter than 8 bytes",
                         file->path, size_bytes);
    for (size_t i = 0; i < LENGTH_BYTES; i++)
        header_bytes |= (uint64_t)data[i] << (8 * i);
    if (header_bytes > VKF_SAFETENSORS_MAX_HEADER)
        return vkf__fail(&file->host, VKF_ERROR_FORMAT,
                         "%s: its header claims %llu bytes, more than 100 MB; is it a safetensors file?", file->path,
                         (unsigned long long)header_bytes);
    if (header_bytes > size_bytes - LENGTH_BYTES)
        return vkf__fail(&file->host, VKF_ERROR_FORMAT,
                         "%s: its header claims %llu bytes, longer than the file; is it cut off?", file->path,
                         (unsigned long long)header_bytes);
    const uint8_t *header = data + LENGTH_BYTES;
    vkf__safetensors_area area = {
        .host = &file->host,
        .path = file->path,
        .data = header + header_bytes,
        .size_bytes = size_bytes - LENGTH_BYTES - header_bytes,
    };
    VKF_TRY(vkf__safetensors_parse_header(&area, (const char *)header, (size_t)header_bytes, &root));
    VKF_TRY(read_entries(file, &area, root));
    VKF_TRY(check_places(file, &area));
    if (file->count > 0)
        qsort(file->tensors, file->count, sizeof *file->tensors, compare_names);
fail:
    json_decref(root);
    return status;
}

static vkf_status create_file(const vkf__host *host, const char *path, vkf__safetensors **out_file)
{
    vkf_status status = VKF_OK;
    vkf__safetensors *file = NULL;
    VKF_ALLOC(host, file, 1);
    file->host = *host;
    VKF_ALLOC(host, file->path, strlen(path) + 1);
    memcpy(file->path, path, strlen(path));
    *out_file = file;
    return VKF_OK;
fail:
    vkf__safetensors_close(&file);
    return status;
}

vkf_status vkf__safetensors_open_memory(const vkf__host *host, const char *path, const uint8_t *data, size_t size_bytes,
                                        vkf__safetensors **out_file)
{
    vkf_status status = VKF_OK;
    vkf__safetensors *file = NULL;
    VKF_TRY(create_file(host, path, &file));
    VKF_TRY(read_file(file, data, size_bytes));
    *out_file = file;
    return VKF_OK;
fail:
    vkf__safetensors_close(&file);
    return status;
}

vkf_status vkf__safetensors_open(const vkf__host *host, const char *path, vkf__safetensors **out_file)
{
    vkf_status status = VKF_OK;
    vkf__safetensors *file = NULL;
    VKF_TRY(create_file(host, path, &file));
    VKF_TRY(vkf__file_map_open(host, path, &file->map));
    VKF_TRY(read_file(file, file->map.data, file->map.size_bytes));
    *out_file = file;
    return VKF_OK;
fail:
    vkf__safetensors_close(&file);
    return status;
}

void vkf__safetensors_close(vkf__safetensors **file)
{
    if (!file || !*file)
        return;
    vkf__safetensors *closing = *file;
    *file = NULL;
    vkf__host host = closing->host;
    vkf__file_map_close(&host, &closing->map);
    vkf__free(&host, closing->tensors);
    vkf__free(&host, closing->names);
    vkf__free(&host, closing->path);
    vkf__free(&host, closing);
}

size_t vkf__safetensors_count(const vkf__safetensors *file)
{
    return file->count;
}

const vkf__stored_tensor *vkf__safetensors_at(const vkf__safetensors *file, size_t index)
{
    return index < file->count ? &file->tensors[index] : NULL;
}

const vkf__stored_tensor *vkf__safetensors_find(const vkf__safetensors *file, const char *name)
{
    if (file->count == 0)
        return NULL;
    vkf__stored_tensor wanted = {.name = name};
    return bsearch(&wanted, file->tensors, file->count, sizeof *file->tensors, compare_names);
}

const char *vkf__safetensors_path(const vkf__safetensors *file)
{
    return file->path;
}
