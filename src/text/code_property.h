// Properties of code points by the names that a regular expression gives them, and letters without their case.
#ifndef VKF_TEXT_CODE_PROPERTY_H
#define VKF_TEXT_CODE_PROPERTY_H

#include "text/code_set.h"
#include "text/unicode_table.h"

// Adds the members of \p{name}; blanks, '-', '_' and case do not matter in a name. *out_known is false where there is
// no such property.
VKF_MUST_CHECK vkf_status vkf__property_members(const vkf__host *host, const char *name, size_t name_bytes,
                                                vkf__code_set *set, bool *out_known);

// Adds every letter that is the same as one of the set but for its case. Letters that stand for several are left alone.
VKF_MUST_CHECK vkf_status vkf__close_case(const vkf__host *host, vkf__code_set *set);

// The least of the letters that are the same as this one but for the case.
uint32_t vkf__least_case(uint32_t code);

#endif
