// Prints the counters of a profile's groups.
#include "lab/profile/profile_counters.h"

#include "measure/device_counters.h"
#include "output/visible_text.h"

bool vkf_profile_counter_value(const json_t *document, vkf_profile_by by, const vkf_profile_group *group, size_t index,
                               double *out_value)
{
    const json_t *row, *dispatches = json_object_get(document, "dispatches");
    const json_t *counter = json_array_get(json_object_get(document, "counters"), index);
    bool sums_up = vkf_counter_sums_up(json_string_value(json_object_get(counter, "unit")));
    double sum = 0;
    size_t i;
    json_array_foreach(dispatches, i, row)
    {
        const json_t *value = json_array_get(json_object_get(row, "counters"), index);
        double calls = json_number_value(json_object_get(row, "calls"));
        if (!vkf_profile_group_has(group, row, by))
            continue;
        if (!json_is_number(value))
            return false;
        sum += json_number_value(value) * (sums_up ? 1 : calls);
    }
    *out_value = sums_up ? sum : sum / (double)group->calls;
    return true;
}

static void print_group(FILE *out, const json_t *document, vkf_profile_by by, const vkf_profile_group *group)
{
    const json_t *counter, *counters = json_object_get(document, "counters");
    size_t i;
    vkf_print_on(out, "%s%s%s%s%s\n", group->part[0] ? group->part : group->submission, group->label[0] ? " " : "",
                 group->label, group->kernel[0] ? " " : "", group->kernel);
    json_array_foreach(counters, i, counter)
    {
        double value;
        if (vkf_profile_counter_value(document, by, group, i, &value))
            vkf_print_on(out, "  %-40s %16.6g %s\n", json_string_value(json_object_get(counter, "name")), value,
                         json_string_value(json_object_get(counter, "unit")));
    }
}

void vkf_profile_print_counters(FILE *out, const json_t *document, vkf_profile_by by, const vkf_profile_groups *groups)
{
    if (json_array_size(json_object_get(document, "counters")) == 0)
        return;
    fputs("\nCounted in the last run:\n", out);
    for (size_t i = 0; i < groups->count; i++)
        print_group(out, document, by, &groups->list[i]);
}
