// Does what mkdir -p does.
#ifndef VKF_BASE_MAKE_DIRECTORIES_H
#define VKF_BASE_MAKE_DIRECTORIES_H

// Makes a directory and those above it, unless they exist. Returns 0 or the errno of the last directory, which also
// fails when one above it does; ENOTDIR where a file is in the way. Prints no message.
int vkf__make_directories(const char *path, unsigned mode);

#endif
