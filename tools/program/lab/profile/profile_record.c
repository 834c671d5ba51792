// Receives the profiler's callbacks, and sums up runs.
#include "lab/profile/profile_record.h"

#include <stdlib.h>
#include <string.h>

#include "output/progress.h"

static bool grow(void **array, size_t element_bytes, size_t count, size_t *capacity)
{
    if (count < *capacity)
        return true;
    size_t wanted = *capacity > 0 ? 2 * *capacity : 64;
    void *grown = realloc(*array, wanted * element_bytes);
    if (!grown)
        return false;
    *array = grown;
    *capacity = wanted;
    return true;
}

// Makes room for one more element in an array of the record. False, with the record marked, when memory is exhausted.
#define GROW(record, array, count, capacity)                                                                \
    ((record)->exhausted = (record)->exhausted || !grow((void **)&(record)->array, sizeof *(record)->array, \
                                                        (record)->count, &(record)->capacity),              \
     !(record)->exhausted)

bool vkf_profile_record_init(vkf_profile_record *record, uint32_t runs)
{
    *record = (vkf_profile_record){.runs = runs};
    record->wall_ns = calloc(runs, sizeof *record->wall_ns);
    return record->wall_ns != NULL;
}

static void free_row(vkf_profile_row *row)
{
    free(row->submission);
    free(row->part);
    free(row->label);
    free(row->kernel);
    free(row->config);
    free(row->gpu_ns);
    free(row->counters);
}

static void free_phase(vkf_profile_phase *phase)
{
    free(phase->name);
    free(phase->update_ns);
    free(phase->submit_ns);
    free(phase->wait_ns);
    free(phase->gpu_ns);
}

void vkf_profile_record_free(vkf_profile_record *record)
{
    for (size_t i = 0; i < record->row_count; i++)
        free_row(&record->rows[i]);
    for (size_t i = 0; i < record->phase_count; i++)
        free_phase(&record->phases[i]);
    free(record->rows);
    free(record->phases);
    free(record->submissions);
    free(record->events);
    free(record->wall_ns);
    *record = (vkf_profile_record){0};
}

static vkf_profile_phase *find_phase(vkf_profile_record *record, const char *name)
{
    for (size_t i = 0; i < record->phase_count; i++)
        if (strcmp(record->phases[i].name, name) == 0)
            return &record->phases[i];
    if (!GROW(record, phases, phase_count, phase_capacity))
        return NULL;
    vkf_profile_phase phase = {
        .name = strdup(name),
        .update_ns = calloc(record->runs, sizeof(double)),
        .submit_ns = calloc(record->runs, sizeof(double)),
        .wait_ns = calloc(record->runs, sizeof(double)),
        .gpu_ns = calloc(record->runs, sizeof(double)),
    };
    if (!phase.name || !phase.update_ns || !phase.submit_ns || !phase.wait_ns || !phase.gpu_ns) {
        record->exhausted = true;
        free_phase(&phase);
        return NULL;
    }
    record->phases[record->phase_count] = phase;
    return &record->phases[record->phase_count++];
}

static bool is_row(const vkf_profile_row *row, const char *submission, const vkf_dispatch_profile *dispatch)
{
    return strcmp(row->label, dispatch->label) == 0 && strcmp(row->part, dispatch->part) == 0 &&
           strcmp(row->submission, submission) == 0 && strcmp(row->kernel, dispatch->kernel) == 0 &&
           strcmp(row->config, dispatch->config) == 0;
}

static vkf_profile_row *add_row(vkf_profile_record *record, const char *submission,
                                const vkf_dispatch_profile *dispatch)
{
    if (!GROW(record, rows, row_count, row_capacity))
        return NULL;
    vkf_profile_row row = {
        .submission = strdup(submission),
        .part = strdup(dispatch->part),
        .label = strdup(dispatch->label),
        .kernel = strdup(dispatch->kernel),
        .config = strdup(dispatch->config),
        .gpu_ns = calloc(record->runs, sizeof(double)),
        .counters = calloc((size_t)record->counter_count + 1, sizeof(double)),
    };
    if (!row.submission || !row.part || !row.label || !row.kernel || !row.config || !row.gpu_ns || !row.counters) {
        record->exhausted = true;
        free_row(&row);
        return NULL;
    }
    record->rows[record->row_count] = row;
    return &record->rows[record->row_count++];
}

