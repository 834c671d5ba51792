// The timeline of the last run: what the host did, and the dispatches on the device.
#include <math.h>
#include <string.h>

#include "embedded_templates.h"
#include "lab/profile/profile_output.h"
#include "lab/profile/profile_page.h"

#define FIRST_SUBMISSIONS 32u
#define LEAST_WIDTH 0.0005 // of the picture's width; about half a pixel of a wide page
#define HOST_TOP 18.0
#define DEVICE_TOP 68.0
#define LANE_HEIGHT 26.0
#define AXIS_TOP 100.0

// The rectangles of a lane come in the order of time. Those that are too narrow to be visible are merged.
typedef struct lane {
    const vkf_profile_page *page;
    const vkf_template_body *body; // of a rectangle
    double begin_ns, span_ns;      // of the picture
    double top;
    // The merged rectangle that is not drawn yet; count is 0 without one.
    size_t count;
    double from_ns, to_ns, busy_ns;
    // The longest of the merged rectangles.
    double longest_ns;
    const char *class, *part, *name;
} lane;

static void draw(lane *l)
{
    const vkf_slot slots[] = {
        {"class", .text = l->class},
        {"x", .number = 100 * (l->from_ns - l->begin_ns) / l->span_ns},
        {"y", .number = l->top},
        {"width", .number = 100 * (l->to_ns - l->from_ns) / l->span_ns},
        {"height", .number = LANE_HEIGHT},
        {"merged", .number = l->count > 1 ? (double)l->count : 0},
        {"part", .data = l->part},
        {"name", .data = l->name},
        {"ms", .number = l->busy_ns * 1e-6},
        {0},
    };
    if (l->count > 0)
        vkf_template_body_write(l->body, slots, NULL);
    l->count = 0;
}

static void add(lane *l, double begin_ns, double ns, const char *class, const char *part, const char *name)
{
    double least_ns = LEAST_WIDTH * l->span_ns;
    if (l->count > 0 && (l->to_ns - l->from_ns >= least_ns || begin_ns - l->to_ns >= least_ns))
        draw(l);
    if (l->count == 0) {
        l->from_ns = begin_ns;
        l->to_ns = begin_ns;
        l->busy_ns = 0;
        l->longest_ns = -1;
    }
    if (ns > l->longest_ns) {
        l->longest_ns = ns;
        l->class = class;
        l->part = part;
        l->name = name;
    }
    l->count++;
    l->busy_ns += ns;
    l->to_ns = fmax(l->to_ns, begin_ns + ns);
}

static void add_host(lane *l, const json_t *submission)
{
    static const struct {
        const char *key, *class;
    } spans[] = {{"update_ns", "write"}, {"submit_ns", "submit"}, {"wait_ns", "wait"}};
    double at_ns = vkf_page_number(submission, "begin_ns");
    for (size_t i = 0; i < sizeof spans / sizeof spans[0]; i++) {
        double ns = fmax(0, vkf_page_number(submission, spans[i].key));
        add(l, at_ns, ns, spans[i].class, vkf_page_string(submission, "name"), spans[i].class);
        at_ns += ns;
    }
}

static void add_device(lane *l, const json_t *submission)
{
    const json_t *dispatch, *dispatches = json_object_get(submission, "dispatches");
    const json_t *rows = json_object_get(l->page->document, "dispatches");
    size_t i;
    double begin_ns = vkf_profile_device_begin_ns(submission);
    json_array_foreach(dispatches, i, dispatch)
    {
        size_t index = (size_t)json_integer_value(json_object_get(dispatch, "dispatch"));
        const json_t *row = json_array_get(rows, index);
        if (row)
            add(l, begin_ns + vkf_page_number(dispatch, "begin_ns"), fmax(0, vkf_page_number(dispatch, "gpu_ns")),
                vkf_page_colour(l->page->op_of_dispatch[index]), vkf_page_string(row, "part"),
                vkf_page_string(row, "label"));
    }
}

static double end_of(const json_t *submission)
{
    double host_ns = vkf_page_number(submission, "begin_ns") + vkf_page_number(submission, "update_ns") +
                     vkf_page_number(submission, "submit_ns") + vkf_page_number(submission, "wait_ns");
    return fmax(host_ns, vkf_profile_device_begin_ns(submission) + vkf_page_number(submission, "gpu_ns"));
}

// Submissions `first` to first + count - 1 of the last run, in their real order and distance.
typedef struct lanes {
    const vkf_profile_page *page;
    const json_t *timeline;
    size_t first, count;
    double begin_ns, span_ns;
} lanes;

static lane begin_lane(const lanes *l, const vkf_template_body *body, double top)
{
    return (lane){.page = l->page, .body = body, .begin_ns = l->begin_ns, .span_ns = l->span_ns, .top = top};
}

static void each_host_span(const vkf_template_body *body, const void *user)
{
    const lanes *l = user;
    lane host = begin_lane(l, body, HOST_TOP);
    for (size_t i = l->first; i < l->first + l->count; i++)
        add_host(&host, json_array_get(l->timeline, i));
    draw(&host);
}

