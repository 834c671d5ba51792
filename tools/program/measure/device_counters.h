// What a device can count while a dispatch runs.
#ifndef VKF_PROGRAM_DEVICE_COUNTERS_H
#define VKF_PROGRAM_DEVICE_COUNTERS_H

#include <jansson.h>
#include <stdio.h>

#include <vkformer/vkformer.h>

// A new object {"name", "unit", "category", "description"}.
json_t *vkf_counter_json(const vkf_counter *counter);

// Whether values of a unit add up over calls. For other units (shares, rates, temperatures) the mean is reported.
bool vkf_counter_sums_up(const char *unit);

// Prints a line for each counter of the context.
void vkf_print_counters(FILE *out, const vkf_context *context);

#endif
