// Describes counters as JSON and as text.
#include "measure/device_counters.h"

#include <string.h>

#include "output/json_output.h"
#include "output/visible_text.h"

json_t *vkf_counter_json(const vkf_counter *counter)
{
    json_t *object = json_object();
    vkf_json_put_string(object, "name", counter->name);
    vkf_json_put_string(object, "unit", counter->unit);
    vkf_json_put_string(object, "category", counter->category);
    vkf_json_put_string(object, "description", counter->description);
    return object;
}

bool vkf_counter_sums_up(const char *unit)
{
    static const char *const sums[] = {"", "ns", "bytes", "cycles"};
    for (size_t i = 0; i < sizeof sums / sizeof sums[0]; i++)
        if (strcmp(unit, sums[i]) == 0)
            return true;
    return false;
}

void vkf_print_counters(FILE *out, const vkf_context *context)
{
    const vkf_counter *counters;
    uint32_t count = vkf_context_get_counters(context, &counters);
    for (uint32_t i = 0; i < count; i++)
        vkf_print_on(out, "    %-40s %-8s %s: %s\n", counters[i].name, counters[i].unit, counters[i].category,
                     counters[i].description);
}
