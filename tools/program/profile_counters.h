// What the device counted while dispatches ran, below a profile's table.
#ifndef VKF_PROGRAM_PROFILE_COUNTERS_H
#define VKF_PROGRAM_PROFILE_COUNTERS_H

#include <stdio.h>

#include "profile_group.h"

// Lines for each group, behind the table. Nothing without counters.
void vkf_profile_print_counters(FILE *out, const json_t *document, vkf_profile_by by, const vkf_profile_groups *groups);

#endif
