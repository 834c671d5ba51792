// mkdir -p.
#ifndef VKF_PROGRAM_MAKE_DIRECTORIES_H
#define VKF_PROGRAM_MAKE_DIRECTORIES_H

#include <sys/types.h>

// Makes a directory and those above it, unless they are there. 0, or an errno: of the last directory, which fails for
// the others' reason, too; ENOTDIR where a file is in the way. No message.
int vkf_make_directories(const char *path, mode_t mode);

#endif
