// The message about a name that there is not, with the one that was meant.
#ifndef VKF_PROGRAM_NEAREST_NAME_H
#define VKF_PROGRAM_NEAREST_NAME_H

#include <stddef.h>

typedef struct vkf_nearest_name {
    const char *word; // what was written
    const char *name; // the nearest so far; NULL where none is near
    size_t distance;
} vkf_nearest_name;

// Takes the name where it is nearer than those before. It must live as long as the struct.
void vkf_nearest_name_offer(vkf_nearest_name *nearest, const char *name);

// Prints "'WORD': WHAT; see HELP --help", and the name that was meant, with `dashes` before it, where one is near.
void vkf_nearest_name_refuse(const vkf_nearest_name *nearest, const char *dashes, const char *what, const char *help);

#endif
