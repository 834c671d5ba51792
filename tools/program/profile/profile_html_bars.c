// Bars: the time of each operation and each layer, and the planned memory.
#include "profile/profile_page.h"

#define SHOWN 24u // the rest can be unfolded

static double share_of(const vkf_profile_page *page, double ns)
{
    return page->gpu_ns > 0 ? 100 * ns / page->gpu_ns : 0;
}

// A bar for a time, relative to the longest one. Its solid part is the time that the roofs would allow.
static void write_bar(const vkf_profile_page *page, const char *colour, double ns, double dearest_ns, double fraction)
{
    double percent = dearest_ns > 0 ? 100 * ns / dearest_ns : 0;
    fprintf(page->out,
            "<svg class=\"bar %s\" aria-hidden=\"true\"><rect class=\"time\" width=\"%.3f%%\" height=\"100%%\"/>",
            colour, percent);
    if (fraction > 0)
        fprintf(page->out, "<rect width=\"%.3f%%\" height=\"100%%\"/>", percent * (fraction < 1 ? fraction : 1));
    fputs("</svg></li>\n", page->out);
}

static void write_item(const vkf_profile_page *page, size_t rank, bool is_op, double dearest_ns)
{
    const vkf_profile_group *group = is_op ? &page->ops.list[rank] : &page->layers.list[rank];
    const char *bound, *colour = is_op ? vkf_page_colour(rank) : "c2";
    double fraction = vkf_page_roof(page, group, &bound);
    fputs("<li><div class=\"line\"><span>", page->out);
    if (is_op && rank < VKF_PAGE_NUMBERED)
        fprintf(page->out, "<b>%zu</b> ", rank + 1);
    if (is_op)
        vkf_page_op(page, group);
    else
        vkf_page_layer(page, group);
    if (is_op) {
        fputs(" <code class=\"faint\">", page->out);
        vkf_page_text(page, group->kernel);
        fputs("</code>", page->out);
    }
    fprintf(page->out, "</span> <span class=\"figures\">%.3f ms, %.1f %%", group->median_ns * 1e-6,
            share_of(page, group->median_ns));
    if (fraction >= 0)
        fprintf(page->out, ", roof %.1f %%, %s", 100 * fraction, bound);
    fputs("</span></div>", page->out);
    write_bar(page, colour, group->median_ns, dearest_ns, fraction);
}

static void write_bars(const vkf_profile_page *page, const vkf_profile_groups *groups, bool is_op)
{
    size_t shown = groups->count <= SHOWN + 2 ? groups->count : SHOWN;
    double dearest_ns = groups->count > 0 ? groups->list[0].median_ns : 0;
    fputs("<ol class=\"bars\">\n", page->out);
    for (size_t i = 0; i < shown; i++)
        write_item(page, i, is_op, dearest_ns);
    fputs("</ol>\n", page->out);
    if (shown == groups->count)
        return;
    fprintf(page->out, "<details><summary>%zu more, each cheaper than these</summary>\n<ol class=\"bars\">\n",
            groups->count - shown);
    for (size_t i = shown; i < groups->count; i++)
        write_item(page, i, is_op, dearest_ns);
    fputs("</ol>\n</details>\n", page->out);
}

static void write_times(const vkf_profile_page *page, const char *what, bool is_op)
{
    if (!page->timestamps) {
        fputs("<p>The device has no timestamps to tell this.</p>\n", page->out);
        return;
    }
    fprintf(page->out, "<p>%s, dearest first.%s</p>\n", what,
            page->has_roofs ? " The solid part of a bar is the time that the roofs would allow." : "");
    write_bars(page, is_op ? &page->ops : &page->layers, is_op);
}

void vkf_page_op_bars(const void *page)
{
    write_times(page, "The operations of a run, each over all layers", true);
}

void vkf_page_layer_bars(const void *page)
{
    write_times(page, "The layers of a run", false);
}

// Memory -------------------------------------------------------------------------------------------------------------

static const struct {
    const char *key, *name, *class;
} memory_parts[] = {
    {"weights_bytes", "weights", "c2"},
    {"activations_bytes", "activations", "c1"},
    {"cache_bytes", "keys and values", "c3"},
    {"control_bytes", "sizes and parameters", "c4"},
};
enum { MEMORY_PARTS = sizeof memory_parts / sizeof memory_parts[0] };

static double part_bytes(const json_t *memory, size_t part)
{
    double bytes = vkf_page_number(memory, memory_parts[part].key);
    return bytes > 0 ? bytes : 0;
}

static void write_memory_row(FILE *out, const char *class, const char *name, double bytes, double total)
{
    fputs("<tr><th class=\"t\" scope=\"row\">", out);
    if (class)
        fprintf(out, "<i class=\"key %s\"></i>", class);
    fprintf(out, "%s</th><td>%.0f</td><td>%.2f</td><td>%.1f %%</td></tr>\n", name, bytes, bytes / (1 << 20),
            100 * bytes / total);
}

void vkf_page_memory(const void *user)
{
    const vkf_profile_page *page = user;
    const json_t *memory = json_object_get(page->document, "memory");
    double total = 0, at = 0;
    for (size_t i = 0; i < MEMORY_PARTS; i++)
        total += part_bytes(memory, i);
    if (total <= 0) {
        fputs("<p>Nothing is known of the memory that this takes.</p>\n", page->out);
        return;
    }
    fputs("<p>What the model and its session have of the device\342\200\231s memory.</p>\n"
          "<svg class=\"stack\" role=\"img\" aria-label=\"Memory by use\">\n",
          page->out);
    for (size_t i = 0; i < MEMORY_PARTS; i++) {
        double percent = 100 * part_bytes(memory, i) / total;
        fprintf(page->out,
                "<rect class=\"%s\" x=\"%.3f%%\" width=\"%.3f%%\" height=\"100%%\"><title>%s</title></rect>\n",
                memory_parts[i].class, at, percent, memory_parts[i].name);
        at += percent;
    }
    fputs("</svg>\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Memory\">\n<table>\n<thead><tr>"
          "<th class=\"t\" scope=\"col\">for</th><th scope=\"col\">bytes</th><th scope=\"col\">MiB</th>"
          "<th scope=\"col\">share</th></tr></thead>\n<tbody>\n",
          page->out);
    for (size_t i = 0; i < MEMORY_PARTS; i++)
        write_memory_row(page->out, memory_parts[i].class, memory_parts[i].name, part_bytes(memory, i), total);
    fputs("</tbody>\n<tfoot>\n", page->out);
    write_memory_row(page->out, NULL, "all", total, total);
    fputs("</tfoot>\n</table>\n</div>\n", page->out);
}
