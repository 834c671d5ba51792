// Keeps the blobs of a cache in files.
#include "base/file_cache.h"

#include <errno.h>
#include <stdio.h>

#include "base/make_directories.h"
#include "base/new_file.h"
#include "base/system_file.h"

#define FOLDER_BYTES 4096

static vkf_status join(const vkf__host *host, const char *first, const char *second, char **out_path)
{
    const size_t size = strlen(first) + strlen(second) + 2;
    VKF_ALLOC_OR_RETURN(host, *out_path, size);
    (void)snprintf(*out_path, size, "%s/%s", first, second);
    return VKF_OK;
}

vkf_status vkf__file_cache_init(const vkf__host *host, const char *directory, vkf__file_cache *out_cache)
{
    char folder[FOLDER_BYTES];
    *out_cache = (vkf__file_cache){.host = host};
    if (directory[0])
        VKF_STRDUP_OR_RETURN(host, out_cache->directory, directory);
    else if (vkf__cache_folder(folder, sizeof folder))
        return join(host, folder, "vkformer", &out_cache->directory);
    else
        vkf__log(host, VKF_SEVERITY_WARNING, "cache: the user has no place for it, so nothing is kept: set HOME");
    return VKF_OK;
}

void vkf__file_cache_finish(vkf__file_cache *cache)
{
    if (cache->host)
        vkf__free(cache->host, cache->directory);
    *cache = (vkf__file_cache){0};
}

// One warning is enough for a directory that cannot be written to.
static void warn(vkf__file_cache *cache, const char *what, const char *path, const char *why)
{
    if (!atomic_exchange(&cache->warned, true))
        vkf__log(cache->host, VKF_SEVERITY_WARNING, "cache: %s%s%s%s", what, path, path[0] ? ": " : "", why);
}

char *vkf__file_cache_path(const vkf__file_cache *cache, const char *key)
{
    char *path = NULL;
    if (!cache->directory || key[0] == '.' || key[0] == '\0' || strchr(key, '/') ||
        join(cache->host, cache->directory, key, &path) != VKF_OK)
        return NULL;
    return path;
}

static bool read_all(int file, void *data, size_t size_bytes)
{
    for (size_t done = 0; done < size_bytes;) {
        int64_t part = vkf__descriptor_read_at(file, (char *)data + done, size_bytes - done, done);
        if (part <= 0)
            return false;
        done += (size_t)part;
    }
    return true;
}

size_t vkf__file_cache_load(void *user, const char *key, void *data, size_t capacity)
{
    vkf__file_cache *cache = user;
    size_t size_bytes = 0;
    char *path = vkf__file_cache_path(cache, key);
    int file = path ? vkf__open_to_read(path) : -1;
    if (file < 0) {
        if (path && errno != ENOENT)
            warn(cache, "cannot read ", path, strerror(errno));
    } else {
        vkf__file_info info;
        if (vkf__descriptor_info(file, &info) && info.kind == VKF_FILE_REGULAR)
            size_bytes = (size_t)info.size_bytes;
        if (data && size_bytes <= capacity && !read_all(file, data, size_bytes))
            size_bytes = 0;
        vkf__descriptor_close(file);
    }
    vkf__free(cache->host, path);
    return size_bytes;
}

// What fails is a warning here, and no error.
static void write_file(vkf__file_cache *cache, const char *path, const void *data, size_t size_bytes)
{
    vkf__host quiet = *cache->host;
    quiet.message = NULL;
    const int error = vkf__make_directories(cache->directory, 0700);
    if (error != 0) {
        warn(cache, "cannot make ", cache->directory, strerror(error));
        return;
    }
    const vkf_status status = vkf__file_write(&quiet, path, data, size_bytes);
    if (status != VKF_OK)
        warn(cache, "", "", vkf_last_error(status));
}

void vkf__file_cache_save(void *user, const char *key, const void *data, size_t size_bytes)
{
    vkf__file_cache *cache = user;
    char *path = vkf__file_cache_path(cache, key);
    if (path && size_bytes > 0)
        write_file(cache, path, data, size_bytes);
    else if (path)
        (void)vkf__file_remove(path);
    vkf__free(cache->host, path);
}
