// The table of what the device counted during each operation.
#include "lab/profile/profile_counters.h"
#include "lab/profile/profile_page.h"

void vkf_page_counters(const vkf_template_body *body, const void *user)
{
    const vkf_profile_page *page = user;
    const json_t *counter, *counters = json_object_get(page->document, "counters");
    size_t i;
    json_array_foreach(counters, i, counter)
    {
        const char *unit = vkf_page_string(counter, "unit");
        const vkf_slot slots[] = {
            {"name", .data = vkf_page_string(counter, "name")},
            {"unit", .data = unit[0] ? unit : NULL},
            {0},
        };
        vkf_template_body_write(body, slots, page);
    }
}

typedef struct counted_op {
    const vkf_profile_page *page;
    const vkf_profile_group *op;
} counted_op;

static void each_value(const vkf_template_body *body, const void *user)
{
    const counted_op *counted = user;
    const json_t *document = counted->page->document;
    size_t count = json_array_size(json_object_get(document, "counters"));
    for (size_t i = 0; i < count; i++) {
        double value = 0;
        bool known = vkf_profile_counter_value(document, VKF_PROFILE_BY_OP, counted->op, i, &value);
        const vkf_slot slots[] = {{"known", .number = known}, {"value", .number = value}, {0}};
        vkf_template_body_write(body, slots, NULL);
    }
}

void vkf_page_counted_ops(const vkf_template_body *body, const void *user)
{
    const vkf_profile_page *page = user;
    for (size_t i = 0; i < page->ops.count; i++) {
        const counted_op counted = {page, &page->ops.list[i]};
        const vkf_slot slots[] = {
            {"submission", .data = counted.op->submission},
            {"label", .data = counted.op->label},
            {"values", .each = each_value},
            {0},
        };
        vkf_template_body_write(body, slots, &counted);
    }
}
