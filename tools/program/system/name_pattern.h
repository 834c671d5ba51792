// Patterns of names, as a shell has them.
#ifndef VKF_PROGRAM_NAME_PATTERN_H
#define VKF_PROGRAM_NAME_PATTERN_H

#include <stdbool.h>

// Whether the whole name matches: "*" any text, "?" any letter, "[a-f]" and "[!a-f]" one of these or another one, and a
// letter after "\" itself.
bool vkf_name_matches(const char *pattern, const char *name);

#endif
