// What the device counted while dispatches ran, below a profile's table.
#ifndef VKF_PROGRAM_PROFILE_COUNTERS_H
#define VKF_PROGRAM_PROFILE_COUNTERS_H

#include <stdio.h>

#include "profile/profile_group.h"

// What the document's counter `index` says of a group's calls. False where the device has not told all of them.
bool vkf_profile_counter_value(const json_t *document, vkf_profile_by by, const vkf_profile_group *group, size_t index,
                               double *out_value);

// Lines for each group, behind the table. Nothing without counters.
void vkf_profile_print_counters(FILE *out, const json_t *document, vkf_profile_by by, const vkf_profile_groups *groups);

#endif
