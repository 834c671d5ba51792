// Keeps the library's cache in files, written whole or not at all.
#include "command/cache_dir.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/system_file.h"
#include "command/options.h"
#include "io/new_file.h"
#include "output/make_directories.h"
#include "system/remove_on_signal.h"
#include "system/terminal.h"

#define FOLDER_BYTES 4096

struct vkf_cache_dir {
    char *path;
    bool warned; // one warning per run is enough for an unwritable directory
};

vkf_cache_dir *vkf_cache_dir_create(void)
{
    return calloc(1, sizeof(vkf_cache_dir));
}

void vkf_cache_dir_destroy(vkf_cache_dir **cache)
{
    if (*cache)
        free((*cache)->path);
    free(*cache);
    *cache = NULL;
}

static char *join(const char *first, const char *second)
{
    size_t size = strlen(first) + strlen(second) + 1;
    char *text = malloc(size);
    if (text)
        snprintf(text, size, "%s%s", first, second);
    return text;
}

static char *default_path(void)
{
    char folder[FOLDER_BYTES];
    return vkf_cache_folder(folder, sizeof folder) ? join(folder, "/vkformer") : NULL;
}

bool vkf_cache_dir_set_path(vkf_cache_dir *cache, const char *path)
{
    char *chosen = path ? join(path, "") : default_path();
    if (!chosen) {
        vkf_print_warning("there is no place for the cache: set HOME, or give --cache DIR or --no-cache");
        return false;
    }
    free(cache->path);
    cache->path = chosen;
    return true;
}

const char *vkf_cache_dir_path(const vkf_cache_dir *cache)
{
    return cache->path;
}

static void warn(vkf_cache_dir *cache, const char *what, const char *path, int error)
{
    if (!cache->warned)
        vkf_print_warning("cache: %s '%s': %s; --cache DIR chooses another place", what, path, strerror(error));
    cache->warned = true;
}

static char *file_path(const vkf_cache_dir *cache, const char *key)
{
    if (key[0] == '.' || key[0] == '\0' || strchr(key, '/'))
        return NULL;
    size_t size = strlen(cache->path) + strlen(key) + 2;
    char *path = malloc(size);
    if (path)
        snprintf(path, size, "%s/%s", cache->path, key);
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

static size_t load(void *user, const char *key, void *data, size_t capacity)
{
    vkf_cache_dir *cache = user;
    size_t size_bytes = 0;
    char *path = file_path(cache, key);
    int file = path ? vkf__open_to_read(path) : -1;
    if (file < 0) {
        if (path && errno != ENOENT)
            warn(cache, "cannot read", path, errno);
    } else {
        vkf__file_info info;
        if (vkf__descriptor_info(file, &info) && info.kind == VKF_FILE_REGULAR)
            size_bytes = (size_t)info.size_bytes;
        if (data && size_bytes <= capacity && !read_all(file, data, size_bytes))
            size_bytes = 0;
        vkf__descriptor_close(file);
    }
    free(path);
    return size_bytes;
}

// The library's file writer gives no errno, but its message has the path and the reason.
static void warn_message(void *user, vkf_severity severity, const char *message)
{
    vkf_cache_dir *cache = user;
    if (severity >= VKF_SEVERITY_ERROR && !cache->warned)
        vkf_print_warning("cache: %s; --cache DIR chooses another place", message);
    cache->warned = cache->warned || severity >= VKF_SEVERITY_ERROR;
}

static void write_file(vkf_cache_dir *cache, const char *path, const void *data, size_t size_bytes)
{
    vkf__host host;
    int error = vkf_make_directories(cache->path, 0700);
    if (error != 0)
        warn(cache, "cannot make", cache->path, error);
    else if (vkf__host_init(&host, NULL, warn_message, cache, VKF_SEVERITY_ERROR) == VKF_OK)
        (void)!vkf__file_write(&host, path, data, size_bytes);
}

static void save(void *user, const char *key, const void *data, size_t size_bytes)
{
    vkf_cache_dir *cache = user;
    char *path = file_path(cache, key);
    const bool marks = strncmp(key, "testing-", 8) == 0;
    if (!path)
        return;
    if (marks && size_bytes > 0)
        vkf_remove_on_signal(path);
    if (size_bytes > 0)
        write_file(cache, path, data, size_bytes);
    else
        (void)vkf__file_remove(path);
    if (marks && size_bytes == 0)
        vkf_remove_on_signal(NULL);
    free(path);
}

vkf_cache_callbacks vkf_cache_dir_callbacks(vkf_cache_dir *cache)
{
    return (vkf_cache_callbacks){.load = load, .save = save, .user = cache};
}
