// Wagner and Fischer's algorithm, with one row of its table.
#include "base/edit_distance.h"

#include <string.h>

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

size_t vkf__edit_distance(const char *a, const char *b)
{
    size_t row[VKF_EDIT_DISTANCE_BYTES + 1], length = least(strlen(b), VKF_EDIT_DISTANCE_BYTES);
    for (size_t j = 0; j <= length; j++)
        row[j] = j;
    for (size_t i = 0; a[i]; i++) {
        size_t diagonal = row[0];
        row[0] = i + 1;
        for (size_t j = 0; j < length; j++) {
            size_t replaced = diagonal + (a[i] != b[j]);
            diagonal = row[j + 1];
            row[j + 1] = least(replaced, least(row[j], row[j + 1]) + 1);
        }
    }
    return row[length];
}
