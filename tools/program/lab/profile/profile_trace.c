// Writes Chrome's trace-event format: https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
#include "lab/profile/profile_output.h"
#include "output/json_output.h"

enum { PROCESS = 1, HOST_TRACK = 1, DEVICE_TRACK = 2 };

static double number(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

// Names a process or a track.
static json_t *name_event(const char *what, int track, const char *name)
{
    json_t *event = json_object(), *args = json_object();
    vkf_json_put_string(event, "name", what);
    vkf_json_put_string(event, "ph", "M");
    vkf_json_put_integer(event, "pid", PROCESS);
    vkf_json_put_integer(event, "tid", (uint64_t)track);
    vkf_json_put_string(args, "name", name);
    json_object_set_new(event, "args", args);
    return event;
}

// A complete event; its times are in microseconds.
static json_t *span_event(const char *name, const char *category, int track, double begin_ns, double ns)
{
    json_t *event = json_object();
    vkf_json_put_string(event, "name", name);
    vkf_json_put_string(event, "cat", category);
    vkf_json_put_string(event, "ph", "X");
    vkf_json_put_real(event, "ts", begin_ns * 1e-3);
    vkf_json_put_real(event, "dur", ns * 1e-3);
    vkf_json_put_integer(event, "pid", PROCESS);
    vkf_json_put_integer(event, "tid", (uint64_t)track);
    return event;
}

static void add_host(json_t *events, const json_t *submission)
{
    const char *name = json_string_value(json_object_get(submission, "name"));
    static const struct {
        const char *key, *name;
    } spans[] = {{"update_ns", "write sizes"}, {"submit_ns", "submit"}, {"wait_ns", "wait"}};
    double at_ns = number(submission, "begin_ns"), whole_ns = 0;
    for (size_t i = 0; i < sizeof spans / sizeof spans[0]; i++)
        whole_ns += number(submission, spans[i].key);
    json_array_append_new(events, span_event(name, "submission", HOST_TRACK, at_ns, whole_ns));
    for (size_t i = 0; i < sizeof spans / sizeof spans[0]; i++) {
        double ns = number(submission, spans[i].key);
        json_array_append_new(events, span_event(spans[i].name, "host", HOST_TRACK, at_ns, ns));
        at_ns += ns;
    }
}

static json_t *dispatch_event(const json_t *dispatch, const json_t *row, double begin_ns)
{
    static const char *const copied[] = {"flops", "bytes_read", "bytes_written"};
    json_t *args = json_object();
    json_t *event =
        span_event(json_string_value(json_object_get(row, "label")), json_string_value(json_object_get(row, "part")),
                   DEVICE_TRACK, begin_ns + number(dispatch, "begin_ns"), number(dispatch, "gpu_ns"));
    json_object_set(args, "part", json_object_get(row, "part"));
    json_object_set(args, "kernel", json_object_get(row, "kernel"));
    json_object_set(args, "config", json_object_get(row, "config"));
    for (size_t i = 0; i < sizeof copied / sizeof copied[0]; i++)
        json_object_set(args, copied[i], json_object_get(dispatch, copied[i]));
    json_object_set_new(event, "args", args);
    return event;
}

// Where the two clocks could not be read together, a submission's dispatches are drawn as late as possible: they end
// when the host knew that they had ended, but never begin before they were submitted.
double vkf_profile_device_begin_ns(const json_t *submission)
{
    const json_t *begin_ns = json_object_get(submission, "gpu_begin_ns");
    if (json_is_number(begin_ns))
        return json_number_value(begin_ns);
    double submitted_ns = number(submission, "begin_ns") + number(submission, "update_ns");
    double latest_ns =
        submitted_ns + number(submission, "submit_ns") + number(submission, "wait_ns") - number(submission, "gpu_ns");
    return latest_ns > submitted_ns ? latest_ns : submitted_ns;
}

static void add_device(json_t *events, const json_t *submission, const json_t *rows)
{
    const json_t *dispatch, *dispatches = json_object_get(submission, "dispatches");
    size_t i;
    double begin_ns = vkf_profile_device_begin_ns(submission);
    json_array_foreach(dispatches, i, dispatch)
    {
        const json_t *row = json_array_get(rows, (size_t)json_integer_value(json_object_get(dispatch, "dispatch")));
        json_array_append_new(events, dispatch_event(dispatch, row, begin_ns));
    }
}

json_t *vkf_profile_trace(const json_t *document)
{
    const json_t *submission, *timeline = json_object_get(document, "timeline");
    const char *device = json_string_value(json_object_get(json_object_get(document, "device"), "name"));
    size_t i;
    json_t *trace = json_object(), *events = json_array();
    json_array_append_new(events, name_event("process_name", HOST_TRACK, "vkformer"));
    json_array_append_new(events, name_event("thread_name", HOST_TRACK, "host"));
    json_array_append_new(events, name_event("thread_name", DEVICE_TRACK, device));
    json_array_foreach(timeline, i, submission)
    {
        add_host(events, submission);
        if (json_is_true(json_object_get(json_object_get(document, "device"), "timestamps")))
            add_device(events, submission, json_object_get(document, "dispatches"));
    }
    vkf_json_put_string(trace, "displayTimeUnit", "ms");
    json_object_set_new(trace, "traceEvents", events);
    return trace;
}
