// A file that the command line names, as a whole.
#ifndef VKF_PROGRAM_INPUT_TEXT_H
#define VKF_PROGRAM_INPUT_TEXT_H

#include <stdbool.h>
#include <stddef.h>

// Reads a file or a pipe to its end. The caller releases *out_text, which has a terminating zero, with free(). False
// after a message.
bool vkf_read_input(const char *path, size_t max_bytes, char **out_text, size_t *out_size_bytes);

#endif
