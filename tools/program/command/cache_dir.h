// The library's cache callbacks on a directory: one file per key. A failure costs no more than a warning.
#ifndef VKF_PROGRAM_CACHE_DIR_H
#define VKF_PROGRAM_CACHE_DIR_H

#include <vkformer/vkformer.h>

typedef struct vkf_cache_dir vkf_cache_dir;

vkf_cache_dir *vkf_cache_dir_create(void); // NULL when memory is exhausted
void vkf_cache_dir_destroy(vkf_cache_dir **cache);

// If `path` is NULL, $XDG_CACHE_HOME/vkformer or ~/.cache/vkformer is used. False (warning printed) when there is no
// such place. The directory is made when the first file is written.
bool vkf_cache_dir_set_path(vkf_cache_dir *cache, const char *path);

// NULL before it is set.
const char *vkf_cache_dir_path(const vkf_cache_dir *cache);

// The callbacks are valid as long as the cache lives. A signal that ends the program while a kernel is tested takes the
// mark of that test with it.
vkf_cache_callbacks vkf_cache_dir_callbacks(vkf_cache_dir *cache);

#endif
