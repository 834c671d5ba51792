// Patterns of parameters' names.
#ifndef VKF_BASE_NAME_MATCH_H
#define VKF_BASE_NAME_MATCH_H

#include <stdbool.h>

// Whether a name is of a pattern: * stands for any bytes, ? for one.
bool vkf__name_matches(const char *pattern, const char *name);

#endif
