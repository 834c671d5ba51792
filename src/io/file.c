// Reads files from any place in them.
#include "io/file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/system_file.h"
#include "io/source_file.h"

#define FIRST_READ_BYTES 65536
#define MOST_READ_BYTES ((size_t)1 << 30) // systems limit what one call reads

struct vkf__file {
    vkf__host host;
    char *path;
    int descriptor;
    vkf__file_info info; // when it was opened
};

bool vkf__file_exists(const char *path)
{
    vkf__file_info info;
    return vkf__entry_info(path, &info);
}

bool vkf__file_is_there(const vkf__host *host, const char *path)
{
    return host->files ? vkf__source_file_exists(host, path) : vkf__file_exists(path);
}

static vkf_status check_regular(const vkf__host *host, const char *path, const vkf__file_info *info)
{
    if (info->kind == VKF_FILE_DIRECTORY)
        return vkf__fail(host, VKF_ERROR_FILE, "%s: is a directory; name the file in it", path);
    if (info->kind != VKF_FILE_REGULAR)
        return vkf__fail(host, VKF_ERROR_FILE, "%s: is not a regular file", path);
    return VKF_OK;
}

static vkf_status open_regular(const vkf__host *host, const char *path, int *out_descriptor, vkf__file_info *out_info)
{
    int descriptor = vkf__open_to_read(path);
    if (descriptor < 0)
        return vkf__fail(host, VKF_ERROR_FILE, "%s: cannot be opened: %s", path, strerror(errno));
    vkf_status status = VKF_OK;
    if (!vkf__descriptor_info(descriptor, out_info))
        status = vkf__fail(host, VKF_ERROR_FILE, "%s: cannot be examined: %s", path, strerror(errno));
    else
        status = check_regular(host, path, out_info);
    if (status == VKF_OK)
        *out_descriptor = descriptor;
    else
        vkf__descriptor_close(descriptor);
    return status;
}

static vkf_status read_at(const vkf__file *file, uint64_t offset, void *out_bytes, size_t size_bytes)
{
    for (size_t done = 0; done < size_bytes;) {
        size_t part = size_bytes - done < MOST_READ_BYTES ? size_bytes - done : MOST_READ_BYTES;
        int64_t got = vkf__descriptor_read_at(file->descriptor, (uint8_t *)out_bytes + done, part, offset + done);
        if (got < 0)
            return vkf__fail(&file->host, VKF_ERROR_FILE, "%s: cannot be read: %s", file->path, strerror(errno));
        if (got == 0)
            return vkf__fail(&file->host, VKF_ERROR_FILE,
                             "%s: truncated while it was read: it ends before byte %" PRIu64 " of %" PRIu64
                             "; start again when the download or copy has ended",
                             file->path, offset + size_bytes, file->info.size_bytes);
        done += (size_t)got;
    }
    return VKF_OK;
}

static vkf_status check_unchanged(const vkf__file *file)
{
    vkf__file_info now;
    if (!vkf__descriptor_info(file->descriptor, &now))
        return vkf__fail(&file->host, VKF_ERROR_FILE, "%s: cannot be examined: %s", file->path, strerror(errno));
    if (now.size_bytes == file->info.size_bytes && now.seconds == file->info.seconds &&
        now.nanoseconds == file->info.nanoseconds)
        return VKF_OK;
    return vkf__fail(&file->host, VKF_ERROR_FILE,
                     "%s: changed while it was read; start again when the download or copy has ended", file->path);
}

static vkf_status open_stream(const vkf__host *host, const char *path, FILE **out_stream)
{
    int descriptor = -1;
    vkf__file_info info;
    vkf_status status = open_regular(host, path, &descriptor, &info);
    if (status != VKF_OK)
        return status;
    FILE *stream = vkf__descriptor_stream(descriptor, "rb");
    if (!stream) {
        status = vkf__fail(host, VKF_ERROR_FILE, "%s: cannot be opened: %s", path, strerror(errno));
        vkf__descriptor_close(descriptor);
        return status;
    }
    *out_stream = stream;
    return VKF_OK;
}

vkf_status vkf__file_open(const vkf__host *host, const char *path, vkf__file **out_file)
{
    vkf_status status = VKF_OK;
    vkf__file *file = NULL;
    VKF_ALLOC(host, file, 1);
    file->host = *host;
    VKF_STRDUP(host, file->path, path);
    VKF_TRY(host->files ? vkf__source_file_size(host, path, &file->info.size_bytes)
                        : open_regular(&file->host, file->path, &file->descriptor, &file->info));
    *out_file = file;
    return VKF_OK;
fail:
    if (file)
        vkf__free(host, file->path);
    vkf__free(host, file);
    return status;
}

