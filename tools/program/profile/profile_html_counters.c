// The table of what the device counted during each operation.
#include "profile/profile_counters.h"
#include "profile/profile_page.h"

static void write_heads(const vkf_profile_page *page, const json_t *counters)
{
    const json_t *counter;
    size_t i;
    fputs("<thead><tr><th class=\"t\" scope=\"col\">operation</th>", page->out);
    json_array_foreach(counters, i, counter)
    {
        const char *unit = vkf_page_string(counter, "unit");
        fputs("<th scope=\"col\">", page->out);
        vkf_page_text(page, vkf_page_string(counter, "name"));
        if (unit[0])
            fprintf(page->out, ", %s", unit);
        fputs("</th>", page->out);
    }
    fputs("</tr></thead>\n", page->out);
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

void vkf_page_counters(const vkf_profile_page *page)
{
    const json_t *counters = json_object_get(page->document, "counters");
    size_t count = json_array_size(counters);
    if (count == 0)
        return;
    fputs("<section id=\"counters\">\n<h2>Counters</h2>\n<p>What the device counted in the last run: sums over the "
          "calls of "
          "an operation; of shares and rates, means.</p>\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" "
          "aria-label=\"Counters\">\n<table>\n",
          page->out);
    write_heads(page, counters);
    fputs("<tbody>\n", page->out);
    for (size_t i = 0; i < page->ops.count; i++)
        write_op(page, &page->ops.list[i], count);
    fputs("</tbody>\n</table>\n</div>\n</section>\n", page->out);
}
