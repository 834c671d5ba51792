// The program's streams, arguments and surroundings, as a system gives them.
#ifndef VKF_PROGRAM_TERMINAL_H
#define VKF_PROGRAM_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

typedef enum vkf_standard_stream {
    VKF_STANDARD_INPUT = 0,
    VKF_STANDARD_OUTPUT,
    VKF_STANDARD_ERROR,
} vkf_standard_stream;

bool vkf_is_terminal(vkf_standard_stream stream);

// Called first of all. Opens those standard streams that the program's caller closed, so that no other file takes their
// numbers and receives what is printed: reading from them gives nothing, and writing fails. On Windows bytes then pass
// as they are, and consoles show UTF-8.
void vkf_prepare_streams(void);

// The program's arguments in UTF-8, for the program's whole life. NULL when memory is exhausted.
char **vkf_arguments(int count, char **given);

// A variable's value in UTF-8. False when it is not set, is empty or does not fit.
bool vkf_environment(const char *name, char *out_value, size_t capacity);

// Where this user's files are, and where files for a moment go. False when the system does not say, or it does not fit.
bool vkf_user_folder(char *out_path, size_t capacity);
bool vkf_temporary_folder(char *out_path, size_t capacity);

#endif
