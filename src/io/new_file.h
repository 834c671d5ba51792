// A file that appears under its name only when it is complete.
#ifndef VKF_IO_NEW_FILE_H
#define VKF_IO_NEW_FILE_H

#include <stdio.h>

#include "base/host.h"

typedef struct vkf__new_file {
    const vkf__host *host;
    FILE *stream;
    char *path;
    char *temporary; // "<path>.tmp-<process id>"
} vkf__new_file;

// Starts the temporary file beside `path`. Statuses: FILE, OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__new_file_open(const vkf__host *host, const char *path, vkf__new_file *out_file);
VKF_MUST_CHECK vkf_status vkf__new_file_write(vkf__new_file *file, const void *data, size_t size_bytes);

// Flushes to the disk and renames over `path`. *file is closed on success and on failure; on failure `path` is as it
// was and the temporary file gone.
VKF_MUST_CHECK vkf_status vkf__new_file_commit(vkf__new_file *file);

// Removes the temporary file. After a commit, and for {0}, there is nothing to do.
void vkf__new_file_discard(vkf__new_file *file);

#endif
