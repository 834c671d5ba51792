// One JSON value per line on stdout.
#ifndef VKF_PROGRAM_JSON_OUTPUT_H
#define VKF_PROGRAM_JSON_OUTPUT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

// Prints the value and releases it. False, with a message, for NULL (as jansson gives when memory is exhausted) and for
// what cannot be printed.
bool vkf_print_json(json_t *value);
// The same with so many significant digits of each real number, not 6.
bool vkf_print_json_digits(json_t *value, unsigned digits);

// Adds one member to an object. A string that is no UTF-8 becomes null, and so does a number that is not finite or is
// negative, which stands for "unknown".
void vkf_json_put_integer(json_t *object, const char *key, uint64_t value);
void vkf_json_put_string(json_t *object, const char *key, const char *value);
void vkf_json_put_real(json_t *object, const char *key, double value);

#endif
