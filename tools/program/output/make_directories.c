// Makes directories from the top down.
#define _POSIX_C_SOURCE 200809L

#include "output/make_directories.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int vkf_make_directories(const char *path, mode_t mode)
{
    struct stat info;
    char *partial = strdup(path);
    if (!partial)
        return ENOMEM;
    for (char *slash = *partial ? strchr(partial + 1, '/') : NULL; slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(partial, mode);
        *slash = '/';
    }
    int error = mkdir(partial, mode) == 0 ? 0 : errno;
    free(partial);
    if (error != EEXIST)
        return error;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode) ? 0 : ENOTDIR;
}
