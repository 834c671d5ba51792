// Writes files either completely or not at all.
#ifndef VKF_PROGRAM_FILE_OUTPUT_H
#define VKF_PROGRAM_FILE_OUTPUT_H

#include "io/new_file.h"

// A host that prints errors and warnings.
vkf__host vkf_printing_host(void);

// vkf__file_write(), with a message on failure.
bool vkf_write_file(const char *path, const void *data, size_t size_bytes);

// The same for what a function writes to a stream. The function may fail only when memory is exhausted.
typedef bool (*vkf_stream_writer)(FILE *stream, const void *user);
bool vkf_write_stream(const char *path, vkf_stream_writer write, const void *user);

#endif
