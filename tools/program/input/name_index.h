// Rows of a document by several strings of theirs at once, in a time that does not depend on how many rows there are.
#ifndef VKF_PROGRAM_NAME_INDEX_H
#define VKF_PROGRAM_NAME_INDEX_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct vkf_name_index {
    json_t *places; // by the strings, one behind the other
} vkf_name_index;

bool vkf_name_index_init(vkf_name_index *index); // false: memory is exhausted (message printed)
void vkf_name_index_free(vkf_name_index *index); // accepts {0}

// Finds the row with these strings, or else remembers `place` for them. *out_place is the row's; false when memory is
// exhausted (message printed).
bool vkf_name_index_add(vkf_name_index *index, const char *const *names, size_t count, size_t place, size_t *out_place);
// False where there is no such row.
bool vkf_name_index_find(const vkf_name_index *index, const char *const *names, size_t count, size_t *out_place);

#endif
