// Files, as a system has them: opened, examined and replaced. What a system calls this is in system_file_posix.c and
// system_file_windows.c alone.
//
// Paths are UTF-8, on Windows too, where both slashes separate their parts. What fails says why in errno. A descriptor
// is a small number, as POSIX and the C library of Windows have it; bytes pass as they are.
#ifndef VKF_BASE_SYSTEM_FILE_H
#define VKF_BASE_SYSTEM_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef enum vkf__file_kind {
    VKF_FILE_REGULAR = 0,
    VKF_FILE_DIRECTORY,
    VKF_FILE_LINK,
    VKF_FILE_OTHER, // a pipe, a device
} vkf__file_kind;

typedef struct vkf__file_info {
    vkf__file_kind kind;
    uint64_t size_bytes;
    int64_t seconds, nanoseconds; // when its content last changed, from 1970 on
    uint64_t device, number;      // which file it is, whatever its name
    uint32_t mode, owner, group;  // permissions as POSIX has them; 0 on Windows
} vkf__file_info;

// Facts about what a path leads to, about what stands there even if it is a link, and about an open file.
bool vkf__path_info(const char *path, vkf__file_info *out_info);
bool vkf__entry_info(const char *path, vkf__file_info *out_info);
bool vkf__descriptor_info(int descriptor, vkf__file_info *out_info);

// How many bytes of the path are its directory, with the slash behind it; 0 where it is a name alone.
size_t vkf__path_directory_bytes(const char *path);
// The path from the root on, without links, of what is there; NULL with errno. free() releases it.
char *vkf__path_absolute(const char *path);
// Where programs keep for this user what they can make again. False when the system does not say, or it does not
// fit.
bool vkf__cache_folder(char *out_path, size_t capacity);
// Whether it is one of those that end a directory's name.
bool vkf__is_slash(char letter);

// fopen(), which takes UTF-8 everywhere.
FILE *vkf__stream_open(const char *path, const char *mode);
// getc() of a stream that no other thread uses.
int vkf__stream_next(FILE *stream);
// fdopen(). The stream owns the descriptor; on failure the caller still does.
FILE *vkf__descriptor_stream(int descriptor, const char *mode);

// A descriptor, or -1. Processes started later do not inherit it. Reading opens directories, too, so that they can be
// told from files, and does not wait for the writer of a named pipe.
int vkf__open_to_read(const char *path);
int vkf__open_to_write(const char *path, bool truncate);
// With these permissions where the system has such; EEXIST where something stands there.
int vkf__open_new(const char *path, uint32_t mode);
// Opens a file that is made for it, and that no other process can open so, until vkf__lock_release() removes it. A
// process that ends leaves a file that no longer locks, or none. A descriptor, or -1; EBUSY where another process has
// it. A file system without locks gives it to anybody.
int vkf__lock_take(const char *path);
void vkf__lock_release(const char *path, int lock);
int vkf__descriptor_copy(int descriptor);
void vkf__descriptor_close(int descriptor);

// How many bytes were read, fewer at the end of the file, or -1. Does not depend on the descriptor's position.
int64_t vkf__descriptor_read_at(int descriptor, void *out_bytes, size_t size_bytes, uint64_t offset);

// Whether this process has opened the descriptor to write. On Windows only the standard output and error are known.
bool vkf__descriptor_writes(int descriptor);
// Whether this process may write to what stands there.
bool vkf__path_writable(const char *path);
// Gives a new file the owner and permissions of another. On Windows it keeps those that its directory gives.
bool vkf__descriptor_take_after(int descriptor, const vkf__file_info *replaced);
// Where a link leads, without a zero behind: the bytes, or -1 where there is no link. On Windows links are not read.
int64_t vkf__link_read(const char *path, char *out_target, size_t capacity);

// Both return 0 or -1. What has been written to the stream is on the disk afterwards.
int vkf__stream_to_disk(FILE *stream);
// A file that stands at `to` is replaced at once.
int vkf__path_rename(const char *from, const char *to);
int vkf__file_remove(const char *path);

#endif
