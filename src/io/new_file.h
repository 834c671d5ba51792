// A file that is written. A regular one, or one that is not there yet, appears under its name only when it is complete:
// the bytes go to a temporary file beside it, which is flushed to the disk and takes its place with its permissions and
// owner. Symbolic links are followed and stay.
//
// Written through are what is no regular file (a pipe, a device such as /dev/null) and what this process has open for
// writing as its standard output or error, or by the number in /dev/fd/NUMBER. So is, from its beginning, a file that
// no new one can take the place of: its directory cannot be written to, or its owner or permissions cannot be given.
//
// Systems without POSIX have the temporary file alone.
#ifndef VKF_IO_NEW_FILE_H
#define VKF_IO_NEW_FILE_H

#include <stdio.h>

#include "base/host.h"

typedef struct vkf__new_file {
    const vkf__host *host;
    FILE *stream;
    char *path;
    char *target;    // `path` without links; NULL when it is written through
    char *temporary; // NULL when it is written through
    bool flushed;    // to the disk, at the end
} vkf__new_file;

// *out_file keeps `host`, which outlives it. Statuses: FILE (a directory, a file without permission to write, or the
// system's reason), OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__new_file_open(const vkf__host *host, const char *path, vkf__new_file *out_file);
VKF_MUST_CHECK vkf_status vkf__new_file_write(vkf__new_file *file, const void *data, size_t size_bytes);

// Flushes to the disk and puts the file in its place, unless something that is no regular file has come to stand there.
// Whoever wrote to the stream need not have looked at its errors. *file is closed on success and on failure; on failure
// `path` is as it was, unless it is written through, and the temporary file is gone. Status FILE.
VKF_MUST_CHECK vkf_status vkf__new_file_commit(vkf__new_file *file);

// Removes the temporary file. After a commit, and for {0}, there is nothing to do.
void vkf__new_file_discard(vkf__new_file *file);

// A whole file at once. Statuses as above.
VKF_MUST_CHECK vkf_status vkf__file_write(const vkf__host *host, const char *path, const void *data, size_t size_bytes);

// A name beside `path` for something temporary: "<directory>/<prefix><16 hexadecimal digits>.tmp". That of attempt 0 is
// the same each time in a process. Where it is taken, by another thread or by what a killed process left behind, that
// of the next attempt is tried. vkf__free() releases it. Status OUT_OF_HOST_MEMORY.
#define VKF_TEMPORARY_PREFIX ".vkformer-"
#define VKF_TEMPORARY_ATTEMPTS 100
VKF_MUST_CHECK vkf_status vkf__temporary_path(const vkf__host *host, const char *path, const char *prefix,
                                              unsigned attempt, char **out_temporary);

#endif
