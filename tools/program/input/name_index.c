// Keeps places in one of jansson's objects, which are hash tables with a seed of the process's own.
#include "input/name_index.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/options.h"

bool vkf_name_index_init(vkf_name_index *index)
{
    index->places = json_object();
    if (!index->places)
        vkf_print_error("memory is exhausted");
    return index->places != NULL;
}

void vkf_name_index_free(vkf_name_index *index)
{
    json_decref(index->places);
    index->places = NULL;
}

// Each string has its length before it, so that no two lists have the same key. Freed by the caller; NULL when memory
// is exhausted.
static char *key_of(const char *const *names, size_t count)
{
    size_t bytes = 1, used = 0;
    for (size_t i = 0; i < count; i++)
        bytes += strlen(names[i]) + 24;
    char *key = malloc(bytes);
    for (size_t i = 0; key && i < count; i++)
        used += (size_t)snprintf(key + used, bytes - used, "%zu:%s", strlen(names[i]), names[i]);
    return key;
}

bool vkf_name_index_find(const vkf_name_index *index, const char *const *names, size_t count, size_t *out_place)
{
    char *key = key_of(names, count);
    const json_t *place = key ? json_object_get(index->places, key) : NULL;
    free(key);
    if (place)
        *out_place = (size_t)json_integer_value(place);
    return place != NULL;
}

bool vkf_name_index_add(vkf_name_index *index, const char *const *names, size_t count, size_t place, size_t *out_place)
{
    *out_place = place;
    if (vkf_name_index_find(index, names, count, out_place))
        return true;
    char *key = key_of(names, count);
    bool added = key && json_object_set_new(index->places, key, json_integer((json_int_t)place)) == 0;
    free(key);
    if (!added)
        vkf_print_error("memory is exhausted");
    return added;
}
