// Writes safetensors files.
#include <stdlib.h>
#include <string.h>

#include "base/new_file.h"
#include "base/size.h"
#include "io/safetensors_header.h"

#define PIECE_BYTES ((size_t)1 << 20) // of a tensor copied from one file to another
#define ALIGNMENT 8                   // of the data area, so that every element is aligned when wide types come first

// Larger elements come first, so that all of them are aligned.
static int compare_element_sizes(const vkf__stored_tensor *left, const vkf__stored_tensor *right)
{
    size_t left_bytes = vkf__stored_type_size(left->type);
    size_t right_bytes = vkf__stored_type_size(right->type);
    return (left_bytes < right_bytes) - (left_bytes > right_bytes);
}

static int compare_for_file(const void *a, const void *b)
{
    const vkf__stored_tensor *left = *(const vkf__stored_tensor *const *)a;
    const vkf__stored_tensor *right = *(const vkf__stored_tensor *const *)b;
    int sizes = compare_element_sizes(left, right);
    return sizes != 0 ? sizes : strcmp(left->name, right->name);
}

// Compares places in one array.
static int compare_as_given(const void *a, const void *b)
{
    const vkf__stored_tensor *left = *(const vkf__stored_tensor *const *)a;
    const vkf__stored_tensor *right = *(const vkf__stored_tensor *const *)b;
    int sizes = compare_element_sizes(left, right);
    return sizes != 0 ? sizes : (left > right) - (left < right);
}

static vkf_status check_tensor(const vkf__host *host, const char *path, const vkf__stored_tensor *tensor, bool made)
{
    const char *reason = NULL;
    uint64_t size_bytes = 0, bad_bool = 0;
    vkf__stored_tensor counted = *tensor;
    if (!tensor->name || strcmp(tensor->name, VKF_SAFETENSORS_METADATA) == 0)
        reason = "has no name, or the format's reserved one";
    else if (vkf__stored_type_size(tensor->type) == 0)
        reason = "has an unknown type";
    else if (tensor->rank > VKF_STORED_MAX_RANK)
        reason = "has a rank above 8";
    else if (!vkf__product_u64(tensor->shape, tensor->rank, &counted.count) ||
             !vkf__mul_u64(counted.count, vkf__stored_type_size(tensor->type), &size_bytes) ||
             size_bytes != tensor->size_bytes || (size_bytes > 0 && !tensor->data && !tensor->file && !made))
        reason = "has no data, or size_bytes disagrees with shape and type";
    if (!reason && (tensor->data || tensor->file)) {
        vkf_status status = vkf__stored_first_bad_bool(host, &counted, &bad_bool);
        if (status != VKF_OK)
            return status;
        if (bad_bool < counted.count)
            reason = "is BOOL with elements other than 0 and 1";
    }
    if (!reason)
        return VKF_OK;
    return vkf__fail(host, VKF_ERROR_INVALID_ARGUMENT, "%s: tensor '%.200s' cannot be written: it %s", path,
                     tensor->name ? tensor->name : "", reason);
}

// Makes one entry of the header; NULL when memory is exhausted.
static json_t *make_entry(const vkf__stored_tensor *tensor, uint64_t begin, uint64_t end)
{
    json_t *shape = json_array();
    for (uint32_t i = 0; shape && i < tensor->rank; i++) {
        if (json_array_append_new(shape, json_integer((json_int_t)tensor->shape[i])) != 0) {
            json_decref(shape);
            return NULL;
        }
    }
    return json_pack("{s:s, s:o, s:[I, I]}", "dtype", vkf__stored_type_name(tensor->type), "shape", shape,
                     "data_offsets", (json_int_t)begin, (json_int_t)end);
}

static vkf_status add_entry(const vkf__host *host, const char *path, json_t *root, const vkf__stored_tensor *tensor,
                            uint64_t *end)
{
    uint64_t begin = *end;
    if (!vkf__add_u64(begin, tensor->size_bytes, end) || *end > INT64_MAX)
        return vkf__fail(host, VKF_ERROR_TOO_LARGE, "%s: the tensors have more bytes than a file can have", path);
    json_t *name = json_string(tensor->name);
    if (!name)
        return vkf__fail(host, VKF_ERROR_INVALID_ARGUMENT,
                         "%s: tensor '%.200s' cannot be written: its name is not UTF-8", path, tensor->name);
    json_decref(name);
    if (json_object_set_new(root, tensor->name, make_entry(tensor, begin, *end)) != 0)
        return vkf__fail(host, VKF_ERROR_OUT_OF_HOST_MEMORY, "%s: no host memory for the safetensors header", path);
    return VKF_OK;
}

static vkf_status make_header(const vkf__host *host, const char *path, const vkf__stored_tensor *const *ordered,
                              size_t count, json_t *metadata, json_t **out_root)
{
    vkf_status status = VKF_OK;
    uint64_t end = 0;
    json_t *root = json_object();
    if (!root)
        return vkf__fail(host, VKF_ERROR_OUT_OF_HOST_MEMORY, "%s: no host memory for the safetensors header", path);
    for (size_t i = 0; i < count; i++)
        VKF_TRY(add_entry(host, path, root, ordered[i], &end));
    if (metadata && json_object_set(root, VKF_SAFETENSORS_METADATA, metadata) != 0)
        VKF_TRY(vkf__fail(host, VKF_ERROR_OUT_OF_HOST_MEMORY, "%s: no host memory for the safetensors header", path));
    if (json_object_size(root) != count + (metadata != NULL)) {
        status =
            vkf__fail(host, VKF_ERROR_INVALID_ARGUMENT, "%s: two of the tensors to write have the same name", path);
        goto fail;
    }
    *out_root = root;
    return VKF_OK;
fail:
    json_decref(root);
    return status;
}

