// Properties of code points by the names that a regular expression gives them, and letters without their case.
#ifndef VKF_TEXT_CODE_PROPERTY_H
#define VKF_TEXT_CODE_PROPERTY_H

#include "text/code_set.h"
#include "text/unicode_table.h"

#define VKF_PROPERTY_NAME_BYTES 32u

// Writes a name as it is looked up: in small letters, without blanks, '-' and '_'. False when it is no property's,
// since it is too long or not ASCII.
bool vkf__property_name(const char *name, size_t name_bytes, char out[VKF_PROPERTY_NAME_BYTES]);

// Adds the members of the property. *out_known is false where there is none of that name.
VKF_MUST_CHECK vkf_status vkf__property_members(const vkf__host *host, const char *name, vkf__code_set *set,
                                                bool *out_known);

// Adds every letter that is the same as one of the set but for its case. Letters that stand for several are left alone.
VKF_MUST_CHECK vkf_status vkf__close_case(const vkf__host *host, vkf__code_set *set);

// The least of the letters that are the same as this one but for the case.
uint32_t vkf__least_case(uint32_t code);

#endif
