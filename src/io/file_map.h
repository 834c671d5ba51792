// A whole file, read-only: memory-mapped where the system can.
#ifndef VKF_IO_FILE_MAP_H
#define VKF_IO_FILE_MAP_H

#include "base/host.h"

typedef struct vkf__file_map {
    const uint8_t *data; // NULL for an empty file
    size_t size_bytes;
    bool mapped; // the system's pages; otherwise the host allocator's memory
} vkf__file_map;

// The file must not shrink while it is open. Statuses: FILE (with the path and the system's reason; a directory is
// refused), OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__file_map_open(const vkf__host *host, const char *path, vkf__file_map *out_map);
void vkf__file_map_close(const vkf__host *host, vkf__file_map *map);

// Reads into host memory instead: for small files, which may then change at any time. Closed as above. Statuses: as
// above, and FORMAT when the file is longer than max_bytes.
VKF_MUST_CHECK vkf_status vkf__file_read(const vkf__host *host, const char *path, size_t max_bytes,
                                         vkf__file_map *out_map);

// Whether something stands at the path; reading it may still fail.
bool vkf__file_exists(const char *path);

#endif
