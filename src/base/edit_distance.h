// How far a word is from another, to suggest what was meant.
#ifndef VKF_BASE_EDIT_DISTANCE_H
#define VKF_BASE_EDIT_DISTANCE_H

#include <stddef.h>

// Only the beginning of a longer word counts, where it is the second.
#define VKF_EDIT_DISTANCE_BYTES 160

// Levenshtein's distance: the fewest bytes to insert, remove or replace.
size_t vkf__edit_distance(const char *a, const char *b);

#endif
