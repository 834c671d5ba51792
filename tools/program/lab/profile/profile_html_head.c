// The head of the report: what was run, how long it took, and how host and device shared that time.
#include <string.h>

#include "lab/profile/profile_page.h"

// A fact's name is a member's, written as words: "new_tokens" is "new tokens".
static void write_fact(const vkf_template_body *body, const char *key, const char *value)
{
    char name[64];
    snprintf(name, sizeof name, "%s", key);
    for (char *c = name; *c; c++)
        if (*c == '_')
            *c = ' ';
    const vkf_slot slots[] = {{"name", .data = name}, {"value", .data = value}, {0}};
    if (value[0])
        vkf_template_body_write(body, slots, NULL);
}

// Writes "2026-11-22 20:15:00", which may be broken at the space.
static void write_date(const vkf_template_body *body, const char *date)
{
    char text[32];
    snprintf(text, sizeof text, "%.10s %.8s", date, strlen(date) > 11 ? date + 11 : "");
    write_fact(body, "date (UTC)", text);
}

void vkf_page_facts(const vkf_template_body *body, const void *user)
{
    const vkf_profile_page *page = user;
    const json_t *subject = json_object_get(page->document, "subject");
    const json_t *device = json_object_get(page->document, "device");
    const char *key;
    json_t *value;
    char number[32];
    write_fact(body, "device", vkf_page_string(device, "name"));
    write_fact(body, "driver", vkf_page_string(device, "driver"));
    write_fact(body, "version of the driver", vkf_page_string(device, "driver_info"));
    write_date(body, vkf_page_string(page->document, "date"));
    json_object_foreach((json_t *)subject, key, value)
    {
        snprintf(number, sizeof number, "%lld", (long long)json_integer_value(value));
        if (value != json_object_get(subject, "model") && value != json_object_get(subject, "layer") &&
            (json_is_string(value) || json_is_integer(value)))
            write_fact(body, key, json_is_string(value) ? json_string_value(value) : number);
    }
    snprintf(number, sizeof number, "%u after %.0f to warm up", page->ops.runs,
             vkf_page_number(page->document, "warmup"));
    write_fact(body, "runs", number);
    if (json_is_false(json_object_get(page->document, "settled")))
        write_fact(body, "the device's clock", "not settled");
}

static void write_total(const vkf_template_body *body, double ns, const char *what)
{
    const vkf_slot slots[] = {{"ms", .number = ns * 1e-6}, {"what", .text = what}, {0}};
    if (ns >= 0)
        vkf_template_body_write(body, slots, NULL);
}

void vkf_page_totals(const vkf_template_body *body, const void *user)
{
    const vkf_profile_page *page = user;
    write_total(body, page->wall_ns, "a run, median");
    write_total(body, vkf_page_number(json_object_get(page->document, "wall_ns"), "iqr"), "quartile range");
    write_total(body, page->timestamps ? page->gpu_ns : -1.0, "of it on the device");
    write_total(body, vkf_page_number(page->document, "unprofiled_wall_ns"), "a run without profiler and timestamps");
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

#define MAX_PIECES 4

// A bar of pieces, with their legend below it.
typedef struct stack {
    const char *title;
    double whole_ns;
    piece pieces[MAX_PIECES]; // name NULL: no more
} stack;

static void each_piece(const vkf_template_body *body, const void *user)
{
    const stack *s = user;
    double at_ns = 0;
    for (const piece *p = s->pieces; p < s->pieces + MAX_PIECES && p->name; p++) {
        const vkf_slot slots[] = {
            {"class", .text = p->class},
            {"name", .text = p->name},
            {"ms", .number = p->ns * 1e-6},
            {"x", .number = 100 * at_ns / s->whole_ns},
            {"percent", .number = 100 * p->ns / s->whole_ns},
            {0},
        };
        vkf_template_body_write(body, slots, NULL);
        at_ns += p->ns;
    }
}

// Medians of parts may add up to more than the median of the whole.
static void write_stack(const vkf_template_body *body, const vkf_profile_page *page, stack *s)
{
    const vkf_slot slots[] = {{"title", .text = s->title}, {"pieces", .each = each_piece}, {0}};
    for (size_t i = 0; i < MAX_PIECES; i++)
        s->whole_ns += s->pieces[i].ns;
    if (s->whole_ns < page->wall_ns)
        s->whole_ns = page->wall_ns;
    if (s->whole_ns > 0)
        vkf_template_body_write(body, slots, s);
}

static double positive(double value)
{
    return value > 0 ? value : 0;
}

void vkf_page_stacks(const vkf_template_body *body, const void *user)
{
    const vkf_profile_page *page = user;
    double write = sum_of(page, "update_ns"), submit = sum_of(page, "submit_ns"), wait = sum_of(page, "wait_ns");
    stack host = {
        .title = "Host",
        .pieces =
            {
                {"write", "write sizes and parameters", write},
                {"submit", "submit", submit},
                {"wait", "wait for the device", wait},
                {"other", "everything else", positive(page->wall_ns - write - submit - wait)},
            },
    };
    stack device = {
        .title = "Device",
        .pieces =
            {
                {"busy", "dispatches", page->gpu_ns},
                {"idle", "idle", positive(page->wall_ns - page->gpu_ns)},
            },
    };
    write_stack(body, page, &host);
    if (page->timestamps)
        write_stack(body, page, &device);
}

void vkf_page_submissions(const vkf_template_body *body, const void *user)
{
    const vkf_profile_page *page = user;
    const json_t *submission, *submissions = json_object_get(page->document, "submissions");
    size_t i;
    json_array_foreach(submissions, i, submission)
    {
        const vkf_slot slots[] = {
            {"name", .data = vkf_page_string(submission, "name")},
            {"calls", .number = vkf_page_number(submission, "calls")},
            {"write_ms", .number = vkf_page_median(submission, "update_ns") * 1e-6},
            {"submit_ms", .number = vkf_page_median(submission, "submit_ns") * 1e-6},
            {"wait_ms", .number = vkf_page_median(submission, "wait_ns") * 1e-6},
            {"gpu_ms", .number = vkf_page_median(submission, "gpu_ns") * 1e-6},
            {0},
        };
        vkf_template_body_write(body, slots, page);
    }
}
