// Prints JSON, and adds members that may be unknown.
#include "output/json_output.h"

#include <math.h>
#include <stdio.h>

#include "command/options.h"

bool vkf_print_json(json_t *value)
{
    return vkf_print_json_digits(value, 6);
}

bool vkf_print_json_digits(json_t *value, unsigned digits)
{
    bool printed = value && json_dumpf(value, stdout, JSON_COMPACT | JSON_REAL_PRECISION(digits)) == 0;
    json_decref(value);
    if (!printed) {
        vkf_print_error("the result could not be written as JSON");
        return false;
    }
    putchar('\n');
    return true;
}

void vkf_json_put_integer(json_t *object, const char *key, uint64_t value)
{
    json_object_set_new(object, key, json_integer((json_int_t)value));
}

void vkf_json_put_string(json_t *object, const char *key, const char *value)
{
    json_t *string = json_string(value);
    json_object_set_new(object, key, string ? string : json_null());
}

void vkf_json_put_real(json_t *object, const char *key, double value)
{
    json_object_set_new(object, key, isfinite(value) && value >= 0 ? json_real(value) : json_null());
}
