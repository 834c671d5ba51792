#define _POSIX_C_SOURCE 200809L

#include "file_output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool write_all(int file, const void *data, size_t size_bytes)
{
    for (size_t done = 0; done < size_bytes;) {
        ssize_t part = write(file, (const char *)data + done, size_bytes - done);
        if (part < 0 && errno != EINTR)
            return false;
        if (part > 0)
            done += (size_t)part;
    }
    return true;
}

// open() rather than mkstemp(), so that the file gets the permissions of the user's umask.
static int open_temporary(const char *path, char **out_temporary)
{
    size_t size = strlen(path) + 32;
    char *temporary = malloc(size);
    if (!temporary)
        return -1;
    snprintf(temporary, size, "%s.%ld.tmp", path, (long)getpid());
    int file = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file < 0 && errno == EEXIST && unlink(temporary) == 0)
        file = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file < 0) {
        int error = errno;
        free(temporary);
        errno = error;
        return -1;
    }
    *out_temporary = temporary;
    return file;
}

bool vkf_write_file(const char *path, const void *data, size_t size_bytes)
{
    char *temporary = NULL;
    int file = open_temporary(path, &temporary);
    if (file < 0)
        return false;
    bool written = write_all(file, data, size_bytes);
    int error = errno;
    if (close(file) != 0 && written) {
        written = false;
        error = errno;
    }
    if (written && rename(temporary, path) != 0) {
        written = false;
        error = errno;
    }
    if (!written)
        unlink(temporary);
    free(temporary);
    errno = error;
    return written;
}
