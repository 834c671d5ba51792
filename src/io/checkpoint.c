// Opens the weights of a model: a single file, or the files that an index names.
#include "io/checkpoint.h"

#include <string.h>

#include "base/hash.h"
#include "base/system_file.h"
#include "io/directory.h"
#include "io/file.h"
#include "io/json_file.h"
#include "io/path.h"

struct vkf__checkpoint {
    vkf__host host;
    char *path; // as vkf__checkpoint_path() gives it
    vkf__tensor_file **files;
    size_t file_count;
};

// Takes ownership of `path`.
static vkf_status make(const vkf__host *host, char *path, size_t capacity, vkf__checkpoint **out_checkpoint)
{
    vkf_status status = VKF_OK;
    vkf__checkpoint *checkpoint = NULL;
    VKF_ALLOC(host, checkpoint, 1);
    checkpoint->host = *host;
    checkpoint->path = path;
    path = NULL;
    VKF_ALLOC(host, checkpoint->files, capacity);
    *out_checkpoint = checkpoint;
    return VKF_OK;
fail:
    vkf__free(host, path);
    vkf__checkpoint_close(&checkpoint);
    return status;
}

// Takes ownership of `path`.
static vkf_status open_single(const vkf__host *host, char *path, vkf__checkpoint **out_checkpoint)
{
    vkf_status status = VKF_OK;
    vkf__checkpoint *checkpoint = NULL;
    VKF_TRY(make(host, path, 1, &checkpoint));
    VKF_TRY(vkf__tensor_file_open(host, checkpoint->path, &checkpoint->files[0]));
    checkpoint->file_count = 1;
    *out_checkpoint = checkpoint;
    return VKF_OK;
fail:
    vkf__checkpoint_close(&checkpoint);
    return status;
}

vkf_status vkf__checkpoint_open_file(const vkf__host *host, const char *path, vkf__checkpoint **out_checkpoint)
{
    vkf_status status = VKF_OK;
    char *copy = NULL;
    VKF_STRDUP(host, copy, path);
    status = open_single(host, copy, out_checkpoint);
fail:
    return status;
}

static const char *name_of(const char *path)
{
    return path + vkf__path_directory_bytes(path);
}

static const vkf__tensor_file *find_file(const vkf__checkpoint *checkpoint, const char *name)
{
    for (size_t i = 0; i < checkpoint->file_count; i++)
        if (strcmp(name_of(vkf__tensor_file_path(checkpoint->files[i])), name) == 0)
            return checkpoint->files[i];
    return NULL;
}

// Gives the file that an entry of the index names. The first entry that names a file opens it.
static vkf_status open_listed(vkf__checkpoint *checkpoint, const char *directory, const char *name,
                              const vkf__tensor_file **out_file)
{
    vkf_status status = VKF_OK;
    char *path = NULL;
    *out_file = find_file(checkpoint, name);
    if (*out_file)
        return VKF_OK;
    if (!vkf__path_is_name(name))
        return vkf__fail(&checkpoint->host, VKF_ERROR_FORMAT, "%s: \"%s\" is outside of the directory",
                         checkpoint->path, name);
    VKF_TRY(vkf__path_join(&checkpoint->host, directory, name, &path));
    VKF_TRY(vkf__tensor_file_open(&checkpoint->host, path, &checkpoint->files[checkpoint->file_count]));
    *out_file = checkpoint->files[checkpoint->file_count++];
fail:
    vkf__free(&checkpoint->host, path);
    return status;
}

static vkf_status open_all(vkf__checkpoint *checkpoint, const char *directory, json_t *map)
{
    const char *tensor = NULL;
    json_t *value = NULL;
    json_object_foreach(map, tensor, value)
    {
        const vkf__tensor_file *file = NULL;
        if (!json_is_string(value))
            return vkf__fail(&checkpoint->host, VKF_ERROR_FORMAT, "%s: weight_map's \"%s\" is no string",
                             checkpoint->path, tensor);
        VKF_RETURN_IF_ERROR(open_listed(checkpoint, directory, json_string_value(value), &file));
        if (!vkf__tensor_file_find(file, tensor))
            return vkf__fail(&checkpoint->host, VKF_ERROR_FORMAT, "%s: tensor %s is missing, which %s places there",
                             vkf__tensor_file_path(file), tensor, checkpoint->path);
    }
    return VKF_OK;
}

// Takes ownership of `path`.
static vkf_status open_index(const vkf__host *host, const char *directory, char *path, vkf__checkpoint **out_checkpoint)
{
    vkf_status status = VKF_OK;
    vkf__checkpoint *checkpoint = NULL;
    json_t *root = NULL, *map = NULL;
    status = vkf__json_load(host, path, &root);
    map = json_object_get(root, "weight_map");
    if (status == VKF_OK && (!json_is_object(map) || json_object_size(map) == 0))
        status = vkf__fail(host, VKF_ERROR_FORMAT, "%s: key 'weight_map' is no object with entries", path);
    if (status != VKF_OK) {
        vkf__free(host, path);
        goto fail;
    }
    VKF_TRY(make(host, path, json_object_size(map), &checkpoint));
    VKF_TRY(open_all(checkpoint, directory, map));
    *out_checkpoint = checkpoint;
    checkpoint = NULL;
fail:
    json_decref(root);
    vkf__checkpoint_close(&checkpoint);
    return status;
}

// The files that a directory may have, the best first.
static const struct {
    const char *name;
    bool index;
} candidates[] = {
    {"model.safetensors", false},
    {"model.safetensors.index.json", true},
    {"pytorch_model.bin", false},
    {"pytorch_model.bin.index.json", true},
};

