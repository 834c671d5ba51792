// Makes directories from the top down.
#include "base/make_directories.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/directories.h"
#include "base/system_file.h"

// 0 where a directory is at the path afterwards, whoever made it.
static int make_one(const char *path, unsigned mode)
{
    vkf__file_info info;
    const int error = vkf__directory_make(path, mode);
    if (error == 0 || !vkf__path_info(path, &info))
        return error;
    return info.kind == VKF_FILE_DIRECTORY ? 0 : ENOTDIR;
}

int vkf__make_directories(const char *path, unsigned mode)
{
    int error = 0;
    char *partial = calloc(strlen(path) + 1, 1);
    if (!partial)
        return ENOMEM;
    for (size_t i = 0; path[i] && error != ENOTDIR; i++) {
        if (i > 0 && vkf__is_slash(path[i]))
            error = make_one(partial, mode);
        partial[i] = path[i];
    }
    if (error != ENOTDIR)
        error = make_one(partial, mode);
    free(partial);
    return error;
}
