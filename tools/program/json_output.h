// One JSON value per line on stdout.
#ifndef VKF_PROGRAM_JSON_OUTPUT_H
#define VKF_PROGRAM_JSON_OUTPUT_H

#include <jansson.h>
#include <stdbool.h>

// Prints the value and releases it. NULL (as jansson gives when memory is exhausted or a string is no UTF-8) and
// unprintable values give false, with a message.
bool vkf_print_json(json_t *value);

// `value` as a JSON number, or null when it is negative, which stands for "unknown".
json_t *vkf_json_known(double value);

#endif
