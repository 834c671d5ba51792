#include "io/file_map.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#if defined(__unix__) || defined(__APPLE__)
#define HAVE_MMAP 1
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#else
#define HAVE_MMAP 0
#endif

#define FIRST_READ_BYTES 65536

bool vkf__file_exists(const char *path)
{
#if HAVE_MMAP
    struct stat info;
    return stat(path, &info) == 0;
#else
    FILE *file = fopen(path, "rb");
    if (file)
        fclose(file);
    return file != NULL;
#endif
}

#if HAVE_MMAP

static vkf_status check_regular(const vkf__host *host, const char *path, int descriptor, size_t *out_size_bytes)
{
    struct stat info;
    if (fstat(descriptor, &info) != 0)
        return vkf__fail(host, VKF_ERROR_FILE, "%s: cannot be examined: %s", path, strerror(errno));
    if (S_ISDIR(info.st_mode))
        return vkf__fail(host, VKF_ERROR_FILE, "%s: is a directory; name the file in it", path);
    if (!S_ISREG(info.st_mode))
        return vkf__fail(host, VKF_ERROR_FILE, "%s: is not a regular file", path);
    if ((uint64_t)info.st_size > SIZE_MAX)
        return vkf__fail(host, VKF_ERROR_FILE, "%s: too long for this machine's address space", path);
    *out_size_bytes = (size_t)info.st_size;
    return VKF_OK;
}

static vkf_status open_regular(const vkf__host *host, const char *path, int *out_descriptor, size_t *out_size_bytes)
{
    // Without O_NONBLOCK, opening a named pipe would wait for its writer before it can be refused.
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0)
        return vkf__fail(host, VKF_ERROR_FILE, "%s: cannot be opened: %s", path, strerror(errno));
    vkf_status status = check_regular(host, path, descriptor, out_size_bytes);
    if (status == VKF_OK)
        *out_descriptor = descriptor;
    else
        close(descriptor);
    return status;
}

static vkf_status map_descriptor(const vkf__host *host, const char *path, int descriptor, size_t size_bytes,
                                 vkf__file_map *out_map)
{
    vkf__file_map map = {.size_bytes = size_bytes};
    if (map.size_bytes > 0) {
        void *pages = mmap(NULL, map.size_bytes, PROT_READ, MAP_PRIVATE, descriptor, 0);
        if (pages == MAP_FAILED)
            return vkf__fail(host, errno == ENOMEM ? VKF_ERROR_OUT_OF_HOST_MEMORY : VKF_ERROR_FILE,
                             "%s: cannot be mapped: %s", path, strerror(errno));
        map.data = pages;
        map.mapped = true;
    }
    *out_map = map;
    return VKF_OK;
}

vkf_status vkf__file_map_open(const vkf__host *host, const char *path, vkf__file_map *out_map)
{
    int descriptor = -1;
    size_t size_bytes = 0;
    vkf_status status = open_regular(host, path, &descriptor, &size_bytes);
    if (status != VKF_OK)
        return status;
    status = map_descriptor(host, path, descriptor, size_bytes, out_map);
    close(descriptor);
    return status;
}

static vkf_status open_stream(const vkf__host *host, const char *path, FILE **out_stream)
{
    int descriptor = -1;
    size_t size_bytes = 0;
    vkf_status status = open_regular(host, path, &descriptor, &size_bytes);
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

static void unmap(const vkf__file_map *map)
{
    munmap((void *)(uintptr_t)map->data, map->size_bytes);
}

#else

vkf_status vkf__file_map_open(const vkf__host *host, const char *path, vkf__file_map *out_map)
{
    return vkf__file_read(host, path, SIZE_MAX, out_map);
}

static vkf_status open_stream(const vkf__host *host, const char *path, FILE **out_stream)
{
    FILE *stream = fopen(path, "rb");
    if (!stream)
        return vkf__fail(host, VKF_ERROR_FILE, "%s: cannot be opened: %s", path, strerror(errno));
    *out_stream = stream;
    return VKF_OK;
}

static void unmap(const vkf__file_map *map)
{
    (void)map;
}

#endif

static vkf_status read_stream(const vkf__host *host, const char *path, FILE *stream, size_t max_bytes,
                              vkf__file_map *out_map)
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
    *out_map = (vkf__file_map){.data = data, .size_bytes = size};
    return VKF_OK;
fail:
    vkf__free(host, data);
    return status;
}

vkf_status vkf__file_read(const vkf__host *host, const char *path, size_t max_bytes, vkf__file_map *out_map)
{
    FILE *stream = NULL;
    vkf_status status = open_stream(host, path, &stream);
    if (status != VKF_OK)
        return status;
    status = read_stream(host, path, stream, max_bytes, out_map);
    fclose(stream);
    return status;
}

void vkf__file_map_close(const vkf__host *host, vkf__file_map *map)
{
    if (map->mapped)
        unmap(map);
    else
        vkf__free(host, (void *)(uintptr_t)map->data);
    *map = (vkf__file_map){0};
}
