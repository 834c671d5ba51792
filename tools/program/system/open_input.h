// A file that the command line names, which may be a pipe.
#ifndef VKF_PROGRAM_OPEN_INPUT_H
#define VKF_PROGRAM_OPEN_INPUT_H

#include <stdio.h>

// NULL: *out_why says why. A directory is refused, and so is a pipe that nobody has opened to write after ten seconds,
// on which reading would wait for ever.
FILE *vkf_open_input(const char *path, const char **out_why);

#endif
