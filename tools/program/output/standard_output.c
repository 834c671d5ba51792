// Keeps the reason why writing to the standard output failed.
#include "output/standard_output.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "command/options.h"

static int first_error; // errno of the first flush that failed, or 0

bool vkf_flush_stdout(void)
{
    if (fflush(stdout) == 0)
        return true;
    if (first_error == 0)
        first_error = errno;
    return false;
}

// A full buffer is written by the next function that prints, which does not look at errors. Writing one more byte
// brings the same error again, unless its cause has passed.
static int error_of_one_more(void)
{
    clearerr(stdout);
    errno = 0;
    return putchar('\n') == EOF || fflush(stdout) != 0 ? errno : 0;
}

bool vkf_check_stdout(void)
{
    bool flushed = vkf_flush_stdout();
    if (flushed && !ferror(stdout))
        return true;
    if (first_error == 0)
        first_error = error_of_one_more();
    vkf_print_error("writing to the standard output failed: %s",
                    first_error != 0 ? strerror(first_error) : "a part of it is lost");
    return false;
}
