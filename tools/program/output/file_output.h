// Writes files either completely or not at all.
#ifndef VKF_PROGRAM_FILE_OUTPUT_H
#define VKF_PROGRAM_FILE_OUTPUT_H

#include "base/new_file.h"

// A host that prints errors and warnings.
vkf__host vkf_printing_host(void);

// Writes what a function writes to a stream, with a message on failure. The function may fail only when memory is
// exhausted.
typedef bool (*vkf_stream_writer)(FILE *stream, const void *user);
bool vkf_write_stream(const char *path, vkf_stream_writer write, const void *user);

#endif
