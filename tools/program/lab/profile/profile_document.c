// Makes the JSON document of a profile, and reads it back.
#include "lab/profile/profile_document.h"

#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "command/options.h"
#include "input/input_text.h"
#include "io/json_file.h"
#include "measure/device_counters.h"
#include "measure/sample_stats.h"
#include "output/json_output.h"

// Below a tenth of both roofs, a dispatch's time is spent on starting, waiting and finishing.
#define LATENCY_BELOW 0.1

static json_t *list_of(const double *values, uint32_t count)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < count; i++)
        json_array_append_new(list, json_real(values[i]));
    return list;
}

// Puts the median, the interquartile range and the samples.
static void put_samples(json_t *object, const char *key, const double *values, uint32_t count)
{
    double sorted[VKF_PROFILE_MAX_RUNS];
    memcpy(sorted, values, count * sizeof *values);
    const vkf_summary summary = vkf_summarize(sorted, count);
    json_t *samples = json_object();
    vkf_json_put_real(samples, "median", summary.median);
    vkf_json_put_real(samples, "min", summary.min);
    vkf_json_put_real(samples, "max", summary.max);
    vkf_json_put_real(samples, "iqr", summary.iqr);
    json_object_set_new(samples, "runs", list_of(values, count));
    json_object_set_new(object, key, samples);
}

static double median_of(const double *values, uint32_t count)
{
    double sorted[VKF_PROFILE_MAX_RUNS];
    memcpy(sorted, values, count * sizeof *values);
    return vkf_median(sorted, count);
}

double vkf_profile_roof(const vkf_roofs *roofs, const vkf_bench_cost *cost, double gpu_ns, const char **out_bound)
{
    double fraction = vkf_bench_least_seconds(roofs, cost, out_bound) * 1e9 / gpu_ns;
    if (fraction < LATENCY_BELOW)
        *out_bound = "latency";
    return fraction;
}

static void put_roof(json_t *object, const vkf_roofs *roofs, const vkf_profile_row *row, double gpu_ns)
{
    const vkf_bench_cost cost = {row->flops, row->bytes_read, row->bytes_written};
    const char *bound = NULL;
    double fraction = roofs && gpu_ns > 0 ? vkf_profile_roof(roofs, &cost, gpu_ns, &bound) : -1.0;
    vkf_json_put_real(object, "roof_fraction", fraction);
    vkf_json_put_string(object, "bound", bound);
}

// The counters of a run: sums over its calls, or means, as the unit requires. Null where the device has not counted all
// calls.
static json_t *counters_of(const vkf_profile_row *row, const vkf_profile_facts *facts)
{
    json_t *list = json_array();
    if (row->counted < row->calls || facts->counter_count == 0) {
        json_decref(list);
        return json_null();
    }
    for (uint32_t i = 0; i < facts->counter_count; i++) {
        bool sums_up = vkf_counter_sums_up(facts->counters[i].unit);
        json_array_append_new(list, json_real(sums_up ? row->counters[i] : row->counters[i] / row->counted));
    }
    return list;
}

static json_t *dispatch_of(const vkf_profile_record *record, const vkf_profile_row *row, const vkf_profile_facts *facts)
{
    json_t *object = json_object(), *grid = json_array();
    vkf_json_put_string(object, "submission", row->submission);
    vkf_json_put_string(object, "part", row->part);
    vkf_json_put_string(object, "label", row->label);
    vkf_json_put_string(object, "kernel", row->kernel);
    vkf_json_put_string(object, "config", row->config);
    vkf_json_put_integer(object, "calls", row->calls);
    for (size_t i = 0; i < 3; i++)
        json_array_append_new(grid, json_integer(row->workgroups[i]));
    json_object_set_new(object, "workgroups", grid);
    put_samples(object, "gpu_ns", row->gpu_ns, record->runs);
    vkf_json_put_real(object, "flops", row->flops);
    vkf_json_put_real(object, "bytes_read", row->bytes_read);
    vkf_json_put_real(object, "bytes_written", row->bytes_written);
    put_roof(object, facts->roofs, row, median_of(row->gpu_ns, record->runs));
    json_object_set_new(object, "counters", counters_of(row, facts));
    return object;
}

