// The report as a whole: reads what its sections share, and puts them in order.
#include <stdlib.h>
#include <string.h>

#include "command/options.h"
#include "embedded_templates.h"
#include "lab/profile/profile_output.h"
#include "lab/profile/profile_page.h"
#include "lab/profile/profile_subject.h"

double vkf_page_number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : -1.0;
}

double vkf_page_median(const json_t *object, const char *key)
{
    return vkf_page_number(json_object_get(object, key), "median");
}

const char *vkf_page_string(const json_t *object, const char *key)
{
    const char *value = json_string_value(json_object_get(object, key));
    return value ? value : "";
}

const char *vkf_page_colour(size_t rank)
{
    static const char *const classes[VKF_PAGE_COLOURED + 1] = {"c1", "c2", "c3", "c4", "c5", "c6", "c0"};
    return classes[rank < VKF_PAGE_COLOURED ? rank : VKF_PAGE_COLOURED];
}

double vkf_page_roof(const vkf_profile_page *page, const vkf_profile_group *group, const char **out_bound)
{
    const vkf_bench_cost cost = {group->flops, group->bytes_read, group->bytes_written};
    *out_bound = "";
    return page->has_roofs && group->median_ns > 0 ? vkf_profile_roof(&page->roofs, &cost, group->median_ns, out_bound)
                                                   : -1.0;
}

double vkf_page_share(const vkf_profile_page *page, double ns)
{
    return page->gpu_ns > 0 ? 100 * ns / page->gpu_ns : 0;
}

void vkf_page_write_ops(const vkf_template_body *body, const vkf_profile_page *page, size_t max)
{
    for (size_t i = 0; i < page->ops.count && i < max; i++) {
        const vkf_slot slots[] = {
            {"class", .text = vkf_page_colour(i)},
            {"number", .number = (double)(i + 1)},
            {"submission", .data = page->ops.list[i].submission},
            {"label", .data = page->ops.list[i].label},
            {0},
        };
        vkf_template_body_write(body, slots, page);
    }
}

static size_t op_of(const vkf_profile_groups *ops, const json_t *row)
{
    size_t i = 0;
    while (i < ops->count && (strcmp(ops->list[i].submission, vkf_page_string(row, "submission")) != 0 ||
                              strcmp(ops->list[i].label, vkf_page_string(row, "label")) != 0 ||
                              strcmp(ops->list[i].kernel, vkf_page_string(row, "kernel")) != 0 ||
                              strcmp(ops->list[i].config, vkf_page_string(row, "config")) != 0))
        i++;
    return i;
}

static bool find_ops(vkf_profile_page *page)
{
    const json_t *row, *dispatches = json_object_get(page->document, "dispatches");
    size_t i;
    page->op_of_dispatch = calloc(json_array_size(dispatches) + 1, sizeof *page->op_of_dispatch);
    if (!page->op_of_dispatch) {
        vkf_print_error("memory for %zu dispatches is exhausted", json_array_size(dispatches));
        return false;
    }
    json_array_foreach(dispatches, i, row) page->op_of_dispatch[i] = op_of(&page->ops, row);
    return true;
}

static void read_totals(vkf_profile_page *page)
{
    const json_t *roofs = json_object_get(page->document, "roofs");
    const json_t *submission, *submissions = json_object_get(page->document, "submissions");
    size_t i;
    page->wall_ns = vkf_page_median(page->document, "wall_ns");
    json_array_foreach(submissions, i, submission)
    {
        double ns = vkf_page_median(submission, "gpu_ns");
        page->gpu_ns += ns > 0 ? ns : 0;
    }
    page->timestamps = json_is_true(json_object_get(json_object_get(page->document, "device"), "timestamps"));
    page->roofs = (vkf_roofs){
        .copy_bytes_per_s = vkf_page_number(roofs, "copy_bytes_per_s"),
        .read_bytes_per_s = vkf_page_number(roofs, "read_bytes_per_s"),
        .fma_flops_per_s = vkf_page_number(roofs, "fma_flops_per_s"),
    };
    page->has_roofs =
        page->roofs.copy_bytes_per_s > 0 && page->roofs.read_bytes_per_s > 0 && page->roofs.fma_flops_per_s > 0;
}

// The style sheet's colours are those of Okabe and Ito, which colour-blind readers can tell apart, and lighter on a
// dark page. Yellow is left out, because it is hardly visible on white.
static void write_page(const vkf_profile_page *page)
{
    const json_t *subject = json_object_get(page->document, "subject");
    char name[512];
    vkf_profile_subject_name(subject, name, sizeof name);
    const vkf_slot slots[] = {
        {"subject", .data = name},
        {"style", .file = vkf_template_profile_css},
        {"kind", .text = json_is_string(json_object_get(subject, "model")) ? "model" : "layer"},
        {"timestamps", .number = page->timestamps},
        {"has_roofs", .number = page->has_roofs},
        {"facts", .each = vkf_page_facts},
        {"totals", .each = vkf_page_totals},
        {"stacks", .each = vkf_page_stacks},
        {"submissions", .each = vkf_page_submissions},
        {"roofline", .each = vkf_page_roofline},
        {"op_bars", .part = vkf_page_op_bars},
        {"layer_bars", .part = vkf_page_layer_bars},
        {"timeline", .each = vkf_page_timeline},
        {"memory", .each = vkf_page_memory},
        {"kernels", .each = vkf_page_kernels},
        {"sums", .each = vkf_page_kernel_sums},
        {"has_counters", .number = (double)json_array_size(json_object_get(page->document, "counters"))},
        {"counters", .each = vkf_page_counters},
        {"counted_ops", .each = vkf_page_counted_ops},
        {0},
    };
    vkf_template_write(page->out, vkf_template_profile_page_html, slots, page);
}

bool vkf_profile_print_html(FILE *out, const json_t *document)
{
    vkf_profile_page page = {.out = out, .document = document};
    bool done = vkf_profile_groups_make(document, VKF_PROFILE_BY_OP, &page.ops) &&
                vkf_profile_groups_make(document, VKF_PROFILE_BY_LAYER, &page.layers);
    if (done) {
        vkf_profile_groups_sort(&page.ops);
        vkf_profile_groups_sort(&page.layers);
        read_totals(&page);
        done = find_ops(&page);
    }
    if (done)
        write_page(&page);
    free(page.op_of_dispatch);
    vkf_profile_groups_free(&page.ops);
    vkf_profile_groups_free(&page.layers);
    return done;
}
