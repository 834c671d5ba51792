// Makes directories from the top down.
#include "output/make_directories.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/system_file.h"
#include "system/directories.h"

int vkf_make_directories(const char *path, unsigned mode)
{
    vkf__file_info info;
    char *partial = calloc(strlen(path) + 1, 1);
    if (!partial)
        return ENOMEM;
    for (size_t i = 0; path[i]; i++) {
        if (i > 0 && vkf__is_slash(path[i]))
            (void)vkf_directory_make(partial, mode);
        partial[i] = path[i];
    }
    int error = vkf_directory_make(partial, mode);
    free(partial);
    if (error != EEXIST)
        return error;
    return vkf__path_info(path, &info) && info.kind == VKF_FILE_DIRECTORY ? 0 : ENOTDIR;
}
