// Files of POSIX.
#define _XOPEN_SOURCE 700 // realpath()
#include "base/system_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static vkf__file_kind kind_of(mode_t mode)
{
    if (S_ISREG(mode))
        return VKF_FILE_REGULAR;
    if (S_ISDIR(mode))
        return VKF_FILE_DIRECTORY;
    return S_ISLNK(mode) ? VKF_FILE_LINK : VKF_FILE_OTHER;
}

static bool take_info(int result, const struct stat *from, vkf__file_info *out_info)
{
    if (result != 0)
        return false;
    *out_info = (vkf__file_info)
    {
        .kind = kind_of(from->st_mode), .size_bytes = (uint64_t)from->st_size,
#if defined(__APPLE__) // the fraction of a second has another name in each mode of Apple's headers
        .seconds = (int64_t)from->st_mtime,
#else
        .seconds = (int64_t)from->st_mtim.tv_sec, .nanoseconds = (int64_t)from->st_mtim.tv_nsec,
#endif
        .device = (uint64_t)from->st_dev, .number = (uint64_t)from->st_ino, .mode = (uint32_t)from->st_mode & 07777,
        .owner = (uint32_t)from->st_uid, .group = (uint32_t)from->st_gid,
    };
    return true;
}

bool vkf__path_info(const char *path, vkf__file_info *out_info)
{
    struct stat info;
    return take_info(stat(path, &info), &info, out_info);
}

bool vkf__entry_info(const char *path, vkf__file_info *out_info)
{
    struct stat info;
    return take_info(lstat(path, &info), &info, out_info);
}

bool vkf__descriptor_info(int descriptor, vkf__file_info *out_info)
{
    struct stat info;
    return take_info(fstat(descriptor, &info), &info, out_info);
}

char *vkf__path_absolute(const char *path)
{
    return realpath(path, NULL);
}

bool vkf__cache_folder(char *out_path, size_t capacity)
{
    // The XDG specification says to ignore a relative path.
    const char *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    const bool own = base && base[0] == '/';
    if (!own && (!home || !home[0]))
        return false;
    return snprintf(out_path, capacity, "%s%s", own ? base : home, own ? "" : "/.cache") < (int)capacity;
}

bool vkf__is_slash(char letter)
{
    return letter == '/';
}

size_t vkf__path_directory_bytes(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash + 1 - path) : 0;
}

FILE *vkf__stream_open(const char *path, const char *mode)
{
    return fopen(path, mode);
}

int vkf__stream_next(FILE *stream)
{
    return getc_unlocked(stream);
}

FILE *vkf__descriptor_stream(int descriptor, const char *mode)
{
    return fdopen(descriptor, mode);
}

int vkf__open_to_read(const char *path)
{
    return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

int vkf__open_to_write(const char *path, bool truncate)
{
    return open(path, O_WRONLY | O_NOCTTY | O_CLOEXEC | (truncate ? O_TRUNC : 0));
}

int vkf__open_new(const char *path, uint32_t mode)
{
    return open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, (mode_t)mode);
}

// Another process may have removed the file before the lock was taken: then the lock is of nothing.
static bool locks(int lock, const char *path)
{
    struct stat opened, named;
    return fstat(lock, &opened) == 0 && stat(path, &named) == 0 && opened.st_dev == named.st_dev &&
           opened.st_ino == named.st_ino;
}

int vkf__lock_take(const char *path)
{
    for (;;) {
        const int lock = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
        if (lock < 0)
            return -1;
        const bool taken = flock(lock, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
        if (taken && locks(lock, path))
            return lock;
        close(lock);
        if (!taken) {
            errno = EBUSY;
            return -1;
        }
    }
}

void vkf__lock_release(const char *path, int lock)
{
    (void)unlink(path);
    close(lock);
}

int vkf__descriptor_copy(int descriptor)
{
    return fcntl(descriptor, F_DUPFD_CLOEXEC, 3);
}

void vkf__descriptor_close(int descriptor)
{
    (void)close(descriptor);
}

int64_t vkf__descriptor_read_at(int descriptor, void *out_bytes, size_t size_bytes, uint64_t offset)
{
    ssize_t got;
    do {
        got = pread(descriptor, out_bytes, size_bytes, (off_t)offset);
    } while (got < 0 && errno == EINTR);
    return (int64_t)got;
}

bool vkf__descriptor_writes(int descriptor)
{
    const int flags = descriptor >= 0 ? fcntl(descriptor, F_GETFL) : -1;
    return flags >= 0 && (flags & O_ACCMODE) != O_RDONLY;
}

bool vkf__path_writable(const char *path)
{
    return access(path, W_OK) == 0;
}

bool vkf__descriptor_take_after(int descriptor, const vkf__file_info *replaced)
{
    struct stat info;
    if (fstat(descriptor, &info) != 0)
        return false;
    if (((uint32_t)info.st_uid != replaced->owner || (uint32_t)info.st_gid != replaced->group) &&
        fchown(descriptor, (uid_t)replaced->owner, (gid_t)replaced->group) != 0)
        return false;
    return fchmod(descriptor, (mode_t)replaced->mode) == 0;
}

int64_t vkf__link_read(const char *path, char *out_target, size_t capacity)
{
    return (int64_t)readlink(path, out_target, capacity);
}

int vkf__stream_to_disk(FILE *stream)
{
    return fsync(fileno(stream));
}

int vkf__path_rename(const char *from, const char *to)
{
    return rename(from, to);
}

int vkf__file_remove(const char *path)
{
    return unlink(path);
}
