// Whether a path can be a model's directory, and what to do where it is something else.
#ifndef VKF_IO_DIRECTORY_H
#define VKF_IO_DIRECTORY_H

#include "base/host.h"

// Status FILE when the path is not a directory. The message helps: it says that nothing is there, or of which kind a
// file is by its name. A path that cannot be examined passes, because reading from it will say why.
VKF_MUST_CHECK vkf_status vkf__directory_check(const vkf__host *host, const char *path);

// For a directory without a model: status FILE where it has a file that others read for one, such as a GGUF file. The
// message says what to do.
VKF_MUST_CHECK vkf_status vkf__directory_check_others(const vkf__host *host, const char *directory);

#endif
