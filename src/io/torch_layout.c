// Reads the two forms of torch.save()'s files as far as their pickle, and finds each storage's place.
#include "io/torch_layout.h"

#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "io/zip_directory.h"

#define KEY_BYTES 512
#define LENGTH_BYTES 8

static vkf_status open_pickle(const vkf__byte_source *source, uint64_t offset, uint64_t size_bytes,
                              vkf__torch_content *out)
{
    if (size_bytes == 0 || size_bytes > VKF_PICKLE_MAX_BYTES)
        return vkf__fail(source->host, VKF_ERROR_FORMAT, "%s: its pickle has %llu bytes; at most 16 MiB are read",
                         source->path, (unsigned long long)size_bytes);
    out->objects.host = source->host;
    out->objects.path = source->path;
    VKF_ALLOC_OR_RETURN(source->host, out->text, size_bytes);
    VKF_RETURN_IF_ERROR(vkf__source_read(source, offset, out->text, (size_t)size_bytes));
    const vkf__pickle_world world = vkf__torch_world(&out->objects);
    VKF_RETURN_IF_ERROR(
        vkf__pickle_open(source->host, source->path, out->text, (size_t)size_bytes, &world, &out->pickle));
    return VKF_OK;
}

static int compare_keys(const void *a, const void *b)
{
    const vkf__torch_storage *left = *(vkf__torch_storage *const *)a, *right = *(vkf__torch_storage *const *)b;
    if (left->key_bytes != right->key_bytes)
        return left->key_bytes < right->key_bytes ? -1 : 1;
    return memcmp(left->key, right->key, left->key_bytes);
}

// Sorts pointers to the storages by key. A key appears once for each tensor that uses it. NULL where there are no
// storages.
static vkf_status sort_storages(const vkf__byte_source *source, vkf__torch_content *content,
                                vkf__torch_storage ***out_sorted)
{
    vkf__torch_storage **sorted = NULL;
    size_t count = content->objects.storage_count;
    if (count == 0)
        return VKF_OK;
    VKF_ALLOC_OR_RETURN(source->host, sorted, count);
    for (size_t i = 0; i < count; i++)
        sorted[i] = &content->objects.storages[i];
    qsort(sorted, count, sizeof *sorted, compare_keys);
    *out_sorted = sorted;
    return VKF_OK;
}

static vkf_status fail_storage(const vkf__byte_source *source, const vkf__torch_storage *storage, const char *reason)
{
    return vkf__fail(source->host, VKF_ERROR_FORMAT, "%s: storage %.*s %s", source->path,
                     storage->key_bytes < 100 ? (int)storage->key_bytes : 100, storage->key, reason);
}

// Places the storages of one key, for which `available` bytes lie at an offset; *inout_index moves behind them.
static vkf_status place_group(const vkf__byte_source *source, vkf__torch_storage **sorted, size_t count,
                              uint64_t offset, uint64_t available, size_t *inout_index)
{
    vkf__torch_storage *first = sorted[*inout_index];
    for (; *inout_index < count && compare_keys(&first, &sorted[*inout_index]) == 0; ++*inout_index) {
        vkf__torch_storage *storage = sorted[*inout_index];
        uint64_t bytes = 0;
        if (storage->type != first->type || storage->count != first->count)
            return fail_storage(source, storage, "is of two types or lengths");
        if (!vkf__mul_u64(storage->count, storage->element_bytes, &bytes) || bytes > available)
            return fail_storage(source, storage, "is longer than what the file has of it; is it cut off?");
        storage->placed = true;
        storage->offset_bytes = offset;
    }
    return VKF_OK;
}

// ---- the zip archive: NAME/data.pkl, NAME/byteorder and NAME/data/KEY

static bool ends_with(const vkf__zip_entry *entry, const char *ending)
{
    size_t length = strlen(ending);
    return entry->name_bytes >= length && memcmp(entry->name + entry->name_bytes - length, ending, length) == 0;
}

// The entry NAME/folder beside the pickle's NAME/data.pkl.
static const vkf__zip_entry *find_beside(const vkf__zip *zip, const vkf__zip_entry *pickle, const char *folder,
                                         const char *name, size_t name_bytes)
{
    char full[KEY_BYTES];
    size_t prefix = pickle->name_bytes - strlen("data.pkl"), folder_bytes = strlen(folder);
    if (prefix + folder_bytes + name_bytes > sizeof full)
        return NULL;
    memcpy(full, pickle->name, prefix);
    memcpy(full + prefix, folder, folder_bytes);
    memcpy(full + prefix + folder_bytes, name, name_bytes);
    return vkf__zip_find(zip, full, prefix + folder_bytes + name_bytes);
}

