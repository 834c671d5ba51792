// Patterns as fnmatch() has them, which Windows lacks.
#include <stddef.h>
#include <string.h>

#include "system/name_pattern.h"

// Where the letters of "[" end; NULL where they do not, and "[" is a letter like any other.
static const char *end_of_set(const char *set)
{
    const char *first = *set == '!' ? set + 1 : set;
    return *first ? strchr(first + 1, ']') : NULL;
}

static bool in_set(const char *set, const char *end, char letter)
{
    const bool others = *set == '!';
    bool found = false;
    for (const char *c = set + others; c < end; c++) {
        if (c + 2 < end && c[1] == '-') {
            found = found || (*c <= letter && letter <= c[2]);
            c += 2;
        } else {
            found = found || *c == letter;
        }
    }
    return found != others;
}

// Whether the letter matches the first part of a pattern, which is no "*"; *out_rest is what follows it.
static bool letter_matches(const char *pattern, char letter, const char **out_rest)
{
    const char *end = *pattern == '[' ? end_of_set(pattern + 1) : NULL;
    *out_rest = end ? end + 1 : pattern + 1;
    if (end)
        return in_set(pattern + 1, end, letter);
    if (*pattern == '\\' && pattern[1]) {
        *out_rest = pattern + 2;
        return pattern[1] == letter;
    }
    return *pattern == '?' || *pattern == letter;
}

// It is enough to try the last of several "*" anew.
bool vkf_name_matches(const char *pattern, const char *name)
{
    const char *star = NULL, *from = NULL, *rest;
    while (*name) {
        if (*pattern == '*') {
            star = ++pattern;
            from = name;
        } else if (*pattern && letter_matches(pattern, *name, &rest)) {
            pattern = rest;
            name++;
        } else if (star) {
            pattern = star;
            name = ++from;
        } else {
            return false;
        }
    }
    return pattern[strspn(pattern, "*")] == '\0';
}
