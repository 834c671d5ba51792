// Paths of files in a directory.
#ifndef VKF_IO_PATH_H
#define VKF_IO_PATH_H

#include "base/host.h"

// "directory/name"; released with vkf__free(). Statuses: INVALID_ARGUMENT (the directory is "", which would be the
// root), OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__path_join(const vkf__host *host, const char *directory, const char *name,
                                         char **out_path);

// Whether a name that a file gives stays in its directory: it is no path, and not the directory above.
bool vkf__path_is_name(const char *name);

#endif
