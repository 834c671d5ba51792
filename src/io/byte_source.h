// The bytes of a file, wherever they are, for readers that jump about in it.
#ifndef VKF_IO_BYTE_SOURCE_H
#define VKF_IO_BYTE_SOURCE_H

#include "io/file.h"

typedef struct vkf__byte_source {
    const vkf__host *host;
    const char *path;      // for messages
    const vkf__file *file; // NULL where the bytes are in memory
    const uint8_t *data;   // the bytes, where they are in memory
    uint64_t size_bytes;
} vkf__byte_source;

// Reads bytes [offset, offset + size_bytes). Statuses: FORMAT (beyond the end), and as vkf__file_read_at().
VKF_MUST_CHECK vkf_status vkf__source_read(const vkf__byte_source *source, uint64_t offset, void *out_bytes,
                                           size_t size_bytes);

// Reads a little-endian number of up to 8 bytes.
uint64_t vkf__load_le(const uint8_t *bytes, size_t size_bytes);

#endif
