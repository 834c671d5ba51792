// A file that is written. A regular file, or one that does not exist yet, appears under its name only when it is
// complete: the bytes go to a temporary file beside it, which is flushed to the disk and then replaces it, with its
// permissions and owner. Symbolic links are followed and stay.
//
// Some files are written through instead, without a temporary file: anything but a regular file (a pipe, a device such
// as /dev/null), and a file that this process has open for writing as its standard output or error, or as descriptor
// NUMBER of the path /dev/fd/NUMBER. A regular file that cannot be replaced is written through from its beginning: its
// directory is not writable, or a new file cannot be given its owner or permissions.
//
// On Windows the new file has the permissions that its directory gives, and replaces a symbolic link.
#ifndef VKF_BASE_NEW_FILE_H
#define VKF_BASE_NEW_FILE_H

#include <stdio.h>

#include "base/host.h"

typedef struct vkf__new_file {
    const vkf__host *host;
    FILE *stream;
    char *path;
    char *target;    // `path` without links; NULL when it is written through
    char *temporary; // NULL when it is written through
    bool flushed;    // to be flushed to the disk at the end
} vkf__new_file;

// *out_file keeps `host`, which must outlive it. Statuses: FILE (a directory, a file without permission to write, or
// the system's reason), OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__new_file_open(const vkf__host *host, const char *path, vkf__new_file *out_file);
VKF_MUST_CHECK vkf_status vkf__new_file_write(vkf__new_file *file, const void *data, size_t size_bytes);

// Flushes the file to the disk and puts it in its place, unless something other than a regular file has appeared there
// meanwhile. Callers that write to the stream need not check it for errors. *file is closed on success and on failure.
// After a failure the temporary file is gone, and `path` is as it was unless it is written through. Status FILE.
VKF_MUST_CHECK vkf_status vkf__new_file_commit(vkf__new_file *file);

// Removes the temporary file. Does nothing after a commit, and for {0}.
void vkf__new_file_discard(vkf__new_file *file);

// Writes a whole file at once. Statuses as above.
VKF_MUST_CHECK vkf_status vkf__file_write(const vkf__host *host, const char *path, const void *data, size_t size_bytes);

// Makes a name beside `path` for something temporary: "<directory>/<prefix><16 hexadecimal digits>.tmp". Within a
// process an attempt always gives the same name. If another thread has taken it, or a killed process left it behind,
// the caller tries the next attempt. vkf__free() releases the name. Status OUT_OF_HOST_MEMORY.
#define VKF_TEMPORARY_PREFIX ".vkformer-"
#define VKF_TEMPORARY_ATTEMPTS 100
VKF_MUST_CHECK vkf_status vkf__temporary_path(const vkf__host *host, const char *path, const char *prefix,
                                              unsigned attempt, char **out_temporary);

#endif
