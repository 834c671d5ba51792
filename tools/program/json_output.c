#include "json_output.h"

#include <math.h>
#include <stdio.h>

#include "options.h"

bool vkf_print_json(json_t *value)
{
    bool printed = value && json_dumpf(value, stdout, JSON_COMPACT | JSON_REAL_PRECISION(6)) == 0;
    json_decref(value);
    if (!printed) {
        vkf_print_error("the result could not be written as JSON");
        return false;
    }
    putchar('\n');
    return true;
}

json_t *vkf_json_known(double value)
{
    return isfinite(value) && value >= 0 ? json_real(value) : json_null();
}