// Writes the length field and the header's text, padded with spaces.
static vkf_status write_header(const vkf__host *host, vkf__new_file *file, const json_t *root)
{
    vkf_status status = VKF_OK;
    char *text = NULL;
    size_t text_bytes = json_dumpb(root, NULL, 0, JSON_COMPACT);
    size_t padded = (size_t)vkf__align_u64(text_bytes, ALIGNMENT);
    if (text_bytes == 0 || padded > VKF_SAFETENSORS_MAX_HEADER)
        return vkf__fail(host, VKF_ERROR_TOO_LARGE, "%s: its header would take %zu bytes, more than 100 MB", file->path,
                         padded);
    VKF_ALLOC(host, text, ALIGNMENT + padded);
    for (size_t i = 0; i < ALIGNMENT; i++)
        text[i] = (char)(uint8_t)((uint64_t)padded >> (8 * i));
    memset(text + ALIGNMENT, ' ', padded);
    json_dumpb(root, text + ALIGNMENT, padded, JSON_COMPACT);
    VKF_TRY(vkf__new_file_write(file, text, ALIGNMENT + padded));
fail:
    vkf__free(host, text);
    return status;
}

// Where the bytes come from: the tensors, or a function that makes them.
typedef struct content {
    const vkf__stored_tensor *tensors;
    vkf__tensor_write_fn write; // NULL where the tensors have bytes
    void *user;
    json_t *metadata; // NULL: none
    bool as_given;    // in the order of the array, not in that of names
} content;

vkf_status vkf__new_file_write_tensor(vkf__new_file *file, const vkf__stored_tensor *tensor)
{
    vkf_status status = VKF_OK;
    uint8_t *room = NULL;
    if (tensor->data || tensor->size_bytes == 0)
        return vkf__new_file_write(file, tensor->data, (size_t)tensor->size_bytes);
    VKF_ALLOC(file->host, room, PIECE_BYTES);
    for (uint64_t done = 0; done < tensor->size_bytes;) {
        uint64_t left = tensor->size_bytes - done;
        size_t part = left < PIECE_BYTES ? (size_t)left : PIECE_BYTES;
        VKF_TRY(vkf__stored_read(tensor, done, part, room));
        VKF_TRY(vkf__new_file_write(file, room, part));
        done += part;
    }
fail:
    vkf__free(file->host, room);
    return status;
}

static vkf_status write_content(const content *from, const vkf__stored_tensor *const *ordered, size_t count,
                                vkf__new_file *file)
{
    for (size_t i = 0; i < count; i++) {
        if (from->write)
            VKF_RETURN_IF_ERROR(from->write(from->user, (size_t)(ordered[i] - from->tensors), file));
        else
            VKF_RETURN_IF_ERROR(vkf__new_file_write_tensor(file, ordered[i]));
    }
    return VKF_OK;
}

static vkf_status write_file(const vkf__host *host, const char *path, const content *from, size_t count)
{
    vkf_status status = VKF_OK;
    const vkf__stored_tensor **ordered = NULL;
    json_t *root = NULL;
    vkf__new_file file = {0};
    if (count > 0) {
        VKF_ALLOC(host, ordered, count);
        for (size_t i = 0; i < count; i++) {
            VKF_TRY(check_tensor(host, path, &from->tensors[i], from->write != NULL));
            ordered[i] = &from->tensors[i];
        }
        qsort(ordered, count, sizeof *ordered, from->as_given ? compare_as_given : compare_for_file);
    }
    VKF_TRY(make_header(host, path, ordered, count, from->metadata, &root));
    VKF_TRY(vkf__new_file_open(host, path, &file));
    VKF_TRY(write_header(host, &file, root));
    VKF_TRY(write_content(from, ordered, count, &file));
    status = vkf__new_file_commit(&file);
fail:
    vkf__new_file_discard(&file);
    json_decref(root);
    vkf__free(host, ordered);
    return status;
}

vkf_status vkf__safetensors_write(const vkf__host *host, const char *path, const vkf__stored_tensor *tensors,
                                  size_t count)
{
    const content from = {.tensors = tensors};
    return write_file(host, path, &from, count);
}

vkf_status vkf__safetensors_write_as_given(const vkf__host *host, const char *path, const vkf__stored_tensor *tensors,
                                           size_t count)
{
    const content from = {.tensors = tensors, .as_given = true};
    return write_file(host, path, &from, count);
}

vkf_status vkf__safetensors_write_made(const vkf__host *host, const char *path, const vkf__stored_tensor *tensors,
                                       size_t count, json_t *metadata, vkf__tensor_write_fn write, void *user)
{
    const content from = {.tensors = tensors, .write = write, .user = user, .metadata = metadata};
    return write_file(host, path, &from, count);
}
