// Tells which files of a folder have changed, by modification time, size and inode, so that saving by renaming counts,
// too.
#ifndef VKF_PROGRAM_FILE_WATCH_H
#define VKF_PROGRAM_FILE_WATCH_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct vkf_watched_file {
    char *path; // relative to the folder: "include/row.glsl"
    int64_t seconds, nanoseconds;
    uint64_t size_bytes;
    uint64_t inode;
} vkf_watched_file;

// All files below a folder at one moment, sorted by path. Hidden files and editors' backups ("x~", "#x#") are left out.
typedef struct vkf_file_snapshot {
    vkf_watched_file *list;
    size_t count, capacity;
} vkf_file_snapshot;

// A folder that does not exist, or vanishes meanwhile, has no files. False after a message when memory is exhausted.
// vkf_file_snapshot_free() must follow in either case.
bool vkf_file_snapshot_take(const char *folder, vkf_file_snapshot *out_snapshot);
void vkf_file_snapshot_free(vkf_file_snapshot *snapshot);

bool vkf_file_snapshot_same(const vkf_file_snapshot *before, const vkf_file_snapshot *after);

// A new array of the paths that were written, made or deleted between the two.
json_t *vkf_file_snapshot_difference(const vkf_file_snapshot *before, const vkf_file_snapshot *after);

typedef enum vkf_file_wait {
    VKF_FILES_CHANGED = 0,
    VKF_FILES_WAIT_STOPPED,
    VKF_FILES_WAIT_FAILED, // memory was exhausted; a message was printed
} vkf_file_wait;

// Waits until files differ from `known` and have not changed for a while, so that nothing half-written is read.
// *out_now (which the caller initialises and frees) is then their state. stopped() is called several times a second,
// and handled signals interrupt the wait.
vkf_file_wait vkf_file_watch_wait(const char *folder, const vkf_file_snapshot *known, bool (*stopped)(void),
                                  vkf_file_snapshot *out_now);

#endif
