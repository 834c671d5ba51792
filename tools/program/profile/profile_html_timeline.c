// The timeline of the last run: what the host did, and the dispatches on the device.
#include <math.h>
#include <string.h>

#include "profile/profile_output.h"
#include "profile/profile_page.h"

#define FIRST_SUBMISSIONS 32u
#define LEAST_WIDTH 0.0005 // of the picture's width; about half a pixel of a wide page
#define HOST_TOP 18.0
#define DEVICE_TOP 68.0
#define LANE_HEIGHT 26.0
#define AXIS_TOP 100.0

// The rectangles of a lane come in the order of time. Those that are too narrow to be visible are merged.
typedef struct lane {
    const vkf_profile_page *page;
    double begin_ns, span_ns; // of the picture
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
    FILE *out = l->page->out;
    if (l->count == 0)
        return;
    fprintf(out, "<rect class=\"%s\" x=\"%.3f%%\" y=\"%g\" width=\"%.3f%%\" height=\"%g\"><title>", l->class,
            100 * (l->from_ns - l->begin_ns) / l->span_ns, l->top, 100 * (l->to_ns - l->from_ns) / l->span_ns,
            LANE_HEIGHT);
    if (l->count > 1)
        fprintf(out, "%zu, the longest of them ", l->count);
    vkf_page_text(l->page, l->part);
    fputc(' ', out);
    vkf_page_text(l->page, l->name);
    fprintf(out, ": %.4f ms</title></rect>\n", l->busy_ns * 1e-6);
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

// Writes ticks at 1, 2 or 5 times a power of ten, five at most.
static void write_time_axis(FILE *out, double span_ns)
{
    double power = pow(10, floor(log10(span_ns / 4))), step_ns = power;
    for (int i = 0; span_ns / step_ns > 4 && i < 3; i++)
        step_ns = power * (i == 0 ? 2 : i == 1 ? 5 : 10);
    fprintf(out, "<line class=\"grid\" x1=\"0\" x2=\"100%%\" y1=\"%g\" y2=\"%g\"/>\n", AXIS_TOP, AXIS_TOP);
    for (int i = 0; i * step_ns <= span_ns; i++) {
        double percent = 100 * i * step_ns / span_ns;
        fprintf(out, "<line class=\"grid\" x1=\"%.3f%%\" x2=\"%.3f%%\" y1=\"%g\" y2=\"%g\"/>", percent, percent,
                AXIS_TOP, AXIS_TOP + 5);
        fprintf(out, "<text x=\"%.3f%%\" y=\"%g\" text-anchor=\"%s\">%g%s</text>\n", percent, AXIS_TOP + 18,
                i == 0         ? "start"
                : percent > 92 ? "end"
                               : "middle",
                i * step_ns * 1e-6, i == 0 ? " ms" : "");
    }
}

// Writes `count` submissions from `first` on, in their real order and distance.
static void write_lanes(const vkf_profile_page *page, const json_t *timeline, size_t first, size_t count)
{
    double begin_ns = vkf_page_number(json_array_get(timeline, first), "begin_ns"), end_ns = begin_ns;
    for (size_t i = first; i < first + count; i++)
        end_ns = fmax(end_ns, end_of(json_array_get(timeline, i)));
    if (end_ns <= begin_ns)
        return;
    lane host = {.page = page, .begin_ns = begin_ns, .span_ns = end_ns - begin_ns, .top = HOST_TOP}, device = host;
    device.top = DEVICE_TOP;
    fprintf(page->out,
            "<svg class=\"lanes\" role=\"img\" aria-label=\"Timeline of host and device\" style=\"height: %gpx\">\n"
            "<text x=\"0\" y=\"%g\">host</text>\n",
            AXIS_TOP + 24, HOST_TOP - 5);
    for (size_t i = first; i < first + count; i++)
        add_host(&host, json_array_get(timeline, i));
    draw(&host);
    fprintf(page->out, "<text x=\"0\" y=\"%g\">%s</text>\n", DEVICE_TOP - 5,
            page->timestamps ? "device" : "device: it has no timestamps");
    for (size_t i = first; page->timestamps && i < first + count; i++)
        add_device(&device, json_array_get(timeline, i));
    draw(&device);
    write_time_axis(page->out, end_ns - begin_ns);
    fputs("</svg>\n", page->out);
}

static void write_timeline_key(const vkf_profile_page *page)
{
    fputs("<ul class=\"key-list\">\n<li>host:</li>\n<li><i class=\"key write\"></i>write sizes and parameters</li>\n"
          "<li><i class=\"key submit\"></i>submit</li>\n<li><i class=\"key wait\"></i>wait</li>\n</ul>\n",
          page->out);
    if (!page->timestamps)
        return;
    fputs("<ul class=\"key-list\">\n<li>device:</li>\n", page->out);
    for (size_t i = 0; i < page->ops.count && i < VKF_PAGE_COLOURED; i++) {
        fprintf(page->out, "<li><i class=\"key %s\"></i>%zu ", vkf_page_colour(i), i + 1);
        vkf_page_op(page, &page->ops.list[i]);
        fputs("</li>\n", page->out);
    }
    if (page->ops.count > VKF_PAGE_COLOURED)
        fputs("<li><i class=\"key c0\"></i>others</li>\n", page->out);
    fputs("</ul>\n", page->out);
}

// Writes the last submission of each name, each in a picture of its own.
static void write_last_of_each(const vkf_profile_page *page, const json_t *timeline)
{
    const json_t *submission, *submissions = json_object_get(page->document, "submissions");
    size_t i;
    json_array_foreach(submissions, i, submission)
    {
        const char *name = vkf_page_string(submission, "name");
        size_t at = json_array_size(timeline);
        while (at > 0 && strcmp(vkf_page_string(json_array_get(timeline, at - 1), "name"), name) != 0)
            at--;
        if (at == 0)
            continue;
        fputs("<h3>The last submission of ", page->out);
        vkf_page_text(page, name);
        fputs("</h3>\n", page->out);
        write_lanes(page, timeline, at - 1, 1);
    }
}

static void write_clocks(const vkf_profile_page *page, const json_t *submission)
{
    const json_t *deviation_ns = json_object_get(submission, "gpu_deviation_ns");
    if (json_is_number(deviation_ns))
        fprintf(page->out, "The device's clock was read together with the host's, to %.3g us.</p>\n",
                json_number_value(deviation_ns) * 1e-3);
    else
        fputs("The two clocks are not the same: dispatches are drawn so that they end when the host knew of their "
              "end.</p>\n",
              page->out);
}

void vkf_page_timeline(const void *user)
{
    const vkf_profile_page *page = user;
    const json_t *timeline = json_object_get(page->document, "timeline");
    size_t count = json_array_size(timeline), drawn = count < FIRST_SUBMISSIONS ? count : FIRST_SUBMISSIONS;
    if (count == 0) {
        fputs("<p>Nothing was submitted.</p>\n", page->out);
        return;
    }
    fputs("<p>The last run, ", page->out);
    if (drawn < count)
        fprintf(page->out, "the first %zu of %zu submissions", drawn, count);
    else if (count > 1)
        fprintf(page->out, "all %zu submissions", count);
    else
        fputs("which was one submission", page->out);
    fputs(". What would be narrower than half a pixel is drawn as one with its neighbours, in the colour of the "
          "longest. ",
          page->out);
    write_clocks(page, json_array_get(timeline, 0));
    write_lanes(page, timeline, 0, drawn);
    write_timeline_key(page);
    if (count > 1)
        write_last_of_each(page, timeline);
}
