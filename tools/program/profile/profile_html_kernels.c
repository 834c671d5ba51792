// The table of operations: which kernel, in which configuration, was chosen for each, and what it reaches.
#include "profile/profile_page.h"

static void write_code(const vkf_profile_page *page, const char *text)
{
    fputs("<td class=\"t\"><code>", page->out);
    vkf_page_text(page, text);
    fputs("</code></td>", page->out);
}

static void write_figures(const vkf_profile_page *page, const vkf_profile_group *op)
{
    const char *bound;
    double ns = op->median_ns, fraction = vkf_page_roof(page, op, &bound);
    if (!page->timestamps) {
        fprintf(page->out, "<td>%llu</td><td></td><td></td><td></td><td></td><td></td><td></td><td></td>",
                (unsigned long long)op->calls);
        return;
    }
    fprintf(page->out, "<td>%llu</td><td>%.3f</td><td>%.3f</td><td>%.1f %%</td>", (unsigned long long)op->calls,
            ns * 1e-6, op->iqr_ns * 1e-6, page->gpu_ns > 0 ? 100 * ns / page->gpu_ns : 0);
    if (ns > 0)
        fprintf(page->out, "<td>%.2f</td><td>%.2f</td>", op->flops / ns, (op->bytes_read + op->bytes_written) / ns);
    else
        fputs("<td></td><td></td>", page->out);
    if (fraction >= 0)
        fprintf(page->out, "<td>%.1f %%</td><td class=\"t\">%s</td>", 100 * fraction, bound);
    else
        fputs("<td></td><td class=\"t\"></td>", page->out);
}

static void write_row(const vkf_profile_page *page, size_t rank)
{
    const vkf_profile_group *op = &page->ops.list[rank];
    fprintf(page->out, "<tr><td>%zu</td><th class=\"t\" scope=\"row\">", rank + 1);
    vkf_page_op(page, op);
    fputs("</th>", page->out);
    write_code(page, op->kernel);
    write_code(page, op->config);
    write_figures(page, op);
    fputs("</tr>\n", page->out);
}

static void write_sum(const vkf_profile_page *page, const char *name, double ns)
{
    fprintf(page->out,
            "<tr><td></td><th class=\"t\" scope=\"row\">%s</th><td></td><td></td><td></td><td>%.3f</td><td></td>"
            "<td>%.1f %%</td><td></td><td></td><td></td><td></td></tr>\n",
            name, ns * 1e-6, page->gpu_ns > 0 ? 100 * ns / page->gpu_ns : 0);
}

void vkf_page_kernels(const vkf_profile_page *page)
{
    static const char *const texts[] = {"operation", "kernel", "configuration"};
    static const char *const numbers[] = {"calls", "GPU ms", "iqr", "share", "GFLOP/s", "GB/s", "roof"};
    fputs(
        "<section id=\"kernels\">\n<h2>Kernels</h2>\n<p>What the tuner, or its defaults, chose for each operation. "
        "Times are of a run: the median over the runs, and their quartile range. The roof is the share of the measured "
        "roofs that is reached; the bound says which of them is the nearer one, or latency where neither is reached to "
        "a tenth.</p>\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Kernels\">\n<table>\n"
        "<thead><tr><th scope=\"col\">no.</th>",
        page->out);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        fprintf(page->out, "<th class=\"t\" scope=\"col\">%s</th>", texts[i]);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        fprintf(page->out, "<th scope=\"col\">%s</th>", numbers[i]);
    fputs("<th class=\"t\" scope=\"col\">bound</th></tr></thead>\n<tbody>\n", page->out);
    for (size_t i = 0; i < page->ops.count; i++)
        write_row(page, i);
    fputs("</tbody>\n<tfoot>\n", page->out);
    if (page->timestamps) {
        write_sum(page, "difference of medians", page->gpu_ns - page->ops.total_ns);
        write_sum(page, "all", page->gpu_ns);
    }
    fputs("</tfoot>\n</table>\n</div>\n</section>\n", page->out);
}
