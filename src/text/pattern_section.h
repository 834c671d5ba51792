// Patterns as several parts of a tokenizer file write them: {"String": "..."} or {"Regex": "..."}.
#ifndef VKF_TEXT_PATTERN_SECTION_H
#define VKF_TEXT_PATTERN_SECTION_H

#include "text/json_section.h"
#include "text/pattern.h"

// Reads the section's key "pattern". Statuses: FORMAT, UNSUPPORTED, OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__section_pattern(const vkf__json_section *section, vkf__pattern **out_pattern);

#endif
