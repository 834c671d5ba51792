// The standard output, whose errors would otherwise be known only by a flag without a reason.
#ifndef VKF_PROGRAM_STANDARD_OUTPUT_H
#define VKF_PROGRAM_STANDARD_OUTPUT_H

#include <stdbool.h>

// Opens those standard streams that the program's caller closed, so that no other file takes their numbers and receives
// what is printed. Reading from them gives nothing, and writing fails.
void vkf_keep_standard_streams(void);

// fflush(stdout) that remembers the first failure's reason.
bool vkf_flush_stdout(void);

// Whether all output has reached its destination; if not, prints the reason.
bool vkf_check_stdout(void);

#endif
