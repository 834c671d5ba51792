// The table of operations: which kernel was chosen for each, in which configuration, and what it reaches.
#include "lab/profile/profile_page.h"

void vkf_page_kernels(const vkf_template_body *body, const void *user)
{
    const vkf_profile_page *page = user;
    for (size_t i = 0; i < page->ops.count; i++) {
        const vkf_profile_group *op = &page->ops.list[i];
        const char *bound;
        double ns = op->median_ns, roof = vkf_page_roof(page, op, &bound);
        const vkf_slot slots[] = {
            {"number", .number = (double)(i + 1)},
            {"submission", .data = op->submission},
            {"label", .data = op->label},
            {"kernel", .data = op->kernel},
            {"config", .data = op->config},
            {"calls", .number = (double)op->calls},
            {"ms", .number = ns * 1e-6},
            {"iqr_ms", .number = op->iqr_ns * 1e-6},
            {"share", .number = vkf_page_share(page, ns)},
            {"took_time", .number = ns > 0},
            {"gflops", .number = op->flops / ns},
            {"gb_per_s", .number = (op->bytes_read + op->bytes_written) / ns},
            {"has_roof", .number = roof >= 0},
            {"roof", .number = 100 * roof},
            {"bound", .text = bound},
            {0},
        };
        vkf_template_body_write(body, slots, page);
    }
}

void vkf_page_kernel_sums(const vkf_template_body *body, const void *user)
{
    const vkf_profile_page *page = user;
    const struct {
        const char *name;
        double ns;
    } sums[] = {{"difference of medians", page->gpu_ns - page->ops.total_ns}, {"all", page->gpu_ns}};
    for (size_t i = 0; i < sizeof sums / sizeof sums[0]; i++) {
        const vkf_slot slots[] = {
            {"name", .text = sums[i].name},
            {"ms", .number = sums[i].ns * 1e-6},
            {"share", .number = vkf_page_share(page, sums[i].ns)},
            {0},
        };
        vkf_template_body_write(body, slots, page);
    }
}