static json_t *dispatches_of(const vkf_profile_record *record, const vkf_profile_facts *facts)
{
    json_t *list = json_array();
    for (size_t i = 0; i < record->row_count; i++)
        json_array_append_new(list, dispatch_of(record, &record->rows[i], facts));
    return list;
}

static json_t *submissions_of(const vkf_profile_record *record)
{
    json_t *list = json_array();
    for (size_t i = 0; i < record->phase_count; i++) {
        const vkf_profile_phase *phase = &record->phases[i];
        json_t *object = json_object();
        vkf_json_put_string(object, "name", phase->name);
        vkf_json_put_integer(object, "calls", phase->calls);
        put_samples(object, "update_ns", phase->update_ns, record->runs);
        put_samples(object, "submit_ns", phase->submit_ns, record->runs);
        put_samples(object, "wait_ns", phase->wait_ns, record->runs);
        put_samples(object, "gpu_ns", phase->gpu_ns, record->runs);
        json_array_append_new(list, object);
    }
    return list;
}

static json_t *event_of(const vkf_profile_event *event)
{
    json_t *object = json_object();
    vkf_json_put_integer(object, "dispatch", event->row);
    vkf_json_put_real(object, "begin_ns", event->begin_ns);
    vkf_json_put_real(object, "gpu_ns", event->gpu_ns);
    vkf_json_put_real(object, "flops", event->flops);
    vkf_json_put_real(object, "bytes_read", event->bytes_read);
    vkf_json_put_real(object, "bytes_written", event->bytes_written);
    return object;
}

// When the device began, on the host's clock; null where that is unknown.
static void put_gpu_begin(json_t *object, const vkf_profile_submission *submission, double origin_ns)
{
    bool known = submission->gpu_begin_ns > 0;
    json_object_set_new(object, "gpu_begin_ns", known ? json_real(submission->gpu_begin_ns - origin_ns) : json_null());
    json_object_set_new(object, "gpu_deviation_ns", known ? json_real(submission->gpu_deviation_ns) : json_null());
}

// The last run; its times count from its first submission.
static json_t *timeline_of(const vkf_profile_record *record)
{
    json_t *list = json_array();
    double origin_ns = record->submission_count > 0 ? record->submissions[0].begin_ns : 0;
    for (size_t i = 0; i < record->submission_count; i++) {
        const vkf_profile_submission *submission = &record->submissions[i];
        json_t *object = json_object(), *events = json_array();
        vkf_json_put_string(object, "name", record->phases[submission->phase].name);
        vkf_json_put_real(object, "begin_ns", submission->begin_ns - origin_ns);
        vkf_json_put_real(object, "update_ns", submission->update_ns);
        vkf_json_put_real(object, "submit_ns", submission->submit_ns);
        vkf_json_put_real(object, "wait_ns", submission->wait_ns);
        vkf_json_put_real(object, "gpu_ns", submission->gpu_ns);
        put_gpu_begin(object, submission, origin_ns);
        for (size_t e = 0; e < submission->event_count; e++)
            json_array_append_new(events, event_of(&record->events[submission->first_event + e]));
        json_object_set_new(object, "dispatches", events);
        json_array_append_new(list, object);
    }
    return list;
}

static json_t *device_of(const vkf_device_info *device)
{
    json_t *object = json_object();
    vkf_json_put_string(object, "name", device->name);
    vkf_json_put_string(object, "driver", device->driver_name);
    vkf_json_put_string(object, "driver_info", device->driver_info);
    json_object_set_new(object, "timestamps", json_boolean(device->timestamps));
    return object;
}

static json_t *counter_list_of(const vkf_profile_facts *facts)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < facts->counter_count; i++)
        json_array_append_new(list, vkf_counter_json(&facts->counters[i]));
    return list;
}

static json_t *memory_of(const vkf_memory_plan *plan)
{
    if (!plan)
        return json_null();
    json_t *object = json_object();
    vkf_json_put_integer(object, "weights_bytes", plan->weights_bytes);
    vkf_json_put_integer(object, "activations_bytes", plan->activations_bytes);
    vkf_json_put_integer(object, "cache_bytes", plan->cache_bytes);
    vkf_json_put_integer(object, "control_bytes", plan->control_bytes);
    return object;
}

