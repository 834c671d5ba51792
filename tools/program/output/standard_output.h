// The standard output, whose errors would otherwise be known only by a flag without a reason.
#ifndef VKF_PROGRAM_STANDARD_OUTPUT_H
#define VKF_PROGRAM_STANDARD_OUTPUT_H

#include <stdbool.h>

// fflush(stdout) that remembers the first failure's reason.
bool vkf_flush_stdout(void);

// Whether all output has reached its destination; if not, prints the reason.
bool vkf_check_stdout(void);

#endif
