#include "io/new_file.h"

#include <errno.h>
#include <string.h>

#if defined(__unix__) || defined(__APPLE__)
#include <unistd.h>
#else
#include <process.h>
#define getpid _getpid
#endif

static int flush_to_disk(FILE *stream)
{
    if (fflush(stream) != 0)
        return -1;
#if defined(__unix__) || defined(__APPLE__)
    // Some file systems write a rename before the data; a crash would leave a complete name with an empty file.
    return fsync(fileno(stream));
#else
    return 0;
#endif
}

vkf_status vkf__new_file_open(const vkf__host *host, const char *path, vkf__new_file *out_file)
{
    vkf_status status = VKF_OK;
    vkf__new_file file = {.host = host};
    size_t temporary_bytes = strlen(path) + sizeof ".tmp-" + 3 * sizeof(long);
    VKF_ALLOC(host, file.path, strlen(path) + 1);
    memcpy(file.path, path, strlen(path));
    VKF_ALLOC(host, file.temporary, temporary_bytes);
    snprintf(file.temporary, temporary_bytes, "%s.tmp-%ld", path, (long)getpid());
    // Exclusive: two threads that write the same path must not mix their bytes.
    file.stream = fopen(file.temporary, "wbx");
    if (!file.stream) {
        status = vkf__fail(host, VKF_ERROR_FILE, "%s: cannot be created: %s", file.temporary, strerror(errno));
        goto fail;
    }
    *out_file = file;
    return VKF_OK;
fail:
    vkf__free(host, file.temporary);
    vkf__free(host, file.path);
    return status;
}

vkf_status vkf__new_file_write(vkf__new_file *file, const void *data, size_t size_bytes)
{
    if (size_bytes > 0 && fwrite(data, 1, size_bytes, file->stream) != size_bytes)
        return vkf__fail(file->host, VKF_ERROR_FILE, "%s: cannot be written: %s", file->temporary, strerror(errno));
    return VKF_OK;
}

vkf_status vkf__new_file_commit(vkf__new_file *file)
{
    vkf_status status = VKF_OK;
    int flushed = flush_to_disk(file->stream);
    int flush_error = errno;
    int closed = fclose(file->stream);
    file->stream = NULL;
    if (flushed != 0 || closed != 0)
        status = vkf__fail(file->host, VKF_ERROR_FILE, "%s: cannot be written: %s", file->temporary,
                           strerror(flushed != 0 ? flush_error : errno));
    else if (rename(file->temporary, file->path) != 0)
        status = vkf__fail(file->host, VKF_ERROR_FILE, "%s: cannot be put in place: %s", file->path, strerror(errno));
    if (status == VKF_OK) {
        vkf__free(file->host, file->temporary);
        file->temporary = NULL;
    }
    vkf__new_file_discard(file);
    return status;
}

void vkf__new_file_discard(vkf__new_file *file)
{
    if (!file->host)
        return;
    if (file->stream)
        fclose(file->stream);
    if (file->temporary)
        remove(file->temporary);
    vkf__free(file->host, file->temporary);
    vkf__free(file->host, file->path);
    *file = (vkf__new_file){0};
}
