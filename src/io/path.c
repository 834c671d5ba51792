// Joins paths, and checks names that files give.
#include "io/path.h"

#include <stdio.h>
#include <string.h>

vkf_status vkf__path_join(const vkf__host *host, const char *directory, const char *name, char **out_path)
{
    size_t size = strlen(directory) + strlen(name) + 2;
    char *path = NULL;
    if (!*directory)
        return vkf__fail(host, VKF_ERROR_INVALID_ARGUMENT,
                         "the directory of %s is \"\": give its path, \".\" for the current one", name);
    VKF_ALLOC_OR_RETURN(host, path, size);
    snprintf(path, size, "%s/%s", directory, name);
    *out_path = path;
    return VKF_OK;
}

bool vkf__path_is_name(const char *name)
{
    return !strchr(name, '/') && !strchr(name, '\\') && strcmp(name, "..") != 0;
}
