// Paths of files in a directory.
#ifndef VKF_IO_PATH_H
#define VKF_IO_PATH_H

#include "base/host.h"

// Makes "directory/name", which vkf__free() releases. Statuses: INVALID_ARGUMENT (the directory is "", which would mean
// the root), OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__path_join(const vkf__host *host, const char *directory, const char *name,
                                         char **out_path);

// Whether a name that a file gives stays in the file's directory: it has no separators and is not "..".
bool vkf__path_is_name(const char *name);

#endif
