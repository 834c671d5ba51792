// The table of operations: which kernel was chosen for each, in which configuration, and what it reaches.
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

void vkf_page_kernels(const void *user)
{
    const vkf_profile_page *page = user;
    for (size_t i = 0; i < page->ops.count; i++)
        write_row(page, i);
}

void vkf_page_kernel_sums(const void *user)
{
    const vkf_profile_page *page = user;
    if (!page->timestamps)
        return;
    write_sum(page, "difference of medians", page->gpu_ns - page->ops.total_ns);
    write_sum(page, "all", page->gpu_ns);
}