void vkf__file_close(vkf__file **file)
{
    if (!file || !*file)
        return;
    vkf__host host = (*file)->host;
    if (host.files)
        vkf__source_file_close(&host, (*file)->path);
    else
        vkf__descriptor_close((*file)->descriptor);
    vkf__free(&host, (*file)->path);
    vkf__free(&host, *file);
    *file = NULL;
}

vkf_status vkf__file_read_at(const vkf__file *file, uint64_t offset, void *out_bytes, size_t size_bytes)
{
    if (!file->host.files)
        return read_at(file, offset, out_bytes, size_bytes);
    if (offset <= file->info.size_bytes && size_bytes <= file->info.size_bytes - offset)
        return vkf__source_file_read_at(&file->host, file->path, offset, out_bytes, size_bytes);
    return vkf__fail(&file->host, VKF_ERROR_FILE, "%s: it ends before byte %" PRIu64 " of %" PRIu64, file->path,
                     offset + size_bytes, file->info.size_bytes);
}

// A caller's source answers for its files itself.
vkf_status vkf__file_check_unchanged(const vkf__file *file)
{
    return file->host.files ? VKF_OK : check_unchanged(file);
}

const char *vkf__file_path(const vkf__file *file)
{
    return file->path;
}

uint64_t vkf__file_size(const vkf__file *file)
{
    return file->info.size_bytes;
}

static vkf_status read_stream(const vkf__host *host, const char *path, FILE *stream, size_t max_bytes,
                              vkf__file_bytes *out_bytes)
{
    vkf_status status = VKF_OK;
    void *data = NULL;
    size_t size = 0;
    size_t capacity = 0;
    VKF_TRY(vkf__grow(host, &data, 1, 0, &capacity, FIRST_READ_BYTES));
    for (;;) {
        errno = 0;
        size_t got = fread((uint8_t *)data + size, 1, capacity - size, stream);
        size += got;
        if (size > max_bytes) {
            status =
                vkf__fail(host, VKF_ERROR_FORMAT, "%s: longer than the %zu bytes that are allowed", path, max_bytes);
            goto fail;
        }
        if (size < capacity)
            break;
        VKF_TRY(vkf__grow(host, &data, 1, size, &capacity, size + 1));
    }
    if (ferror(stream)) {
        status = vkf__fail(host, VKF_ERROR_FILE, "%s: cannot be read: %s", path, strerror(errno));
        goto fail;
    }
    if (size == 0) {
        vkf__free(host, data);
        data = NULL;
    }
    *out_bytes = (vkf__file_bytes){.data = data, .size_bytes = size};
    return VKF_OK;
fail:
    vkf__free(host, data);
    return status;
}

static vkf_status read_source(const vkf__host *host, const char *path, size_t max_bytes, vkf__file_bytes *out_bytes)
{
    vkf_status status = VKF_OK;
    uint8_t *data = NULL;
    uint64_t size = 0;
    VKF_RETURN_IF_ERROR(vkf__source_file_size(host, path, &size));
    if (size > max_bytes)
        return vkf__fail(host, VKF_ERROR_FORMAT, "%s: longer than the %zu bytes that are allowed", path, max_bytes);
    if (size > 0)
        VKF_ALLOC(host, data, (size_t)size);
    VKF_TRY(vkf__source_file_read_at(host, path, 0, data, (size_t)size));
    *out_bytes = (vkf__file_bytes){.data = data, .size_bytes = (size_t)size};
    data = NULL;
fail:
    vkf__source_file_close(host, path);
    vkf__free(host, data);
    return status;
}

vkf_status vkf__file_read(const vkf__host *host, const char *path, size_t max_bytes, vkf__file_bytes *out_bytes)
{
    if (host->files)
        return read_source(host, path, max_bytes, out_bytes);
    FILE *stream = NULL;
    vkf_status status = open_stream(host, path, &stream);
    if (status != VKF_OK)
        return status;
    status = read_stream(host, path, stream, max_bytes, out_bytes);
    fclose(stream);
    return status;
}

void vkf__file_bytes_free(const vkf__host *host, vkf__file_bytes *bytes)
{
    vkf__free(host, bytes->data);
    *bytes = (vkf__file_bytes){0};
}
