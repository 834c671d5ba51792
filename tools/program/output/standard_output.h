// The standard output, whose errors would otherwise be known by a flag without a reason.
#ifndef VKF_PROGRAM_STANDARD_OUTPUT_H
#define VKF_PROGRAM_STANDARD_OUTPUT_H

#include <stdbool.h>

// Opens what the caller of the program closed of the standard streams, so that no other file takes their numbers and gets what
// is printed. Reading from them gives nothing, and writing fails.
void vkf_keep_standard_streams(void);

// fflush(stdout), which remembers why it failed first.
bool vkf_flush_stdout(void);

// Whether everything that was printed has reached its destination; otherwise prints the reason.
bool vkf_check_stdout(void);

#endif