static json_t *roofs_of(const vkf_roofs *roofs)
{
    if (!roofs)
        return json_null();
    json_t *object = json_object();
    vkf_json_put_real(object, "copy_bytes_per_s", roofs->copy_bytes_per_s);
    vkf_json_put_real(object, "read_bytes_per_s", roofs->read_bytes_per_s);
    vkf_json_put_real(object, "fma_flops_per_s", roofs->fma_flops_per_s);
    return object;
}

// Puts the date, such as "2026-11-22T20:15:00Z".
static void put_date(json_t *document)
{
    char text[32] = "";
    struct tm utc;
    if (vkf__calendar(time(NULL), &utc))
        strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
    vkf_json_put_string(document, "date", text);
}

json_t *vkf_profile_document(const vkf_profile_record *record, const vkf_profile_facts *facts)
{
    json_t *document = json_object();
    vkf_json_put_string(document, "schema", VKF_PROFILE_SCHEMA);
    vkf_json_put_integer(document, "version", VKF_PROFILE_SCHEMA_VERSION);
    put_date(document);
    json_object_set_new(document, "device", device_of(&facts->device));
    json_object_set_new(document, "subject", facts->subject);
    vkf_json_put_integer(document, "warmup", facts->warmup);
    json_object_set_new(document, "settled", vkf_settled_json(facts->settled));
    json_object_set_new(document, "roofs", roofs_of(facts->roofs));
    json_object_set_new(document, "roofs_settled", vkf_settled_json(facts->roofs_settled));
    json_object_set_new(document, "memory", memory_of(facts->memory));
    put_samples(document, "wall_ns", record->wall_ns, record->runs);
    vkf_json_put_real(document, "unprofiled_wall_ns", facts->untimed_wall_ns);
    json_object_set_new(document, "counters", counter_list_of(facts));
    json_object_set_new(document, "submissions", submissions_of(record));
    json_object_set_new(document, "dispatches", dispatches_of(record, facts));
    json_object_set_new(document, "timeline", timeline_of(record));
    return document;
}

// Reading one back -----------------------------------------------------------------------------------------------

static bool has_samples(const json_t *object, const char *key)
{
    const json_t *samples = json_object_get(object, key), *runs = json_object_get(samples, "runs");
    return json_is_number(json_object_get(samples, "median")) && json_array_size(runs) > 0 &&
           json_array_size(runs) <= VKF_PROFILE_MAX_RUNS;
}

// Finds a member of the document that is missing or of the wrong type; NULL when there is none.
static const char *wrong_member(const json_t *document)
{
    static const char *const texts[] = {"submission", "part", "label", "kernel", "config"};
    size_t i;
    const json_t *row, *dispatches = json_object_get(document, "dispatches");
    if (!has_samples(document, "wall_ns"))
        return "wall_ns";
    if (!json_is_array(dispatches))
        return "dispatches";
    json_array_foreach(dispatches, i, row)
    {
        for (size_t t = 0; t < sizeof texts / sizeof texts[0]; t++)
            if (!json_is_string(json_object_get(row, texts[t])))
                return texts[t];
        if (!has_samples(row, "gpu_ns"))
            return "gpu_ns";
    }
    return NULL;
}

json_t *vkf_profile_document_read(const char *path)
{
    json_error_t error;
    char *text = NULL;
    size_t bytes = 0;
    if (!vkf_read_input(path, VKF_JSON_MAX_BYTES, &text, &bytes))
        return NULL;
    json_t *document = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &error);
    free(text);
    if (!document) {
        vkf_print_error("'%s' cannot be read as JSON: line %d: %s", path, error.line, error.text);
        return NULL;
    }
    const char *schema = json_string_value(json_object_get(document, "schema"));
    json_int_t version = json_integer_value(json_object_get(document, "version"));
    const char *wrong = wrong_member(document);
    if (!schema || strcmp(schema, VKF_PROFILE_SCHEMA) != 0)
        vkf_print_error("'%s' is no profile: its schema is not %s", path, VKF_PROFILE_SCHEMA);
    else if (version != VKF_PROFILE_SCHEMA_VERSION)
        vkf_print_error("'%s' is a profile of version %lld, and this program reads %d", path, (long long)version,
                        VKF_PROFILE_SCHEMA_VERSION);
    else if (wrong)
        vkf_print_error("'%s': '%s' is missing or not what it should be", path, wrong);
    else
        return document;
    json_decref(document);
    return NULL;
}