// Dispatches repeat in the same order, so the search begins after the last one found.
static vkf_profile_row *find_row(vkf_profile_record *record, const char *submission,
                                 const vkf_dispatch_profile *dispatch)
{
    for (size_t i = 0; i < record->row_count; i++) {
        size_t at = (record->next_row + i) % record->row_count;
        if (is_row(&record->rows[at], submission, dispatch)) {
            record->next_row = at + 1;
            return &record->rows[at];
        }
    }
    record->next_row = 0;
    return add_row(record, submission, dispatch);
}

static bool is_last_run(const vkf_profile_record *record)
{
    return record->run + 1 == record->runs;
}

static void take_submission(void *user, const vkf_submission_profile *submission)
{
    vkf_profile_record *record = user;
    record->run_gpu_ns += submission->gpu_ns;
    vkf_profile_phase *phase = record->recording ? find_phase(record, submission->name) : NULL;
    if (!phase)
        return;
    phase->calls++;
    phase->update_ns[record->run] += submission->update_ns;
    phase->submit_ns[record->run] += submission->submit_ns;
    phase->wait_ns[record->run] += submission->wait_ns;
    phase->gpu_ns[record->run] += submission->gpu_ns;
    // Recorded in every run, because its dispatches need its name.
    if (!GROW(record, submissions, submission_count, submission_capacity))
        return;
    record->submissions[record->submission_count++] = (vkf_profile_submission){
        .phase = (uint32_t)(phase - record->phases),
        .begin_ns = submission->begin_ns,
        .update_ns = submission->update_ns,
        .submit_ns = submission->submit_ns,
        .wait_ns = submission->wait_ns,
        .gpu_ns = submission->gpu_ns,
        .gpu_begin_ns = submission->gpu_begin_ns,
        .gpu_deviation_ns = submission->gpu_deviation_ns,
        .first_event = record->event_count,
    };
}

static void add_event(vkf_profile_record *record, uint32_t row, const vkf_dispatch_profile *dispatch)
{
    if (!is_last_run(record) || !GROW(record, events, event_count, event_capacity))
        return;
    record->submissions[record->submission_count - 1].event_count++;
    record->events[record->event_count++] = (vkf_profile_event){
        .row = row,
        .begin_ns = dispatch->begin_ns,
        .gpu_ns = dispatch->gpu_ns,
        .flops = dispatch->flops,
        .bytes_read = dispatch->bytes_read,
        .bytes_written = dispatch->bytes_written,
    };
}

static void take_dispatch(void *user, const vkf_dispatch_profile *dispatch)
{
    vkf_profile_record *record = user;
    if (!record->recording || record->submission_count == 0)
        return;
    const vkf_profile_submission *last = &record->submissions[record->submission_count - 1];
    vkf_profile_row *row = find_row(record, record->phases[last->phase].name, dispatch);
    if (!row)
        return;
    row->calls++;
    memcpy(row->workgroups, dispatch->workgroups, sizeof row->workgroups);
    row->flops += dispatch->flops;
    row->bytes_read += dispatch->bytes_read;
    row->bytes_written += dispatch->bytes_written;
    row->gpu_ns[record->run] += dispatch->gpu_ns;
    for (uint32_t i = 0; dispatch->counters && i < record->counter_count; i++)
        row->counters[i] += dispatch->counters[i];
    row->counted += dispatch->counters != NULL;
    add_event(record, (uint32_t)(row - record->rows), dispatch);
}

vkf_profiler vkf_profile_record_profiler(vkf_profile_record *record)
{
    return (vkf_profiler){take_submission, take_dispatch, record};
}

void vkf_profile_record_begin(vkf_profile_record *record, bool keep)
{
    record->recording = keep && record->run < record->runs;
    record->run_gpu_ns = 0;
    record->submission_count = record->event_count = 0;
    for (size_t i = 0; i < record->row_count; i++) {
        vkf_profile_row *row = &record->rows[i];
        row->calls = row->counted = 0;
        memset(row->counters, 0, record->counter_count * sizeof *row->counters);
        row->flops = row->bytes_read = row->bytes_written = 0;
    }
    for (size_t i = 0; i < record->phase_count; i++)
        record->phases[i].calls = 0;
    record->started_ns = vkf_now_ms() * 1e6;
}

void vkf_profile_record_end(vkf_profile_record *record)
{
    if (record->recording)
        record->wall_ns[record->run++] = vkf_now_ms() * 1e6 - record->started_ns;
    record->recording = false;
}
