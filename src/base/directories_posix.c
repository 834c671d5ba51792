// Directories of POSIX. A hold is a descriptor of the directory with a lock.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/directories.h"

#define MOST_DEPTH 4 // of nested directories that are removed

int vkf__directory_make(const char *path, unsigned mode)
{
    return mkdir(path, (mode_t)mode) == 0 ? 0 : errno;
}

int vkf__directory_remove(const char *path)
{
    return rmdir(path) == 0 ? 0 : errno;
}

int vkf__directory_rename(const char *from, const char *to)
{
    return rename(from, to) == 0 ? 0 : errno;
}

int vkf__directory_make_temporary(char *path)
{
    return mkdtemp(path) ? 0 : errno;
}

// ---- listing

struct vkf__listing {
    DIR *stream;
};

vkf__listing *vkf__listing_open(const char *path)
{
    vkf__listing *listing = malloc(sizeof *listing);
    if (!listing)
        return NULL;
    listing->stream = opendir(path);
    if (listing->stream)
        return listing;
    const int error = errno;
    free(listing);
    errno = error;
    return NULL;
}

static const char *next_name(DIR *stream)
{
    const struct dirent *entry;
    while ((entry = readdir(stream)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            return entry->d_name;
    return NULL;
}

const char *vkf__listing_next(vkf__listing *listing)
{
    return next_name(listing->stream);
}

void vkf__listing_close(vkf__listing *listing)
{
    if (listing)
        closedir(listing->stream);
    free(listing);
}

// ---- holding

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
    if (!stream) {
        close(directory);
        return;
    }
    for (const char *name = next_name(stream); name; name = next_name(stream))
        remove_entry(dirfd(stream), name, depth);
    closedir(stream);
}

// Whether the open directory is still the one under the name, and not another that was made there since.
static bool stands_at(int directory, int parent, const char *name)
{
    struct stat opened, named;
    return fstat(directory, &opened) == 0 && fstatat(parent, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

// Before the lock is taken, another process may believe that the directory is stale, and remove it or be about to: that
// is EEXIST, too.
int vkf__directory_make_held(const char *path, intptr_t *out_hold)
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
        *out_hold = lock;
        return 0;
    }
    if (lock >= 0)
        close(lock);
    if (error != EEXIST)
        (void)rmdir(path);
    return error;
}

void vkf__directory_remove_held(const char *path, intptr_t hold)
{
    int content = hold >= 0 ? dup((int)hold) : -1;
    if (content >= 0)
        remove_content(content, MOST_DEPTH);
    (void)rmdir(path);
}

void vkf__directory_release(intptr_t hold)
{
    if (hold >= 0)
        close((int)hold);
}

// Whoever has the lock of the directory under the name is the only one to remove it.
static void remove_unheld_at(int parent, const char *name)
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

void vkf__directory_remove_unheld(const char *parent, const char *name)
{
    int directory = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0)
        return;
    remove_unheld_at(directory, name);
    close(directory);
}