static vkf_status find_pickle(const vkf__byte_source *source, const vkf__zip *zip, const vkf__zip_entry **out_entry)
{
    const vkf__zip_entry *found = NULL;
    for (size_t i = 0; i < vkf__zip_count(zip); i++) {
        if (ends_with(vkf__zip_at(zip, i), "/constants.pkl"))
            return vkf__fail(source->host, VKF_ERROR_UNSUPPORTED,
                             "%s: a TorchScript archive, which is code; save the model's state_dict instead",
                             source->path);
        if (!found && ends_with(vkf__zip_at(zip, i), "/data.pkl"))
            found = vkf__zip_at(zip, i);
    }
    if (!found)
        return vkf__fail(source->host, VKF_ERROR_FORMAT,
                         "%s: a zip archive that torch.save has not written: it has no data.pkl; unpack it",
                         source->path);
    *out_entry = found;
    return VKF_OK;
}

static vkf_status check_byte_order(const vkf__byte_source *source, const vkf__zip *zip, const vkf__zip_entry *pickle)
{
    uint64_t offset = 0;
    char order[3];
    const vkf__zip_entry *entry = find_beside(zip, pickle, "", "byteorder", strlen("byteorder"));
    if (!entry)
        return VKF_OK;
    VKF_RETURN_IF_ERROR(vkf__zip_place(zip, entry, &offset));
    if (entry->size_bytes < sizeof order)
        return VKF_OK;
    VKF_RETURN_IF_ERROR(vkf__source_read(source, offset, order, sizeof order));
    if (memcmp(order, "big", sizeof order) == 0)
        return vkf__fail(source->host, VKF_ERROR_UNSUPPORTED, "%s: saved on a big-endian machine", source->path);
    return VKF_OK;
}

static vkf_status place_entries(const vkf__byte_source *source, const vkf__zip *zip, const vkf__zip_entry *pickle,
                                vkf__torch_content *content)
{
    vkf_status status = VKF_OK;
    vkf__torch_storage **sorted = NULL;
    size_t count = content->objects.storage_count;
    VKF_TRY(sort_storages(source, content, &sorted));
    for (size_t i = 0; i < count;) {
        uint64_t offset = 0;
        const vkf__zip_entry *entry = find_beside(zip, pickle, "data/", sorted[i]->key, sorted[i]->key_bytes);
        if (!entry) {
            status = fail_storage(source, sorted[i], "is missing");
            goto fail;
        }
        VKF_TRY(vkf__zip_place(zip, entry, &offset));
        VKF_TRY(place_group(source, sorted, count, offset, entry->size_bytes, &i));
    }
fail:
    vkf__free(source->host, sorted);
    return status;
}

vkf_status vkf__torch_read_zip(const vkf__byte_source *source, vkf__torch_content *out)
{
    vkf_status status = VKF_OK;
    vkf__zip *zip = NULL;
    const vkf__zip_entry *pickle = NULL;
    uint64_t offset = 0;
    VKF_TRY(vkf__zip_open(source, &zip));
    VKF_TRY(find_pickle(source, zip, &pickle));
    VKF_TRY(check_byte_order(source, zip, pickle));
    VKF_TRY(vkf__zip_place(zip, pickle, &offset));
    VKF_TRY(open_pickle(source, offset, pickle->size_bytes, out));
    VKF_TRY(vkf__pickle_next(out->pickle, &out->root));
    VKF_TRY(place_entries(source, zip, pickle, out));
fail:
    vkf__zip_close(&zip);
    return status;
}

// ---- the older form: pickles of a magic number, a version, the machine, the dict and the storages' keys; behind them,
// for each key, the number of its elements and the elements

static vkf_status check_machine(const vkf__byte_source *source, const vkf__pickle *pickle, vkf__pickle_value machine)
{
    size_t count = 0;
    const vkf__pickle_entry *entries = vkf__pickle_entries(pickle, &count);
    for (size_t i = 0; machine.kind == VKF_PICKLE_DICT && i < count; i++)
        if (entries[i].container == machine.first && vkf__pickle_is(pickle, entries[i].key, "little_endian") &&
            entries[i].value.kind == VKF_PICKLE_BOOL && entries[i].value.integer == 0)
            return vkf__fail(source->host, VKF_ERROR_UNSUPPORTED, "%s: saved on a big-endian machine", source->path);
    return VKF_OK;
}

