// What is kept between runs in a directory: a file for each key, written whole or not at all, whoever writes beside.
// A failure costs no more than a warning.
#ifndef VKF_BASE_FILE_CACHE_H
#define VKF_BASE_FILE_CACHE_H

#include <stdatomic.h>

#include <vkformer/context.h>

#include "base/host.h"

typedef struct vkf__file_cache {
    const vkf__host *host;
    char *directory; // NULL: there is no place, so that nothing is kept
    atomic_bool warned;
} vkf__file_cache;

// Makes a cache in `directory`, which is made when something is saved. "" is the user's own: $XDG_CACHE_HOME/vkformer
// or ~/.cache/vkformer, in Windows %LOCALAPPDATA%\vkformer; a warning says where the user has no such place. The cache
// keeps `host`. Ownership: vkf__file_cache_finish(), which takes {0}. Status OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__file_cache_init(const vkf__host *host, const char *directory,
                                               vkf__file_cache *out_cache);
void vkf__file_cache_finish(vkf__file_cache *cache);

// The path of a key's file, for vkf__free(). NULL where there is no such key, or no memory.
char *vkf__file_cache_path(const vkf__file_cache *cache, const char *key);

// As the callbacks of a context, for which `cache` is the user.
size_t vkf__file_cache_load(void *cache, const char *key, void *data, size_t capacity);
void vkf__file_cache_save(void *cache, const char *key, const void *data, size_t size_bytes);

#endif
