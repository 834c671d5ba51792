// Prints JSON, and adds members that may be unknown.
#include "output/json_output.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "command/options.h"
#include "output/visible_text.h"

// jansson escapes what JSON demands, which leaves U+007F to U+009F. It passes whole characters.
static int write_part(const char *text, size_t size_bytes, void *stream)
{
    return vkf_write_visible(stream, text, size_bytes) ? 0 : -1;
}

bool vkf_write_json(const json_t *value, FILE *stream, size_t flags)
{
    return value && json_dump_callback(value, write_part, stream, flags) == 0;
}

bool vkf_print_json(json_t *value)
{
    return vkf_print_json_digits(value, 6);
}

bool vkf_print_json_digits(json_t *value, unsigned digits)
{
    bool printed = vkf_write_json(value, stdout, JSON_COMPACT | JSON_REAL_PRECISION(digits));
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
    vkf_json_put_text(object, key, value, value ? strlen(value) : 0); // NULL becomes null
}

void vkf_json_put_text(json_t *object, const char *key, const char *text, size_t size_bytes)
{
    json_t *string = json_stringn(text, size_bytes);
    json_object_set_new(object, key, string ? string : json_null());
}

void vkf_json_put_real(json_t *object, const char *key, double value)
{
    json_object_set_new(object, key, isfinite(value) && value >= 0 ? json_real(value) : json_null());
}
