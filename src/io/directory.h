// Whether a path can be a model's directory, and what to do where it is something else.
#ifndef VKF_IO_DIRECTORY_H
#define VKF_IO_DIRECTORY_H

#include "base/host.h"

// Status FILE, with a sentence that helps: nothing is there, or a file, whose name says of which kind it is. What
// cannot be examined passes: reading from it says why.
VKF_MUST_CHECK vkf_status vkf__directory_check(const vkf__host *host, const char *path);

#endif
