// A directory that appears under its name only when it is complete.
#ifndef VKF_IO_NEW_DIRECTORY_H
#define VKF_IO_NEW_DIRECTORY_H

#include "base/host.h"

typedef struct vkf__new_directory {
    const vkf__host *host;
    char *path;      // without trailing slashes
    char *temporary; // the directory in which its files are made
    intptr_t hold;   // while it lasts, others know that a process is at work in it
} vkf__new_directory;

// Makes the temporary directory beside `path`, and removes what killed runs left there for the same path. `path` is an
// empty directory or does not exist yet. Statuses: FILE (the path is in use, its last part is not a name, or the
// system's reason), OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__new_directory_open(const vkf__host *host, const char *path,
                                                  vkf__new_directory *out_directory);

// Gives the directory its name. It is closed on success and on failure; after a failure it is removed with all its
// files.
VKF_MUST_CHECK vkf_status vkf__new_directory_commit(vkf__new_directory *directory);

// Removes the directory with all its files. Does nothing after a commit, and for {0}.
void vkf__new_directory_discard(vkf__new_directory *directory);

// Removes what killed processes have left of the directory `path` beside it, as vkf__new_directory_open() does. Status
// OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__new_directory_clean(const vkf__host *host, const char *path);

// Removes a directory with all that is in it. It loses its name first, so that nobody finds a part of it. What a killed
// process leaves vkf__new_directory_clean() removes. Statuses: FILE, OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__new_directory_retire(const vkf__host *host, const char *path);

// Whether a name is that of a temporary directory: a dot, the stem, a number and ".tmp". Earlier versions made one in
// the other, and left "..", the stem and both endings.
bool vkf__new_directory_is_temporary(const char *name, const char *stem, size_t stem_bytes);

#endif