vkf_status vkf__checkpoint_is_there(const vkf__host *host, const char *directory, bool *out_there)
{
    char *path = NULL;
    *out_there = false;
    VKF_RETURN_IF_ERROR(vkf__directory_check(host, directory));
    for (size_t i = 0; i < sizeof candidates / sizeof candidates[0] && !*out_there; i++) {
        VKF_RETURN_IF_ERROR(vkf__path_join(host, directory, candidates[i].name, &path));
        *out_there = vkf__file_is_there(host, path);
        vkf__free(host, path);
    }
    return VKF_OK;
}

vkf_status vkf__checkpoint_open(const vkf__host *host, const char *directory, vkf__checkpoint **out_checkpoint)
{
    char *path = NULL;
    VKF_RETURN_IF_ERROR(vkf__directory_check(host, directory));
    for (size_t i = 0; i < sizeof candidates / sizeof candidates[0]; i++) {
        VKF_RETURN_IF_ERROR(vkf__path_join(host, directory, candidates[i].name, &path));
        if (!vkf__file_is_there(host, path)) {
            vkf__free(host, path);
            path = NULL;
            continue;
        }
        return candidates[i].index ? open_index(host, directory, path, out_checkpoint)
                                   : open_single(host, path, out_checkpoint);
    }
    VKF_RETURN_IF_ERROR(vkf__directory_check_others(host, directory));
    return vkf__fail(host, VKF_ERROR_FILE,
                     "%s: no weights in it: neither model.safetensors nor pytorch_model.bin, nor an index of either",
                     directory);
}

void vkf__checkpoint_close(vkf__checkpoint **checkpoint)
{
    if (!checkpoint || !*checkpoint)
        return;
    vkf__host host = (*checkpoint)->host;
    for (size_t i = 0; i < (*checkpoint)->file_count; i++)
        vkf__tensor_file_close(&(*checkpoint)->files[i]);
    vkf__free(&host, (*checkpoint)->files);
    vkf__free(&host, (*checkpoint)->path);
    vkf__free(&host, *checkpoint);
    *checkpoint = NULL;
}

size_t vkf__checkpoint_count(const vkf__checkpoint *checkpoint)
{
    size_t count = 0;
    for (size_t i = 0; i < checkpoint->file_count; i++)
        count += vkf__tensor_file_count(checkpoint->files[i]);
    return count;
}

const vkf__stored_tensor *vkf__checkpoint_at(const vkf__checkpoint *checkpoint, size_t index)
{
    for (size_t i = 0; i < checkpoint->file_count; i++) {
        size_t count = vkf__tensor_file_count(checkpoint->files[i]);
        if (index < count)
            return vkf__tensor_file_at(checkpoint->files[i], index);
        index -= count;
    }
    return NULL;
}

const vkf__stored_tensor *vkf__checkpoint_find(const vkf__checkpoint *checkpoint, const char *name)
{
    for (size_t i = 0; i < checkpoint->file_count; i++) {
        const vkf__stored_tensor *tensor = vkf__tensor_file_find(checkpoint->files[i], name);
        if (tensor)
            return tensor;
    }
    return NULL;
}

bool vkf__checkpoint_has_prefix(const vkf__checkpoint *checkpoint, const char *prefix)
{
    const vkf__stored_tensor *tensor;
    for (size_t i = 0; (tensor = vkf__checkpoint_at(checkpoint, i)); i++)
        if (strncmp(tensor->name, prefix, strlen(prefix)) == 0)
            return true;
    return false;
}

const char *vkf__checkpoint_path(const vkf__checkpoint *checkpoint)
{
    return checkpoint->path;
}

const char *vkf__checkpoint_path_of(const vkf__checkpoint *checkpoint, const vkf__stored_tensor *tensor)
{
    for (size_t i = 0; i < checkpoint->file_count; i++)
        if (vkf__tensor_file_find(checkpoint->files[i], tensor->name) == tensor)
            return vkf__tensor_file_path(checkpoint->files[i]);
    return checkpoint->path;
}

#define SAMPLE_BYTES 256u

json_t *vkf__checkpoint_metadata(const vkf__checkpoint *checkpoint)
{
    json_t *all = json_object();
    for (size_t i = 0; all && i < checkpoint->file_count; i++) {
        json_t *own = vkf__tensor_file_metadata(checkpoint->files[i]);
        if (own && json_object_update_missing(all, own) != 0) {
            json_decref(all);
            all = NULL;
        }
    }
    return all;
}

vkf_status vkf__checkpoint_fingerprint(const vkf__checkpoint *checkpoint, uint64_t *out_hash)
{
    const vkf__stored_tensor *tensor;
    uint64_t hash = VKF_HASH_SEED;
    for (size_t i = 0; (tensor = vkf__checkpoint_at(checkpoint, i)); i++) {
        const size_t size = tensor->size_bytes < SAMPLE_BYTES ? (size_t)tensor->size_bytes : SAMPLE_BYTES;
        const char *type = vkf__stored_type_name(tensor->type);
        uint8_t sample[SAMPLE_BYTES];
        VKF_RETURN_IF_ERROR(vkf__stored_read(tensor, 0, size, sample));
        hash = vkf__hash(hash, tensor->name, strlen(tensor->name) + 1);
        hash = vkf__hash(hash, type, strlen(type) + 1);
        hash = vkf__hash(hash, tensor->shape, tensor->rank * sizeof tensor->shape[0]);
        hash = vkf__hash(hash, sample, size);
    }
    *out_hash = hash;
    return VKF_OK;
}

vkf_status vkf__checkpoint_check_unchanged(const vkf__checkpoint *checkpoint)
{
    vkf_status status = VKF_OK;
    for (size_t i = 0; i < checkpoint->file_count && status == VKF_OK; i++)
        status = vkf__tensor_file_check_unchanged(checkpoint->files[i]);
    return status;
}
