// Keeps the library's cache in files, as a context with a cache_directory does, and knows of signals.
#include "command/cache_dir.h"

#include <stdlib.h>
#include <string.h>

#include "base/file_cache.h"
#include "command/options.h"
#include "system/remove_on_signal.h"

struct vkf_cache_dir {
    vkf__host host;
    vkf__file_cache files;
};

static void warn(void *user, vkf_severity severity, const char *message)
{
    (void)user;
    (void)severity;
    vkf_print_warning("%s; --cache DIR chooses another place, --no-cache none", message);
}

vkf_cache_dir *vkf_cache_dir_create(void)
{
    return calloc(1, sizeof(vkf_cache_dir));
}

void vkf_cache_dir_destroy(vkf_cache_dir **cache)
{
    if (*cache)
        vkf__file_cache_finish(&(*cache)->files);
    free(*cache);
    *cache = NULL;
}

bool vkf_cache_dir_set_path(vkf_cache_dir *cache, const char *path)
{
    vkf__file_cache_finish(&cache->files);
    return vkf__host_init(&cache->host, NULL, warn, NULL, VKF_SEVERITY_WARNING) == VKF_OK &&
           vkf__file_cache_init(&cache->host, path ? path : "", &cache->files) == VKF_OK && cache->files.directory;
}

const char *vkf_cache_dir_path(const vkf_cache_dir *cache)
{
    return cache->files.directory;
}

static size_t load(void *user, const char *key, void *data, size_t capacity)
{
    return vkf__file_cache_load(&((vkf_cache_dir *)user)->files, key, data, capacity);
}

static void save(void *user, const char *key, const void *data, size_t size_bytes)
{
    vkf_cache_dir *cache = user;
    const bool marks = strncmp(key, "testing-", 8) == 0;
    char *path = marks && size_bytes > 0 ? vkf__file_cache_path(&cache->files, key) : NULL;
    if (path)
        vkf_remove_on_signal(path);
    vkf__file_cache_save(&cache->files, key, data, size_bytes);
    if (marks && size_bytes == 0)
        vkf_remove_on_signal(NULL);
    vkf__free(&cache->host, path);
}

vkf_cache_callbacks vkf_cache_dir_callbacks(vkf_cache_dir *cache)
{
    return (vkf_cache_callbacks){.load = load, .save = save, .user = cache};
}
