// Patterns by the system's own fnmatch().
#include <fnmatch.h>

#include "system/name_pattern.h"

bool vkf_name_matches(const char *pattern, const char *name)
{
    return fnmatch(pattern, name, 0) == 0;
}
