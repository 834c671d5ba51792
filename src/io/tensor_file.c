// Opens a file of tensors with the reader of its format, and looks tensors up by name.
#include "io/tensor_file_reader.h"

#include <stdlib.h>
#include <string.h>

#include "io/safetensors.h"
#include "io/torch_file.h"

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const vkf__stored_tensor *)a)->name, ((const vkf__stored_tensor *)b)->name);
}

static vkf_status sort_names(const vkf__tensor_file *file)
{
    if (file->count > 0)
        qsort(file->tensors, file->count, sizeof *file->tensors, compare_names);
    for (size_t i = 1; i < file->count; i++)
        if (compare_names(&file->tensors[i - 1], &file->tensors[i]) == 0)
            return vkf__fail(&file->host, VKF_ERROR_FORMAT, "%s: two tensors have the name %.200s", file->path,
                             file->tensors[i].name);
    return VKF_OK;
}

static vkf_status create(const vkf__host *host, const char *path, vkf__tensor_file **out_file)
{
    vkf_status status = VKF_OK;
    vkf__tensor_file *file = NULL;
    VKF_ALLOC(host, file, 1);
    file->host = *host;
    VKF_STRDUP(host, file->path, path);
    *out_file = file;
    return VKF_OK;
fail:
    vkf__tensor_file_close(&file);
    return status;
}

vkf_status vkf__tensor_file_read_memory(const vkf__host *host, const char *path, const uint8_t *data, size_t size_bytes,
                                        vkf__tensor_reader reader, vkf__tensor_file **out_file)
{
    vkf_status status = VKF_OK;
    vkf__tensor_file *file = NULL;
    VKF_TRY(create(host, path, &file));
    const vkf__byte_source source = {.host = &file->host, .path = file->path, .data = data, .size_bytes = size_bytes};
    VKF_TRY(reader(file, &source));
    VKF_TRY(sort_names(file));
    *out_file = file;
    return VKF_OK;
fail:
    vkf__tensor_file_close(&file);
    return status;
}

vkf_status vkf__tensor_file_read(const vkf__host *host, const char *path, vkf__tensor_reader reader,
                                 vkf__tensor_file **out_file)
{
    vkf_status status = VKF_OK;
    vkf__tensor_file *file = NULL;
    VKF_TRY(create(host, path, &file));
    VKF_TRY(vkf__file_open(host, path, &file->opened));
    const vkf__byte_source source = {
        .host = &file->host, .path = file->path, .file = file->opened, .size_bytes = vkf__file_size(file->opened)};
    VKF_TRY(reader(file, &source));
    VKF_TRY(sort_names(file));
    *out_file = file;
    return VKF_OK;
fail:
    vkf__tensor_file_close(&file);
    return status;
}

static bool is_torch(const char *path)
{
    static const char *const endings[] = {".bin", ".pt", ".pth"};
    const char *dot = strrchr(path, '.');
    for (size_t i = 0; dot && i < sizeof endings / sizeof endings[0]; i++)
        if (strcmp(dot, endings[i]) == 0)
            return true;
    return false;
}

vkf_status vkf__tensor_file_open(const vkf__host *host, const char *path, vkf__tensor_file **out_file)
{
    return is_torch(path) ? vkf__torch_open(host, path, out_file) : vkf__safetensors_open(host, path, out_file);
}

void vkf__tensor_file_close(vkf__tensor_file **file)
{
    if (!file || !*file)
        return;
    vkf__tensor_file *closing = *file;
    *file = NULL;
    vkf__host host = closing->host;
    vkf__file_close(&closing->opened);
    json_decref(closing->metadata);
    vkf__free(&host, closing->tensors);
    vkf__free(&host, closing->names);
    vkf__free(&host, closing->path);
    vkf__free(&host, closing);
}

json_t *vkf__tensor_file_metadata(const vkf__tensor_file *file)
{
    return file->metadata;
}

size_t vkf__tensor_file_count(const vkf__tensor_file *file)
{
    return file->count;
}

const vkf__stored_tensor *vkf__tensor_file_at(const vkf__tensor_file *file, size_t index)
{
    return index < file->count ? &file->tensors[index] : NULL;
}

const vkf__stored_tensor *vkf__tensor_file_find(const vkf__tensor_file *file, const char *name)
{
    if (file->count == 0)
        return NULL;
    const vkf__stored_tensor wanted = {.name = name};
    return bsearch(&wanted, file->tensors, file->count, sizeof *file->tensors, compare_names);
}

const char *vkf__tensor_file_path(const vkf__tensor_file *file)
{
    return file->path;
}

vkf_status vkf__tensor_file_check_unchanged(const vkf__tensor_file *file)
{
    return file->opened ? vkf__file_check_unchanged(file->opened) : VKF_OK;
}

vkf_status vkf__tensor_file_check_bools(const vkf__tensor_file *file)
{
    for (size_t i = 0; i < file->count; i++) {
        const vkf__stored_tensor *tensor = &file->tensors[i];
        uint64_t bad = 0;
        uint8_t value = 0;
        VKF_RETURN_IF_ERROR(vkf__stored_first_bad_bool(&file->host, tensor, &bad));
        if (bad == tensor->count)
            continue;
        VKF_RETURN_IF_ERROR(vkf__stored_read(tensor, bad, 1, &value));
        return vkf__fail(&file->host, VKF_ERROR_FORMAT, "%s: tensor '%.200s': BOOL element %llu is %u, neither 0 nor 1",
                         file->path, tensor->name, (unsigned long long)bad, (unsigned)value);
    }
    return VKF_OK;
}
