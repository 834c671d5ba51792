// Prints JSON values on stdout, one per line, or writes them to streams.
#ifndef VKF_PROGRAM_JSON_OUTPUT_H
#define VKF_PROGRAM_JSON_OUTPUT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

// Prints the value and releases it. False, with a message, for NULL (which jansson returns when memory is exhausted)
// and when printing fails.
bool vkf_print_json(json_t *value);
// The same with `digits` significant digits for each real number, instead of 6.
bool vkf_print_json_digits(json_t *value, unsigned digits);

// Writes the value in a form that steers no terminal; the flags are jansson's. False for NULL, and when writing fails.
bool vkf_write_json(const json_t *value, FILE *stream, size_t flags);

// Add one member to an object. A string that is not valid UTF-8 becomes null. So does a number that is negative, which
// stands for "unknown", or not finite.
void vkf_json_put_integer(json_t *object, const char *key, uint64_t value);
void vkf_json_put_string(json_t *object, const char *key, const char *value);
void vkf_json_put_text(json_t *object, const char *key, const char *text, size_t size_bytes); // may contain zeros
void vkf_json_put_real(json_t *object, const char *key, double value);

#endif
