// A directory that appears under its name only when it is complete.
#ifndef VKF_PROGRAM_NEW_DIRECTORY_H
#define VKF_PROGRAM_NEW_DIRECTORY_H

#include "base/host.h"

typedef struct vkf_new_directory {
    const vkf__host *host;
    char *path;      // without slashes at its end
    char *temporary; // where its files are made
    int lock;        // held while this process lives, so that others know it is at work
} vkf_new_directory;

// Makes the temporary directory beside `path`, and removes what runs that were killed left there for the same path.
// `path` is an empty directory or not there yet. Statuses: FILE (somebody's directory or file is there, the path ends
// in no name, or the system's reason), OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf_new_directory_open(const vkf__host *host, const char *path,
                                                 vkf_new_directory *out_directory);

// Gives the directory its name. It is closed on success and on failure; on failure it is removed with all that is in
// it.
VKF_MUST_CHECK vkf_status vkf_new_directory_commit(vkf_new_directory *directory);

// Removes it with all that is in it. After a commit, and for {0}, there is nothing to do.
void vkf_new_directory_discard(vkf_new_directory *directory);

#endif