static void each_device_span(const vkf_template_body *body, const void *user)
{
    const lanes *l = user;
    lane device = begin_lane(l, body, DEVICE_TOP);
    for (size_t i = l->first; l->page->timestamps && i < l->first + l->count; i++)
        add_device(&device, json_array_get(l->timeline, i));
    draw(&device);
}

// Writes ticks at 1, 2 or 5 times a power of ten, five at most.
static void each_tick(const vkf_template_body *body, const void *user)
{
    double span_ns = ((const lanes *)user)->span_ns, power = pow(10, floor(log10(span_ns / 4))), step_ns = power;
    for (int i = 0; span_ns / step_ns > 4 && i < 3; i++)
        step_ns = power * (i == 0 ? 2 : i == 1 ? 5 : 10);
    for (int i = 0; i * step_ns <= span_ns; i++) {
        double percent = 100 * i * step_ns / span_ns;
        const vkf_slot slots[] = {
            {"x", .number = percent},
            {"anchor", .text = i == 0         ? "start"
                               : percent > 92 ? "end"
                                              : "middle"},
            {"ms", .number = i * step_ns * 1e-6},
            {"unit", .text = i == 0 ? "ms" : NULL},
            {0},
        };
        vkf_template_body_write(body, slots, NULL);
    }
}

static void write_lanes(lanes l)
{
    double end_ns = l.begin_ns = vkf_page_number(json_array_get(l.timeline, l.first), "begin_ns");
    for (size_t i = l.first; i < l.first + l.count; i++)
        end_ns = fmax(end_ns, end_of(json_array_get(l.timeline, i)));
    l.span_ns = end_ns - l.begin_ns;
    const vkf_slot slots[] = {
        {"height", .number = AXIS_TOP + 24},
        {"host_y", .number = HOST_TOP - 5},
        {"host", .each = each_host_span},
        {"device_y", .number = DEVICE_TOP - 5},
        {"timestamps", .number = l.page->timestamps},
        {"device", .each = each_device_span},
        {"axis_y", .number = AXIS_TOP},
        {"tick_y", .number = AXIS_TOP + 5},
        {"label_y", .number = AXIS_TOP + 18},
        {"ticks", .each = each_tick},
        {0},
    };
    if (l.span_ns > 0)
        vkf_template_write(l.page->out, vkf_template_profile_lanes_html, slots, &l);
}

static void write_first_lanes(const void *user)
{
    const vkf_profile_page *page = user;
    const json_t *timeline = json_object_get(page->document, "timeline");
    size_t count = json_array_size(timeline);
    write_lanes((lanes){page, timeline, .count = count < FIRST_SUBMISSIONS ? count : FIRST_SUBMISSIONS});
}

static void write_one_of(const void *lanes_of_one)
{
    write_lanes(*(const lanes *)lanes_of_one);
}

// Writes the last submission of each name, each in a picture of its own.
static void each_last(const vkf_template_body *body, const void *user)
{
    const vkf_profile_page *page = user;
    const json_t *timeline = json_object_get(page->document, "timeline");
    const json_t *submission, *submissions = json_object_get(page->document, "submissions");
    size_t i;
    json_array_foreach(submissions, i, submission)
    {
        const char *name = vkf_page_string(submission, "name");
        const vkf_slot slots[] = {{"name", .data = name}, {"lanes", .part = write_one_of}, {0}};
        size_t at = json_array_size(timeline);
        while (at > 0 && strcmp(vkf_page_string(json_array_get(timeline, at - 1), "name"), name) != 0)
            at--;
        if (at > 0 && json_array_size(timeline) > 1)
            vkf_template_body_write(body, slots, &(lanes){page, timeline, .first = at - 1, .count = 1});
    }
}

static void each_coloured_op(const vkf_template_body *body, const void *page)
{
    vkf_page_write_ops(body, page, VKF_PAGE_COLOURED);
}

void vkf_page_timeline(const vkf_template_body *body, const void *user)
{
    const vkf_profile_page *page = user;
    const json_t *timeline = json_object_get(page->document, "timeline");
    const json_t *deviation_ns = json_object_get(json_array_get(timeline, 0), "gpu_deviation_ns");
    size_t count = json_array_size(timeline);
    const vkf_slot slots[] = {
        {"count", .number = (double)count},
        {"one", .number = count == 1},
        {"all", .number = count > 1 && count <= FIRST_SUBMISSIONS},
        {"first", .number = count > FIRST_SUBMISSIONS ? FIRST_SUBMISSIONS : 0},
        {"same_clock", .number = json_is_number(deviation_ns)},
        {"deviation_us", .number = json_number_value(deviation_ns) * 1e-3},
        {"lanes", .part = write_first_lanes},
        {"coloured_ops", .each = each_coloured_op},
        {"has_others", .number = page->ops.count > VKF_PAGE_COLOURED},
        {"last_of_each", .each = each_last},
        {0},
    };
    vkf_template_body_write(body, slots, page);
}
