// Reads files with pread() where the system has it, and otherwise from a copy of the whole file.
#include "io/file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "io/source_file.h"

#if defined(__unix__) || defined(__APPLE__)
#define HAVE_PREAD 1
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#else
#define HAVE_PREAD 0
#endif

#define FIRST_READ_BYTES 65536
#define MOST_READ_BYTES ((size_t)1 << 30) // systems limit what one call reads

bool vkf__file_exists(const char *path)
{
#if HAVE_PREAD
    struct stat info;
    return lstat(path, &info) == 0;
#else
    FILE *file = fopen(path, "rb");
    if (file)
        fclose(file);
    return file != NULL;
#endif
}

bool vkf__file_is_there(const vkf__host *host, const char *path)
{
    return host->files ? vkf__source_file_exists(host, path) : vkf__file_exists(path);
}

// When a file's content last changed.
typedef struct change_time {
    int64_t seconds, nanoseconds;
} change_time;

struct vkf__file {
    vkf__host host;
    char *path;
    uint64_t size_bytes; // when it was opened
#if HAVE_PREAD
    int descriptor;
    change_time changed; // when it was opened
#else
    vkf__file_bytes bytes; // the whole file
#endif
};

#if HAVE_PREAD

static change_time change_time_of(const struct stat *info)
{
#if defined(__APPLE__) // the fraction of a second has another name in each mode of Apple's headers
    return (change_time){.seconds = info->st_mtime};
#else
    return (change_time){.seconds = info->st_mtim.tv_sec, .nanoseconds = info->st_mtim.tv_nsec};
#endif
}

static vkf_status check_regular(const vkf__host *host, const char *path, const struct stat *info)
{
    if (S_ISDIR(info->st_mode))
        return vkf__fail(host, VKF_ERROR_FILE, "%s: is a directory; name the file in it", path);
    if (!S_ISREG(info->st_mode))
        return vkf__fail(host, VKF_ERROR_FILE, "%s: is not a regular file", path);
    return VKF_OK;
}

static vkf_status open_regular(const vkf__host *host, const char *path, int *out_descriptor, struct stat *out_info)
{
    // Without O_NONBLOCK, opening a named pipe would wait for its writer before it can be refused.
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0)
        return vkf__fail(host, VKF_ERROR_FILE, "%s: cannot be opened: %s", path, strerror(errno));
    vkf_status status = VKF_OK;
    if (fstat(descriptor, out_info) != 0)
        status = vkf__fail(host, VKF_ERROR_FILE, "%s: cannot be examined: %s", path, strerror(errno));
    else
        status = check_regular(host, path, out_info);
    if (status == VKF_OK)
        *out_descriptor = descriptor;
    else
        close(descriptor);
    return status;
}

static vkf_status attach(vkf__file *file)
{
    struct stat info;
    vkf_status status = open_regular(&file->host, file->path, &file->descriptor, &info);
    if (status != VKF_OK)
        return status;
    file->size_bytes = (uint64_t)info.st_size;
    file->changed = change_time_of(&info);
    return VKF_OK;
}

static void detach(vkf__file *file)
{
    close(file->descriptor);
}

