// Files that are there whole or not at all.
#ifndef VKF_PROGRAM_FILE_OUTPUT_H
#define VKF_PROGRAM_FILE_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

// Writes a temporary file beside `path` and renames it. On failure errno says why, and what stood at `path` is as
// before. No message.
bool vkf_write_file(const char *path, const void *data, size_t size_bytes);

#endif
