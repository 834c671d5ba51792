// Directories as a system has them. What fails returns an errno, or NULL with errno set.
#ifndef VKF_BASE_DIRECTORIES_H
#define VKF_BASE_DIRECTORIES_H

#include <stdint.h>

// `mode` are permissions as POSIX has them, less the process's mask.
int vkf__directory_make(const char *path, unsigned mode);
int vkf__directory_remove(const char *path); // an empty one
// Gives a directory a name that nothing has but an empty directory.
int vkf__directory_rename(const char *from, const char *to);
// Ends in XXXXXX, in whose place a name is found that is free.
int vkf__directory_make_temporary(char *path);

// The names in a directory, but "." and "..", in no order. A name is valid until the next call.
typedef struct vkf__listing vkf__listing;
vkf__listing *vkf__listing_open(const char *path);
const char *vkf__listing_next(vkf__listing *listing); // NULL at the end
void vkf__listing_close(vkf__listing *listing);       // takes NULL

// A directory that this process works in. While it lives, other processes that run this program leave it alone. A hold
// is a number, VKF_NO_HOLD for none.
#define VKF_NO_HOLD ((intptr_t)-1)
// Makes a directory and holds it. EEXIST when something is there, or another process took it for one of a dead process.
int vkf__directory_make_held(const char *path, intptr_t *out_hold);
// Removes the directory at `path` with what is in it, four directories deep. It is gone when it is released.
void vkf__directory_remove_held(const char *path, intptr_t hold);
void vkf__directory_release(intptr_t hold);
// Removes parent/name, unless a living process holds it.
void vkf__directory_remove_unheld(const char *parent, const char *name);

#endif
