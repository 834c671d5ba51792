// The head of the report: what was run, how long it took, and how host and device shared that time.
#include <string.h>

#include "profile/profile_page.h"

// Writes a member's name as words: "new_tokens" is "new tokens".
static void write_word(const vkf_profile_page *page, const char *key)
{
    for (; *key; key++)
        fputc(*key == '_' ? ' ' : *key, page->out);
}

static void write_fact(const vkf_profile_page *page, const char *name, const char *value)
{
    if (!value[0])
        return;
    fputs("<div><dt>", page->out);
    write_word(page, name);
    fputs("</dt><dd>", page->out);
    vkf_page_text(page, value);
    fputs("</dd></div>\n", page->out);
}

// Writes "2026-11-22 20:15:00", which may be broken at the space.
static void write_date(const vkf_profile_page *page)
{
    const char *date = vkf_page_string(page->document, "date");
    char text[32];
    snprintf(text, sizeof text, "%.10s %.8s", date, strlen(date) > 11 ? date + 11 : "");
    write_fact(page, "date (UTC)", text);
}

void vkf_page_facts(const void *user)
{
    const vkf_profile_page *page = user;
    const json_t *subject = json_object_get(page->document, "subject");
    const json_t *device = json_object_get(page->document, "device");
    const char *key;
    json_t *value;
    char number[32];
    write_fact(page, "device", vkf_page_string(device, "name"));
    write_fact(page, "driver", vkf_page_string(device, "driver"));
    write_fact(page, "version of the driver", vkf_page_string(device, "driver_info"));
    write_date(page);
    json_object_foreach((json_t *)subject, key, value)
    {
        snprintf(number, sizeof number, "%lld", (long long)json_integer_value(value));
        if (value != json_object_get(subject, "model") && value != json_object_get(subject, "layer") &&
            (json_is_string(value) || json_is_integer(value)))
            write_fact(page, key, json_is_string(value) ? json_string_value(value) : number);
    }
    snprintf(number, sizeof number, "%u after %.0f to warm up", page->ops.runs,
             vkf_page_number(page->document, "warmup"));
    write_fact(page, "runs", number);
}

static void write_total(const vkf_profile_page *page, double ns, const char *what)
{
    if (ns >= 0)
        fprintf(page->out, "<li><b>%.3f ms</b> %s</li>\n", ns * 1e-6, what);
}

void vkf_page_totals(const void *user)
{
    const vkf_profile_page *page = user;
    write_total(page, page->wall_ns, "a run, median");
    write_total(page, vkf_page_number(json_object_get(page->document, "wall_ns"), "iqr"), "quartile range");
    write_total(page, page->timestamps ? page->gpu_ns : -1.0, "of it on the device");
    write_total(page, vkf_page_number(page->document, "unprofiled_wall_ns"), "a run without profiler and timestamps");
}

// Host and device ---------------------------------------------------------------------------------------------------

static double sum_of(const vkf_profile_page *page, const char *key)
{
    const json_t *submission, *submissions = json_object_get(page->document, "submissions");
    size_t i;
    double sum = 0;
    json_array_foreach(submissions, i, submission)
    {
        double ns = vkf_page_median(submission, key);
        sum += ns > 0 ? ns : 0;
    }
    return sum;
}

typedef struct piece {
    const char *class, *name;
    double ns;
} piece;

// Writes a bar of pieces, and their legend below it. Medians of parts may add up to more than the median of the whole.
static void write_stack(const vkf_profile_page *page, const char *title, const piece *pieces, size_t count)
{
    double whole_ns = 0, at_ns = 0;
    for (size_t i = 0; i < count; i++)
        whole_ns += pieces[i].ns;
    if (whole_ns < page->wall_ns)
        whole_ns = page->wall_ns;
    if (whole_ns <= 0)
        return;
    fprintf(page->out, "<h3>%s</h3>\n<svg class=\"stack\" role=\"img\" aria-label=\"%s\">\n", title, title);
    for (size_t i = 0; i < count; i++) {
        fprintf(page->out,
                "<rect class=\"%s\" x=\"%.3f%%\" width=\"%.3f%%\" height=\"100%%\"><title>%s, %.3f ms</title></rect>\n",
                pieces[i].class, 100 * at_ns / whole_ns, 100 * pieces[i].ns / whole_ns, pieces[i].name,
                pieces[i].ns * 1e-6);
        at_ns += pieces[i].ns;
    }
    fputs("</svg>\n<ul class=\"key-list\">\n", page->out);
    for (size_t i = 0; i < count; i++)
        fprintf(page->out, "<li><i class=\"key %s\"></i>%s %.3f ms, %.1f %%</li>\n", pieces[i].class, pieces[i].name,
                pieces[i].ns * 1e-6, 100 * pieces[i].ns / whole_ns);
    fputs("</ul>\n", page->out);
}

static double positive(double value)
{
    return value > 0 ? value : 0;
}

void vkf_page_stacks(const void *user)
{
    const vkf_profile_page *page = user;
    double write = sum_of(page, "update_ns"), submit = sum_of(page, "submit_ns"), wait = sum_of(page, "wait_ns");
    const piece host[] = {
        {"write", "write sizes and parameters", write},
        {"submit", "submit", submit},
        {"wait", "wait for the device", wait},
        {"other", "everything else", positive(page->wall_ns - write - submit - wait)},
    };
    const piece device[] = {
        {"busy", "dispatches", page->gpu_ns},
        {"idle", "idle", positive(page->wall_ns - page->gpu_ns)},
    };
    if (!page->timestamps)
        fputs("<p>This device has no timestamps: nothing is known of its times.</p>\n", page->out);
    write_stack(page, "Host", host, sizeof host / sizeof host[0]);
    if (page->timestamps)
        write_stack(page, "Device", device, sizeof device / sizeof device[0]);
}

static void write_submission(const vkf_profile_page *page, const json_t *submission)
{
    static const char *const keys[] = {"update_ns", "submit_ns", "wait_ns", "gpu_ns"};
    fputs("<tr><th class=\"t\" scope=\"row\">", page->out);
    vkf_page_text(page, vkf_page_string(submission, "name"));
    fprintf(page->out, "</th><td>%.0f</td>", vkf_page_number(submission, "calls"));
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (i == 3 && !page->timestamps)
            fputs("<td></td>", page->out);
        else
            fprintf(page->out, "<td>%.3f</td>", vkf_page_median(submission, keys[i]) * 1e-6);
    fputs("</tr>\n", page->out);
}

void vkf_page_submissions(const void *user)
{
    const vkf_profile_page *page = user;
    const json_t *submission, *submissions = json_object_get(page->document, "submissions");
    size_t i;
    json_array_foreach(submissions, i, submission) write_submission(page, submission);
}
