// What the device counted while dispatches ran, below a profile's table.
#ifndef VKF_PROGRAM_PROFILE_COUNTERS_H
#define VKF_PROGRAM_PROFILE_COUNTERS_H

#include <stdio.h>

#include "lab/profile/profile_group.h"

// The value of the document's counter `index` for a group's calls. False where the device has not counted all of them.
bool vkf_profile_counter_value(const json_t *document, vkf_profile_by by, const vkf_profile_group *group, size_t index,
                               double *out_value);

// Prints lines for each group, after the table. Prints nothing without counters.
void vkf_profile_print_counters(FILE *out, const json_t *document, vkf_profile_by by, const vkf_profile_groups *groups);

#endif
