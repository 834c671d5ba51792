// The directory of a zip archive (also zip64), and where the bytes of its entries are. Only stored entries are read,
// which are neither compressed nor encrypted.
#ifndef VKF_IO_ZIP_DIRECTORY_H
#define VKF_IO_ZIP_DIRECTORY_H

#include "io/byte_source.h"

typedef struct vkf__zip_entry {
    const char *name; // not terminated
    uint32_t name_bytes;
    uint16_t flags, method;
    uint64_t header_offset, size_bytes, packed_bytes;
} vkf__zip_entry;

typedef struct vkf__zip vkf__zip;

// What *source points to must outlive *out_zip. Statuses: FORMAT (no archive, one that is cut off, a duplicate name,
// entries that together are longer than the file), OUT_OF_HOST_MEMORY, FILE.
VKF_MUST_CHECK vkf_status vkf__zip_open(const vkf__byte_source *source, vkf__zip **out_zip);
void vkf__zip_close(vkf__zip **zip);

size_t vkf__zip_count(const vkf__zip *zip);
const vkf__zip_entry *vkf__zip_at(const vkf__zip *zip, size_t index); // in order of names
const vkf__zip_entry *vkf__zip_find(const vkf__zip *zip, const char *name, size_t name_bytes);

// Where the entry's bytes begin in the file. Statuses: UNSUPPORTED (compressed or encrypted), FORMAT, FILE.
VKF_MUST_CHECK vkf_status vkf__zip_place(const vkf__zip *zip, const vkf__zip_entry *entry, uint64_t *out_offset);

#endif
