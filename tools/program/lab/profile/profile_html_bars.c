// Bars: the time of each operation and of each layer.
#include "embedded_templates.h"
#include "lab/profile/profile_page.h"

#define SHOWN 24u // the rest can be unfolded

typedef struct bars {
    const vkf_profile_page *page;
    const vkf_profile_groups *groups; // the page's operations or layers
    size_t shown;
} bars;

// A bar's width is relative to the longest one. Its solid part is the time that the roofs would allow.
static void write_bar(const bars *b, size_t rank)
{
    const vkf_profile_group *group = &b->groups->list[rank];
    bool is_op = b->groups == &b->page->ops;
    const char *bound;
    double ns = group->median_ns, longest_ns = b->groups->list[0].median_ns;
    double roof = vkf_page_roof(b->page, group, &bound), width = longest_ns > 0 ? 100 * ns / longest_ns : 0;
    const vkf_slot slots[] = {
        {"class", .text = is_op ? vkf_page_colour(rank) : "c2"},
        {"number", .number = is_op && rank < VKF_PAGE_NUMBERED ? (double)(rank + 1) : 0},
        {"name", .data = is_op || !group->part[0] ? group->submission : group->part},
        {"label", .data = is_op ? group->label : NULL},
        {"kernel", .data = is_op ? group->kernel : NULL},
        {"ms", .number = ns * 1e-6},
        {"share", .number = vkf_page_share(b->page, ns)},
        {"has_roof", .number = roof >= 0},
        {"roof", .number = 100 * roof},
        {"bound", .text = bound},
        {"width", .number = width},
        {"solid", .number = roof > 0 ? width * (roof < 1 ? roof : 1) : 0},
        {0},
    };
    vkf_template_write(b->page->out, vkf_template_profile_bar_html, slots, NULL);
}

static void write_shown(const void *user)
{
    const bars *b = user;
    for (size_t i = 0; i < b->shown; i++)
        write_bar(b, i);
}

static void write_rest(const void *user)
{
    const bars *b = user;
    for (size_t i = b->shown; i < b->groups->count; i++)
        write_bar(b, i);
}

static void write_bars(const vkf_profile_page *page, const vkf_profile_groups *groups, const char *what)
{
    const bars b = {page, groups, groups->count <= SHOWN + 2 ? groups->count : SHOWN};
    const vkf_slot slots[] = {
        {"timestamps", .number = page->timestamps},
        {"has_roofs", .number = page->has_roofs},
        {"what", .text = what},
        {"shown", .part = write_shown},
        {"more", .number = (double)(groups->count - b.shown)},
        {"rest", .part = write_rest},
        {0},
    };
    vkf_template_write(page->out, vkf_template_profile_bars_html, slots, &b);
}

void vkf_page_op_bars(const void *user)
{
    const vkf_profile_page *page = user;
    write_bars(page, &page->ops, "The operations of a run, each over all layers");
}

void vkf_page_layer_bars(const void *user)
{
    const vkf_profile_page *page = user;
    write_bars(page, &page->layers, "The layers of a run");
}
