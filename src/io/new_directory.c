// Makes a directory under a temporary name, and renames it when it is complete.
#include "io/new_directory.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/directories.h"
#include "base/new_file.h"
#include "base/system_file.h"
#include "io/file.h"

#define SUFFIX ".tmp"

static vkf_status fail_path(const vkf__host *host, const char *path, int error)
{
    return vkf__fail(host, VKF_ERROR_FILE, "%s: cannot be made: %s", path, strerror(error));
}

// A dot and this prefix begin the names of a path's temporary directories. Those of other paths are left alone.
static vkf_status prefix_of(const vkf__host *host, const char *path, char **out_prefix)
{
    vkf_status status = VKF_OK;
    const char *name = path + vkf__path_directory_bytes(path);
    size_t size = strlen(name) + sizeof VKF_TEMPORARY_PREFIX + 1;
    char *prefix = NULL;
    VKF_ALLOC(host, prefix, size);
    snprintf(prefix, size, ".%s%s", name, VKF_TEMPORARY_PREFIX);
    *out_prefix = prefix;
fail:
    return status;
}

// What is behind "0123456789abcdef.tmp"; NULL where that is not what `at` begins with.
static const char *behind_number(const char *at)
{
    const bool is_number = strspn(at, "0123456789abcdef") == 16 && strncmp(at + 16, SUFFIX, strlen(SUFFIX)) == 0;
    return is_number ? at + 16 + strlen(SUFFIX) : NULL;
}

bool vkf__new_directory_is_temporary(const char *name, const char *stem, size_t stem_bytes)
{
    for (int inner = 0; inner < 2 && name[inner] == '.'; inner++) {
        const char *at = name + inner + 1;
        if (strncmp(at, stem, stem_bytes) != 0)
            continue;
        at = behind_number(at + stem_bytes);
        if (at && inner > 0)
            at = strncmp(at, VKF_TEMPORARY_PREFIX, strlen(VKF_TEMPORARY_PREFIX)) == 0
                     ? behind_number(at + strlen(VKF_TEMPORARY_PREFIX))
                     : NULL;
        if (at && *at == '\0')
            return true;
    }
    return false;
}

static void remove_all_stale(const char *path, const char *prefix)
{
    char parent[4096] = ".";
    const size_t directory_bytes = vkf__path_directory_bytes(path);
    if (directory_bytes > 0)
        snprintf(parent, sizeof parent, "%.*s", (int)directory_bytes, path);
    vkf__listing *listing = vkf__listing_open(parent);
    if (!listing)
        return;
    for (const char *name = vkf__listing_next(listing); name; name = vkf__listing_next(listing))
        if (vkf__new_directory_is_temporary(name, prefix + 1, strlen(prefix + 1)))
            vkf__directory_remove_unheld(parent, name);
    vkf__listing_close(listing);
}

vkf_status vkf__new_directory_clean(const vkf__host *host, const char *path)
{
    char *prefix = NULL;
    VKF_RETURN_IF_ERROR(prefix_of(host, path, &prefix));
    remove_all_stale(path, prefix);
    vkf__free(host, prefix);
    return VKF_OK;
}

// ---- removing

vkf_status vkf__new_directory_retire(const vkf__host *host, const char *path)
{
    vkf_status status = VKF_OK;
    char *prefix = NULL, *retired = NULL;
    int error = EEXIST;
    VKF_TRY(prefix_of(host, path, &prefix));
    for (unsigned attempt = 0; error == EEXIST && attempt < VKF_TEMPORARY_ATTEMPTS; attempt++) {
        vkf__free(host, retired);
        retired = NULL;
        VKF_TRY(vkf__temporary_path(host, path, prefix, attempt, &retired));
        error = vkf__file_exists(retired) ? EEXIST : vkf__directory_rename(path, retired);
        error = error == ENOTEMPTY ? EEXIST : error;
    }
    if (error != 0)
        VKF_TRY(vkf__fail(host, VKF_ERROR_FILE, "%s: cannot be removed: %s", path, strerror(error)));
    remove_all_stale(path, prefix);
fail:
    vkf__free(host, prefix);
    vkf__free(host, retired);
    return status;
}

// ---- making

// Whether a new directory can be renamed to the path: the path's last part is a name, and nothing is there but an empty
// directory.
static vkf_status check_free(const vkf__host *host, const char *path)
{
    vkf__file_info info;
    const char *name = path + vkf__path_directory_bytes(path);
    if (*name == '\0' || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return vkf__fail(host, VKF_ERROR_FILE,
                         "\"%s\": is not the name of a directory that can be made; give it a name of its own", path);
    if (!vkf__entry_info(path, &info))
        return errno == ENOENT ? VKF_OK : fail_path(host, path, errno);
    vkf__listing *listing = info.kind == VKF_FILE_DIRECTORY ? vkf__listing_open(path) : NULL;
    const bool empty = listing && !vkf__listing_next(listing);
    vkf__listing_close(listing);
    if (empty)
        return VKF_OK;
    return vkf__fail(host, VKF_ERROR_FILE, "%s: is there already; name a directory that is not, or is empty", path);
}

static vkf_status make_temporary(vkf__new_directory *directory, const char *prefix)
{
    int error = EEXIST;
    for (unsigned attempt = 0; error == EEXIST && attempt < VKF_TEMPORARY_ATTEMPTS; attempt++) {
        vkf__free(directory->host, directory->temporary);
        directory->temporary = NULL;
        VKF_RETURN_IF_ERROR(
            vkf__temporary_path(directory->host, directory->path, prefix, attempt, &directory->temporary));
        error = vkf__directory_make_held(directory->temporary, &directory->hold);
    }
    if (error != 0) {
        vkf__free(directory->host, directory->temporary);
        directory->temporary = NULL;
        return fail_path(directory->host, directory->path, error);
    }
    return VKF_OK;
}

vkf_status vkf__new_directory_open(const vkf__host *host, const char *path, vkf__new_directory *out_directory)
{
    vkf_status status = VKF_OK;
    vkf__new_directory directory = {.host = host, .hold = VKF_NO_HOLD};
    char *prefix = NULL;
    size_t bytes = strlen(path);
    VKF_STRDUP(host, directory.path, path);
    while (bytes > 1 && vkf__is_slash(directory.path[bytes - 1]))
        directory.path[--bytes] = '\0';
    VKF_TRY(check_free(host, directory.path));
    VKF_TRY(prefix_of(host, directory.path, &prefix));
    remove_all_stale(directory.path, prefix);
    VKF_TRY(make_temporary(&directory, prefix));
    *out_directory = directory;
    directory = (vkf__new_directory){0};
fail:
    vkf__free(host, prefix);
    vkf__new_directory_discard(&directory);
    return status;
}

vkf_status vkf__new_directory_commit(vkf__new_directory *directory)
{
    vkf_status status = VKF_OK;
    const int error = vkf__directory_rename(directory->temporary, directory->path);
    if (error != 0) {
        status = fail_path(directory->host, directory->path, error);
    } else {
        vkf__free(directory->host, directory->temporary);
        directory->temporary = NULL;
    }
    vkf__new_directory_discard(directory);
    return status;
}

void vkf__new_directory_discard(vkf__new_directory *directory)
{
    if (!directory->host)
        return;
    if (directory->temporary)
        vkf__directory_remove_held(directory->temporary, directory->hold);
    vkf__directory_release(directory->hold);
    vkf__free(directory->host, directory->temporary);
    vkf__free(directory->host, directory->path);
    *directory = (vkf__new_directory){0};
}
