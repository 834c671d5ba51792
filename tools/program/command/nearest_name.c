// Finds the name that is the fewest edits away.
#include "command/nearest_name.h"

#include <string.h>

#include "base/edit_distance.h"
#include "command/options.h"

void vkf_nearest_name_offer(vkf_nearest_name *nearest, const char *name)
{
    // Two letters that changed places are two edits, also in a short word.
    const size_t near = 1 + (strlen(name) + 1) / 3, distance = vkf__edit_distance(name, nearest->word);
    if (distance > near || distance >= strlen(name) || (nearest->name && distance >= nearest->distance))
        return;
    nearest->name = name;
    nearest->distance = distance;
}

void vkf_nearest_name_refuse(const vkf_nearest_name *nearest, const char *dashes, const char *what, const char *help)
{
    if (nearest->name)
        vkf_print_error("'%s%.200s': %s; did you mean %s%s? See %s --help", dashes, nearest->word, what, dashes,
                        nearest->name, help);
    else
        vkf_print_error("'%s%.200s': %s; see %s --help", dashes, nearest->word, what, help);
}
