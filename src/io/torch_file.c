// Finds the dict of tensors in what torch.save() wrote, and makes stored tensors of it.
#include "io/torch_file.h"

#include <string.h>

#include "base/size.h"
#include "io/tensor_file_reader.h"
#include "io/torch_layout.h"

#define FIRST_BYTES 8

// ---- the dict

static bool is_tensor(const vkf__pickle_entry *entry, uint32_t container)
{
    return entry->container == container && entry->key.kind == VKF_PICKLE_STRING &&
           entry->value.kind == VKF_PICKLE_OBJECT && entry->value.first == VKF_TORCH_TENSOR;
}

// Counts the tensors of a dict, and the bytes of their names with terminating zeros.
static size_t count_tensors(const vkf__torch_content *content, uint32_t container, size_t *out_name_bytes)
{
    size_t entry_count = 0, count = 0;
    const vkf__pickle_entry *entries = vkf__pickle_entries(content->pickle, &entry_count);
    *out_name_bytes = 0;
    for (size_t i = 0; i < entry_count; i++) {
        if (!is_tensor(&entries[i], container))
            continue;
        *out_name_bytes += (size_t)entries[i].key.count + 1;
        count++;
    }
    return count;
}

// Finds the dict that has the tensors: the root, or one under a name that training scripts use. False when there is
// none.
static bool find_dict(const vkf__torch_content *content, uint32_t *out_container)
{
    static const char *const keys[] = {"state_dict", "model", "model_state_dict"};
    size_t entry_count = 0, name_bytes;
    const vkf__pickle_entry *entries = vkf__pickle_entries(content->pickle, &entry_count);
    uint32_t root = content->root.first;
    if (content->root.kind != VKF_PICKLE_DICT)
        return false;
    *out_container = root;
    if (count_tensors(content, root, &name_bytes) > 0)
        return true;
    for (size_t key = 0; key < sizeof keys / sizeof keys[0]; key++) {
        for (size_t i = 0; i < entry_count; i++) {
            if (entries[i].container != root || entries[i].value.kind != VKF_PICKLE_DICT ||
                !vkf__pickle_is(content->pickle, entries[i].key, keys[key]))
                continue;
            *out_container = entries[i].value.first;
            return count_tensors(content, *out_container, &name_bytes) > 0;
        }
    }
    return false;
}

// ---- tensors

static vkf_status fill_tensor(const vkf__tensor_file *file, const vkf__byte_source *source,
                              const vkf__torch_objects *objects, const vkf__torch_tensor *from,
                              vkf__stored_tensor *tensor)
{
    const vkf__torch_storage *storage = &objects->storages[from->storage];
    uint64_t element = vkf__stored_type_size(from->type), begin = 0, storage_bytes = 0;
    if (!from->contiguous)
        return vkf__fail(&file->host, VKF_ERROR_UNSUPPORTED,
                         "%s: tensor %.200s is not contiguous; save it with .contiguous()", file->path, tensor->name);
    (void)vkf__mul_u64(storage->count, storage->element_bytes, &storage_bytes); // checked when it was placed
    if (!vkf__mul_u64(from->count, element, &tensor->size_bytes) || !vkf__mul_u64(from->first, element, &begin) ||
        begin > storage_bytes || tensor->size_bytes > storage_bytes - begin)
        return vkf__fail(&file->host, VKF_ERROR_FORMAT, "%s: tensor %.200s reaches beyond its storage", file->path,
                         tensor->name);
    tensor->type = from->type;
    tensor->rank = from->rank;
    memcpy(tensor->shape, from->shape, sizeof tensor->shape);
    tensor->count = from->count;
    tensor->file = source->file;
    tensor->offset_bytes = storage->offset_bytes + begin;
    tensor->data = source->file ? NULL : source->data + tensor->offset_bytes;
    return VKF_OK;
}

static vkf_status read_tensors(vkf__tensor_file *file, const vkf__byte_source *source,
                               const vkf__torch_content *content, uint32_t container)
{
    size_t entry_count = 0, name_bytes = 0, count = count_tensors(content, container, &name_bytes);
    const vkf__pickle_entry *entries = vkf__pickle_entries(content->pickle, &entry_count);
    VKF_ALLOC_OR_RETURN(&file->host, file->tensors, count);
    VKF_ALLOC_OR_RETURN(&file->host, file->names, name_bytes);
    char *name = file->names;
    for (size_t i = 0; i < entry_count; i++) {
        if (!is_tensor(&entries[i], container))
            continue;
        const char *key = vkf__pickle_text(content->pickle, entries[i].key);
        size_t bytes = entries[i].key.count;
        if (!vkf__is_printable(key, bytes))
            return vkf__fail(&file->host, VKF_ERROR_UNSUPPORTED, "%s: a tensor's name is not of printable ASCII",
                             file->path);
        memcpy(name, key, bytes);
        file->tensors[file->count].name = name;
        VKF_RETURN_IF_ERROR(fill_tensor(file, source, &content->objects,
                                        &content->objects.tensors[entries[i].value.count],
                                        &file->tensors[file->count]));
        file->count++;
        name += bytes + 1;
    }
    return VKF_OK;
}

// ---- the file

static vkf_status read_content(const vkf__byte_source *source, vkf__torch_content *content)
{
    vkf_status status = VKF_OK;
    uint8_t first[FIRST_BYTES] = {0};
    VKF_RETURN_IF_ERROR(vkf__source_read(
        source, 0, first, source->size_bytes < sizeof first ? (size_t)source->size_bytes : sizeof first));
    if (memcmp(first, "PK", 2) == 0)
        status = vkf__torch_read_zip(source, content);
    else if (first[0] == 0x80)
        status = vkf__torch_read_legacy(source, content);
    else if (memcmp(first, "version ", 8) == 0)
        status = vkf__fail(source->host, VKF_ERROR_FORMAT,
                           "%s: a pointer of Git LFS, not the file itself; fetch it with git lfs pull", source->path);
    else
        status = vkf__fail(source->host, VKF_ERROR_FORMAT, "%s: not a file that torch.save writes", source->path);
    return status;
}

static vkf_status read_file(vkf__tensor_file *file, const vkf__byte_source *source)
{
    vkf_status status = VKF_OK;
    uint32_t container = 0;
    vkf__torch_content content = {0};
    VKF_TRY(read_content(source, &content));
    if (find_dict(&content, &container))
        VKF_TRY(read_tensors(file, source, &content, container));
    else
        status =
            vkf__fail(&file->host, VKF_ERROR_UNSUPPORTED,
                      "%s: holds no dict of tensors, as torch.save(model.state_dict(), ...) writes one", file->path);
fail:
    vkf__torch_content_free(&file->host, &content);
    return status;
}

vkf_status vkf__torch_open_memory(const vkf__host *host, const char *path, const uint8_t *data, size_t size_bytes,
                                  vkf__tensor_file **out_file)
{
    return vkf__tensor_file_read_memory(host, path, data, size_bytes, read_file, out_file);
}

vkf_status vkf__torch_open(const vkf__host *host, const char *path, vkf__tensor_file **out_file)
{
    return vkf__tensor_file_read(host, path, read_file, out_file);
}
