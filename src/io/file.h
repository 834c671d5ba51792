// Files that are read: an open one piece by piece, or a small one whole. Files are never mapped: if a mapped file
// shrinks, the process is killed, whereas a read only reports that the file has ended.
#ifndef VKF_IO_FILE_H
#define VKF_IO_FILE_H

#include "base/host.h"

// An open regular file. Putting another file in its place under its name does not change it. Threads may share one.
typedef struct vkf__file vkf__file;

// The file keeps a copy of *host. Statuses: FILE (with the path and the system's reason; anything but a regular file is
// refused), OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__file_open(const vkf__host *host, const char *path, vkf__file **out_file);
void vkf__file_close(vkf__file **file);

const char *vkf__file_path(const vkf__file *file);
uint64_t vkf__file_size(const vkf__file *file); // when it was opened

// Reads bytes [offset, offset + size_bytes). Status FILE: the file ends before them, or the system's reason. After a
// failure the contents of out_bytes are undefined.
VKF_MUST_CHECK vkf_status vkf__file_read_at(const vkf__file *file, uint64_t offset, void *out_bytes, size_t size_bytes);

// Status FILE when the file was written to since it was opened, as far as its length and its time of change tell: what
// was read may then be partly old and partly new.
VKF_MUST_CHECK vkf_status vkf__file_check_unchanged(const vkf__file *file);

// A file's bytes in host memory.
typedef struct vkf__file_bytes {
    uint8_t *data; // NULL for an empty file
    size_t size_bytes;
} vkf__file_bytes;

// Reads a regular file to its end, whatever length the system states. vkf__file_bytes_free() releases the bytes.
// Statuses: as vkf__file_open(), and FORMAT when the file is longer than max_bytes.
VKF_MUST_CHECK vkf_status vkf__file_read(const vkf__host *host, const char *path, size_t max_bytes,
                                         vkf__file_bytes *out_bytes);
void vkf__file_bytes_free(const vkf__host *host, vkf__file_bytes *bytes);

// Whether something is at the path; reading it may still fail. A symbolic link that leads nowhere counts, so that
// reading it fails with a message: its missing target must not pass for a file that the model can do without.
bool vkf__file_exists(const char *path);
// The same for a path that may be of the host's own source of files.
bool vkf__file_is_there(const vkf__host *host, const char *path);

#endif