// Places the storage of the next key, whose number of elements is at *inout_offset.
static vkf_status place_next(const vkf__byte_source *source, vkf__torch_storage **sorted, size_t count,
                             const vkf__torch_storage *key, uint64_t *inout_offset)
{
    uint8_t length[LENGTH_BYTES];
    vkf__torch_storage **found = count > 0 ? bsearch(&key, sorted, count, sizeof *sorted, compare_keys) : NULL;
    if (!found)
        return fail_storage(source, key, "belongs to no tensor");
    while (found > sorted && compare_keys(found - 1, &key) == 0)
        found--;
    if ((*found)->placed)
        return fail_storage(source, key, "is there twice");
    VKF_RETURN_IF_ERROR(vkf__source_read(source, *inout_offset, length, sizeof length));
    if (vkf__load_le(length, sizeof length) != (*found)->count)
        return fail_storage(source, key, "has another length than its tensors say");
    uint64_t begin = *inout_offset + sizeof length;
    size_t index = (size_t)(found - sorted);
    VKF_RETURN_IF_ERROR(place_group(source, sorted, count, begin, source->size_bytes - begin, &index));
    *inout_offset = begin + (*found)->count * (*found)->element_bytes;
    return VKF_OK;
}

static vkf_status place_sequence(const vkf__byte_source *source, vkf__torch_content *content, vkf__pickle_value keys)
{
    vkf_status status = VKF_OK;
    vkf__torch_storage **sorted = NULL;
    size_t entry_count = 0, count = content->objects.storage_count;
    const vkf__pickle_entry *entries = vkf__pickle_entries(content->pickle, &entry_count);
    uint64_t offset = vkf__pickle_place(content->pickle);
    VKF_TRY(sort_storages(source, content, &sorted));
    for (size_t i = 0; i < entry_count; i++) {
        const vkf__pickle_value value = entries[i].value;
        if (entries[i].container != keys.first || value.kind != VKF_PICKLE_STRING)
            continue;
        const vkf__torch_storage key = {.key = vkf__pickle_text(content->pickle, value), .key_bytes = value.count};
        if (!vkf__torch_is_key(key.key, key.key_bytes)) {
            status = vkf__fail(source->host, VKF_ERROR_FORMAT,
                               "%s: a storage behind its pickle has a key that is no name", source->path);
            goto fail;
        }
        VKF_TRY(place_next(source, sorted, count, &key, &offset));
    }
    for (size_t i = 0; i < count && status == VKF_OK; i++)
        if (!sorted[i]->placed)
            status = fail_storage(source, sorted[i], "is missing");
fail:
    vkf__free(source->host, sorted);
    return status;
}

vkf_status vkf__torch_read_legacy(const vkf__byte_source *source, vkf__torch_content *out)
{
    static const uint8_t magic[] = {0x8a, 10, 0x6c, 0xfc, 0x9c, 0x46, 0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19, '.'};
    vkf__pickle_value ignored, machine, keys;
    uint64_t most = source->size_bytes < VKF_PICKLE_MAX_BYTES ? source->size_bytes : VKF_PICKLE_MAX_BYTES;
    VKF_RETURN_IF_ERROR(open_pickle(source, 0, most, out));
    if (most < 2 + sizeof magic || memcmp(out->text + 2, magic, sizeof magic) != 0)
        return vkf__fail(source->host, VKF_ERROR_FORMAT,
                         "%s: a pickle that torch.save has not written; only dicts of tensors are read", source->path);
    VKF_RETURN_IF_ERROR(vkf__pickle_next(out->pickle, &ignored)); // the magic number
    VKF_RETURN_IF_ERROR(vkf__pickle_next(out->pickle, &ignored)); // the version, which never changed
    VKF_RETURN_IF_ERROR(vkf__pickle_next(out->pickle, &machine));
    VKF_RETURN_IF_ERROR(check_machine(source, out->pickle, machine));
    VKF_RETURN_IF_ERROR(vkf__pickle_next(out->pickle, &out->root));
    VKF_RETURN_IF_ERROR(vkf__pickle_next(out->pickle, &keys));
    if (keys.kind != VKF_PICKLE_LIST)
        return vkf__fail(source->host, VKF_ERROR_FORMAT, "%s: no list of storages behind its pickle", source->path);
    return place_sequence(source, out, keys);
}

void vkf__torch_content_free(const vkf__host *host, vkf__torch_content *content)
{
    vkf__pickle_close(&content->pickle);
    if (content->objects.host)
        vkf__torch_objects_free(&content->objects);
    vkf__free(host, content->text);
    *content = (vkf__torch_content){0};
}
