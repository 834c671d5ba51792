// Makes a directory under a temporary name, and renames it when it is complete.
#define _POSIX_C_SOURCE 200809L

#include "quantize/new_directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/new_file.h"

#define MOST_DEPTH 4 // of nested directories in it
#define SUFFIX ".tmp"

static vkf_status fail_path(const vkf__host *host, const char *path, int error)
{
    return vkf__fail(host, VKF_ERROR_FILE, "%s: cannot be made: %s", path, strerror(error));
}

// ---- removing

static void remove_content(int directory, int depth);

static void remove_entry(int directory, const char *name, int depth)
{
    if (unlinkat(directory, name, 0) == 0)
        return;
    int inner = depth > 0 ? openat(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
    if (inner < 0)
        return;
    remove_content(inner, depth - 1);
    (void)unlinkat(directory, name, AT_REMOVEDIR);
}

// Takes ownership of the descriptor.
static void remove_content(int directory, int depth)
{
    DIR *stream = fdopendir(directory);
    const struct dirent *entry;
    if (!stream) {
        close(directory);
        return;
    }
    while ((entry = readdir(stream)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            remove_entry(dirfd(stream), entry->d_name, depth);
    closedir(stream);
}

// The prefix of the names of a path's temporary directories. Those of other paths are left alone.
static vkf_status prefix_of(const vkf__host *host, const char *path, char **out_prefix)
{
    vkf_status status = VKF_OK;
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    size_t size = strlen(name) + sizeof VKF_TEMPORARY_PREFIX + 1;
    char *prefix = NULL;
    VKF_ALLOC(host, prefix, size);
    snprintf(prefix, size, ".%s%s", name, VKF_TEMPORARY_PREFIX);
    *out_prefix = prefix;
fail:
    return status;
}

// Whether the open directory is still the one under the name, and not another that was made there since.
static bool stands_at(int directory, int parent, const char *name)
{
    struct stat opened, named;
    return fstat(directory, &opened) == 0 && fstatat(parent, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

// Removes a temporary directory, unless the process that made it is alive. Whoever holds the lock of the directory
// under the name is the only one to remove it.
static void remove_stale(int parent, const char *name)
{
    int directory = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (directory < 0)
        return;
    if (flock(directory, LOCK_EX | LOCK_NB) == 0 && stands_at(directory, parent, name)) {
        int content = dup(directory);
        if (content >= 0)
            remove_content(content, MOST_DEPTH);
        (void)unlinkat(parent, name, AT_REMOVEDIR);
    }
    close(directory);
}

static bool is_temporary(const char *name, const char *prefix)
{
    size_t bytes = strlen(name), prefix_bytes = strlen(prefix);
    return bytes == prefix_bytes + 16 + strlen(SUFFIX) && strncmp(name, prefix, prefix_bytes) == 0 &&
           strspn(name + prefix_bytes, "0123456789abcdef") == 16 && strcmp(name + bytes - strlen(SUFFIX), SUFFIX) == 0;
}

static void remove_all_stale(const char *path, const char *prefix)
{
    char parent[4096] = ".";
    const char *slash = strrchr(path, '/');
    if (slash)
        snprintf(parent, sizeof parent, "%.*s", (int)(slash + 1 - path), path);
    DIR *stream = opendir(parent);
    const struct dirent *entry;
    while (stream && (entry = readdir(stream)))
        if (is_temporary(entry->d_name, prefix))
            remove_stale(dirfd(stream), entry->d_name);
    if (stream)
        closedir(stream);
}

// ---- making

// Whether a new directory can be renamed to the path: the path's last part is a name, and nothing is there but an empty
// directory.
static vkf_status check_free(const vkf__host *host, const char *path)
{
    struct stat info;
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    if (*name == '\0' || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return vkf__fail(host, VKF_ERROR_FILE,
                         "\"%s\": is not the name of a directory that can be made; give it a name of its own", path);
    if (lstat(path, &info) != 0)
        return errno == ENOENT ? VKF_OK : fail_path(host, path, errno);
    DIR *stream = S_ISDIR(info.st_mode) ? opendir(path) : NULL;
    const struct dirent *entry;
    bool empty = stream != NULL;
    while (stream && empty && (entry = readdir(stream)))
        empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
    if (stream)
        closedir(stream);
    if (empty)
        return VKF_OK;
    return vkf__fail(host, VKF_ERROR_FILE, "%s: is there already; name a directory that is not, or is empty", path);
}

// Makes a directory and locks it. Returns 0 or an errno. Before the lock is taken, another process may believe that the
// directory is stale, and remove it or be about to: that is EEXIST, too.
static int make_locked(const char *path, int *out_lock)
{
    if (mkdir(path, 0777) != 0)
        return errno;
    int lock = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int error = lock >= 0 ? 0 : errno == ENOENT ? EEXIST : errno;
    // On a file system without locks the directory is kept, because stale ones are not removed there either.
    if (lock >= 0 &&
        ((flock(lock, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) || !stands_at(lock, AT_FDCWD, path)))
        error = EEXIST;
    if (error == 0) {
        *out_lock = lock;
        return 0;
    }
    if (lock >= 0)
        close(lock);
    if (error != EEXIST)
        (void)rmdir(path);
    return error;
}

static vkf_status make_temporary(vkf_new_directory *directory, const char *prefix)
{
    int error = EEXIST;
    for (unsigned attempt = 0; error == EEXIST && attempt < VKF_TEMPORARY_ATTEMPTS; attempt++) {
        vkf__free(directory->host, directory->temporary);
        directory->temporary = NULL;
        VKF_RETURN_IF_ERROR(
            vkf__temporary_path(directory->host, directory->path, prefix, attempt, &directory->temporary));
        error = make_locked(directory->temporary, &directory->lock);
    }
    if (error != 0) {
        vkf__free(directory->host, directory->temporary);
        directory->temporary = NULL;
        return fail_path(directory->host, directory->path, error);
    }
    return VKF_OK;
}

vkf_status vkf_new_directory_open(const vkf__host *host, const char *path, vkf_new_directory *out_directory)
{
    vkf_status status = VKF_OK;
    vkf_new_directory directory = {.host = host, .lock = -1};
    char *prefix = NULL;
    size_t bytes = strlen(path);
    VKF_STRDUP(host, directory.path, path);
    while (bytes > 1 && directory.path[bytes - 1] == '/')
        directory.path[--bytes] = '\0';
    VKF_TRY(check_free(host, directory.path));
    VKF_TRY(prefix_of(host, directory.path, &prefix));
    remove_all_stale(directory.path, prefix);
    VKF_TRY(make_temporary(&directory, prefix));
    *out_directory = directory;
    directory = (vkf_new_directory){0};
fail:
    vkf__free(host, prefix);
    vkf_new_directory_discard(&directory);
    return status;
}

vkf_status vkf_new_directory_commit(vkf_new_directory *directory)
{
    vkf_status status = VKF_OK;
    if (rename(directory->temporary, directory->path) != 0) {
        status = fail_path(directory->host, directory->path, errno);
    } else {
        vkf__free(directory->host, directory->temporary);
        directory->temporary = NULL;
    }
    vkf_new_directory_discard(directory);
    return status;
}

void vkf_new_directory_discard(vkf_new_directory *directory)
{
    if (!directory->host)
        return;
    int content = directory->temporary && directory->lock >= 0 ? dup(directory->lock) : -1;
    if (content >= 0)
        remove_content(content, MOST_DEPTH);
    if (directory->temporary)
        (void)rmdir(directory->temporary);
    if (directory->lock >= 0)
        close(directory->lock);
    vkf__free(directory->host, directory->temporary);
    vkf__free(directory->host, directory->path);
    *directory = (vkf_new_directory){0};
}