static vkf_status read_at(const vkf__file *file, uint64_t offset, void *out_bytes, size_t size_bytes)
{
    for (size_t done = 0; done < size_bytes;) {
        size_t part = size_bytes - done < MOST_READ_BYTES ? size_bytes - done : MOST_READ_BYTES;
        ssize_t got = pread(file->descriptor, (uint8_t *)out_bytes + done, part, (off_t)(offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return vkf__fail(&file->host, VKF_ERROR_FILE, "%s: cannot be read: %s", file->path, strerror(errno));
        if (got == 0)
            return vkf__fail(&file->host, VKF_ERROR_FILE,
                             "%s: truncated while it was read: it ends before byte %" PRIu64 " of %" PRIu64
                             "; start again when the download or copy has ended",
                             file->path, offset + size_bytes, file->size_bytes);
        done += (size_t)got;
    }
    return VKF_OK;
}

static vkf_status check_unchanged(const vkf__file *file)
{
    struct stat info;
    if (fstat(file->descriptor, &info) != 0)
        return vkf__fail(&file->host, VKF_ERROR_FILE, "%s: cannot be examined: %s", file->path, strerror(errno));
    change_time changed = change_time_of(&info);
    if ((uint64_t)info.st_size == file->size_bytes && changed.seconds == file->changed.seconds &&
        changed.nanoseconds == file->changed.nanoseconds)
        return VKF_OK;
    return vkf__fail(&file->host, VKF_ERROR_FILE,
                     "%s: changed while it was read; start again when the download or copy has ended", file->path);
}

static vkf_status open_stream(const vkf__host *host, const char *path, FILE **out_stream)
{
    int descriptor = -1;
    struct stat info;
    vkf_status status = open_regular(host, path, &descriptor, &info);
    if (status != VKF_OK)
        return status;
    FILE *stream = fdopen(descriptor, "rb");
    if (!stream) {
        status = vkf__fail(host, VKF_ERROR_FILE, "%s: cannot be opened: %s", path, strerror(errno));
        close(descriptor);
        return status;
    }
    *out_stream = stream;
    return VKF_OK;
}

#else

static vkf_status attach(vkf__file *file)
{
    vkf_status status = vkf__file_read(&file->host, file->path, SIZE_MAX - 1, &file->bytes);
    file->size_bytes = file->bytes.size_bytes;
    return status;
}

static void detach(vkf__file *file)
{
    vkf__file_bytes_free(&file->host, &file->bytes);
}

static vkf_status read_at(const vkf__file *file, uint64_t offset, void *out_bytes, size_t size_bytes)
{
    if (offset > file->bytes.size_bytes || size_bytes > file->bytes.size_bytes - offset)
        return vkf__fail(&file->host, VKF_ERROR_FILE, "%s: ends before byte %" PRIu64, file->path, offset + size_bytes);
    if (size_bytes > 0)
        memcpy(out_bytes, file->bytes.data + offset, size_bytes);
    return VKF_OK;
}

static vkf_status check_unchanged(const vkf__file *file)
{
    (void)file;
    return VKF_OK;
}

static vkf_status open_stream(const vkf__host *host, const char *path, FILE **out_stream)
{
    FILE *stream = fopen(path, "rb");
    if (!stream)
        return vkf__fail(host, VKF_ERROR_FILE, "%s: cannot be opened: %s", path, strerror(errno));
    *out_stream = stream;
    return VKF_OK;
}

#endif

vkf_status vkf__file_open(const vkf__host *host, const char *path, vkf__file **out_file)
{
    vkf_status status = VKF_OK;
    vkf__file *file = NULL;
    VKF_ALLOC(host, file, 1);
    file->host = *host;
    VKF_STRDUP(host, file->path, path);
    VKF_TRY(host->files ? vkf__source_file_size(host, path, &file->size_bytes) : attach(file));
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
        detach(*file);
    vkf__free(&host, (*file)->path);
    vkf__free(&host, *file);
    *file = NULL;
}

vkf_status vkf__file_read_at(const vkf__file *file, uint64_t offset, void *out_bytes, size_t size_bytes)
{
    if (!file->host.files)
        return read_at(file, offset, out_bytes, size_bytes);
    if (offset <= file->size_bytes && size_bytes <= file->size_bytes - offset)
        return vkf__source_file_read_at(&file->host, file->path, offset, out_bytes, size_bytes);
    return vkf__fail(&file->host, VKF_ERROR_FILE, "%s: it ends before byte %" PRIu64 " of %" PRIu64, file->path,
                     offset + size_bytes, file->size_bytes);
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
    return file->size_bytes;
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
