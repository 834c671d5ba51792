// Streams, arguments and surroundings in POSIX.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "system/terminal.h"

bool vkf_is_terminal(vkf_standard_stream stream)
{
    return isatty((int)stream) == 1;
}

void vkf_prepare_streams(void)
{
    for (int number = STDIN_FILENO; number <= STDERR_FILENO; number++)
        if (fcntl(number, F_GETFD) < 0 && errno == EBADF)
            (void)!open("/dev/null", O_RDONLY); // takes the lowest free number, which is this one
}

char **vkf_arguments(int count, char **given)
{
    (void)count;
    return given;
}

static bool print(char *out, size_t capacity, const char *folder, const char *below)
{
    return snprintf(out, capacity, "%s%s", folder, below) < (int)capacity;
}

bool vkf_environment(const char *name, char *out_value, size_t capacity)
{
    const char *value = getenv(name);
    return value && value[0] && print(out_value, capacity, value, "");
}

bool vkf_user_folder(char *out_path, size_t capacity)
{
    return vkf_environment("HOME", out_path, capacity);
}

bool vkf_temporary_folder(char *out_path, size_t capacity)
{
    const char *temporary = getenv("TMPDIR");
    return print(out_path, capacity, temporary && temporary[0] ? temporary : "/tmp", "");
}
