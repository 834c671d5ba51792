// Asks a caller's source for files by their names without the directory.
#include "io/source_file.h"

#include <inttypes.h>
#include <string.h>

#include "base/sized.h"

vkf__host vkf__host_with_files(const vkf__host *host, const vkf_file_source *files, const char *directory)
{
    vkf__host with = *host;
    with.files = files;
    with.files_directory = directory;
    return with;
}

vkf_status vkf__source_check(const vkf__host *host, const vkf_file_source *files, const char *function)
{
    if (!files)
        return VKF_OK;
    VKF_RETURN_IF_ERROR(
        vkf__check_reserved(host, function, "vkf_file_source", files->reserved, sizeof files->reserved));
    if (files->size && files->read)
        return VKF_OK;
    return vkf__fail(host, VKF_ERROR_INVALID_ARGUMENT, "%s: `files` has no %s", function,
                     files->size ? "read" : "size");
}

static const char *name_of(const vkf__host *host, const char *path)
{
    const size_t length = host->files_directory ? strlen(host->files_directory) : 0;
    const bool within = length > 0 && strncmp(path, host->files_directory, length) == 0 && path[length] == '/';
    return within ? path + length + 1 : path;
}

bool vkf__source_file_exists(const vkf__host *host, const char *path)
{
    uint64_t size = 0;
    return host->files->size(host->files->user, name_of(host, path), &size);
}

vkf_status vkf__source_file_size(const vkf__host *host, const char *path, uint64_t *out_size_bytes)
{
    if (host->files->size(host->files->user, name_of(host, path), out_size_bytes))
        return VKF_OK;
    return vkf__fail(host, VKF_ERROR_FILE, "%s: there is no such file in the caller's source of files", path);
}

vkf_status vkf__source_file_read_at(const vkf__host *host, const char *path, uint64_t offset, void *out_bytes,
                                    size_t size_bytes)
{
    if (size_bytes == 0 || host->files->read(host->files->user, name_of(host, path), offset, out_bytes, size_bytes))
        return VKF_OK;
    return vkf__fail(host, VKF_ERROR_FILE, "%s: bytes %" PRIu64 "+%zu cannot be read from the caller's source of files",
                     path, offset, size_bytes);
}

void vkf__source_file_close(const vkf__host *host, const char *path)
{
    if (host->files->close)
        host->files->close(host->files->user, name_of(host, path));
}
