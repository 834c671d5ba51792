// Files of a caller's list: in memory, or in parts of open files.
#include <vkformer/file_source.h>

#include <string.h>

#include "base/system_file.h"

static bool read_descriptor(const vkf_listed_file *file, uint64_t offset, uint8_t *out_bytes, size_t size_bytes)
{
    for (size_t done = 0; done < size_bytes;) {
        const int64_t got = vkf__descriptor_read_at(file->descriptor, out_bytes + done, size_bytes - done,
                                                    file->offset_bytes + offset + done);
        if (got <= 0)
            return false;
        done += (size_t)got;
    }
    return true;
}

static const vkf_listed_file *find(const vkf_file_list *list, const char *name)
{
    for (uint32_t i = 0; i < list->count; i++)
        if (list->files[i].name && strcmp(list->files[i].name, name) == 0)
            return &list->files[i];
    return NULL;
}

static bool size_of_listed(void *user, const char *name, uint64_t *out_size_bytes)
{
    const vkf_listed_file *file = find(user, name);
    if (file)
        *out_size_bytes = file->size_bytes;
    return file != NULL;
}

static bool read_listed(void *user, const char *name, uint64_t offset, void *out_bytes, size_t size_bytes)
{
    const vkf_listed_file *file = find(user, name);
    if (!file || offset > file->size_bytes || size_bytes > file->size_bytes - offset)
        return false;
    if (!file->bytes)
        return read_descriptor(file, offset, out_bytes, size_bytes);
    memcpy(out_bytes, (const uint8_t *)file->bytes + offset, size_bytes);
    return true;
}

void vkf_file_list_get_source(const vkf_file_list *list, vkf_file_source *out_source)
{
    if (list && out_source)
        *out_source = (vkf_file_source){.size = size_of_listed, .read = read_listed, .user = (void *)(uintptr_t)list};
}
