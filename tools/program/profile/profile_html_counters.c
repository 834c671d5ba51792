// The table of what the device counted during each operation.
#include "embedded_templates.h"
#include "output/template.h"
#include "profile/profile_counters.h"
#include "profile/profile_page.h"

static void write_heads(const void *user)
{
    const vkf_profile_page *page = user;
    const json_t *counter, *counters = json_object_get(page->document, "counters");
    size_t i;
    json_array_foreach(counters, i, counter)
    {
        const char *unit = vkf_page_string(counter, "unit");
        fputs("<th scope=\"col\">", page->out);
        vkf_page_text(page, vkf_page_string(counter, "name"));
        if (unit[0])
            fprintf(page->out, ", %s", unit);
        fputs("</th>\n", page->out);
    }
}

static void write_op(const vkf_profile_page *page, const vkf_profile_group *op, size_t count)
{
    double value;
    fputs("<tr><th class=\"t\" scope=\"row\">", page->out);
    vkf_page_op(page, op);
    fputs("</th>", page->out);
    for (size_t i = 0; i < count; i++)
        if (vkf_profile_counter_value(page->document, VKF_PROFILE_BY_OP, op, i, &value))
            fprintf(page->out, "<td>%.6g</td>", value);
        else
            fputs("<td></td>", page->out);
    fputs("</tr>\n", page->out);
}

static void write_ops(const void *user)
{
    const vkf_profile_page *page = user;
    size_t count = json_array_size(json_object_get(page->document, "counters"));
    for (size_t i = 0; i < page->ops.count; i++)
        write_op(page, &page->ops.list[i], count);
}

void vkf_page_counters(const void *user)
{
    const vkf_profile_page *page = user;
    static const vkf_slot slots[] = {{"heads", .part = write_heads}, {"rows", .part = write_ops}, {0}};
    if (json_array_size(json_object_get(page->document, "counters")) > 0)
        vkf_template_write(page->out, vkf_template_profile_counters_html, slots, page);
}
