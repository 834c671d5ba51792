// vkformer profile: measures how long each dispatch of a run takes, and how far it is from the device's roofs.
#include <stdlib.h>

#include "base/host.h"
#include "command/commands.h"
#include "command/model_path.h"
#include "command/session_context.h"
#include "dump/dump.h"
#include "dump/number_check.h"
#include "lab/profile/profile_options.h"
#include "measure/measured_roofs.h"
#include "measure/sample_stats.h"
#include "output/file_output.h"
#include "output/json_output.h"
#include "output/progress.h"

// Running ----------------------------------------------------------------------------------------------------------

// The same model in a context of its own, without timestamps and without a profiler.
typedef struct bare {
    vkf_context *context;
    vkf_profile_subject subject;
    double *wall_ns; // (repetitions)
    uint32_t kept;
} bare;

static vkf_status bare_begin(const vkf_profile_options *options, bare *b)
{
    vkf_common_options common = options->common;
    if (!options->overhead)
        return VKF_OK;
    common.timestamps = false;
    vkf_status status = vkf_open_context(&common, &b->context);
    if (status != VKF_OK)
        return status;
    b->wall_ns = calloc(options->repetitions, sizeof *b->wall_ns);
    if (!b->wall_ns)
        return VKF_ERROR_OUT_OF_HOST_MEMORY;
    return vkf_profile_subject_begin(b->context, &options->subject, &b->subject);
}

static void bare_end(bare *b)
{
    vkf_profile_subject_end(&b->subject);
    vkf_context_destroy(&b->context);
    free(b->wall_ns);
}

static vkf_status bare_run(const vkf_profile_options *options, bare *b, bool keep)
{
    if (!options->overhead)
        return VKF_OK;
    double started_ms = vkf_now_ms();
    vkf_status status = vkf_profile_subject_run(&b->subject);
    if (keep)
        b->wall_ns[b->kept++] = (vkf_now_ms() - started_ms) * 1e6;
    return status;
}

// What is run.
typedef struct runs {
    const vkf_profile_options *options;
    vkf_profile_subject *subject;
    vkf_profile_record *record;
    bare *bare;
} runs;

static vkf_status run_once(const runs *r, bool keep)
{
    vkf_profile_record_begin(r->record, keep);
    vkf_status status = vkf_profile_subject_run(r->subject);
    vkf_profile_record_end(r->record);
    return status == VKF_OK ? bare_run(r->options, r->bare, keep) : status;
}

static vkf_status warm(void *user, double *out_gpu_ns)
{
    const runs *r = user;
    vkf_status status = run_once(r, false);
    *out_gpu_ns = r->record->run_gpu_ns > 0 ? r->record->run_gpu_ns : -1.0;
    return status;
}

static vkf_status run_all(vkf_context *context, runs *r, vkf_settled *out_settled)
{
    const vkf_profile_options *options = r->options;
    const vkf_settle_work settling = {.context = context, .seconds = options->settle_s, .run = warm, .user = r};
    const uint32_t total = options->warmup + options->repetitions;
    vkf_progress progress = vkf_progress_start("profiling");
    vkf_status status = VKF_OK;
    for (uint32_t i = 0; i < options->warmup && status == VKF_OK; i++) {
        vkf_progress_show(&progress, i, total, NULL);
        status = run_once(r, false);
    }
    if (status == VKF_OK)
        status = vkf_settle(&settling, out_settled);
    for (uint32_t i = options->warmup; i < total && status == VKF_OK; i++) {
        vkf_progress_show(&progress, i, total, NULL);
        status = run_once(r, true);
    }
    vkf_progress_end(&progress);
    if (status == VKF_OK && r->record->exhausted)
        status = VKF_ERROR_OUT_OF_HOST_MEMORY;
    if (status != VKF_OK)
        vkf_print_error("the run failed: %s", vkf_status_text(status));
    return status;
}

// Output -------------------------------------------------------------------------------------------------------------

static bool write_to(FILE *out, const json_t *document, vkf_profile_format format, vkf_profile_by by)
{
    json_t *trace = NULL;
    bool done = true;
    switch (format) {
    case VKF_PROFILE_AS_TABLE:
    case VKF_PROFILE_FORMATS:
        return vkf_profile_print_table(out, document, by);
    case VKF_PROFILE_AS_CSV:
        vkf_profile_print_csv(out, document);
        return true;
    case VKF_PROFILE_AS_HTML:
        return vkf_profile_print_html(out, document);
    case VKF_PROFILE_AS_TRACE:
        trace = vkf_profile_trace(document);
        done = vkf_write_json(trace, out, JSON_COMPACT | JSON_REAL_PRECISION(12));
        json_decref(trace);
        break;
    case VKF_PROFILE_AS_JSON:
        done = vkf_write_json(document, out, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
        break;
    }
    fputc('\n', out);
    if (!done && !ferror(out)) // whoever opened the stream reports its errors
        vkf_print_error("memory is exhausted");
    return done;
}

typedef struct profile_file {
    const json_t *document;
    vkf_profile_format format;
} profile_file;

static bool write_file(FILE *out, const void *user)
{
    const profile_file *file = user;
    return write_to(out, file->document, file->format, VKF_PROFILE_BY_OP);
}

static bool put_out(const vkf_profile_options *options, const json_t *document)
{
    bool done = write_to(stdout, document, options->format, options->by);
    for (int i = 0; i < VKF_PROFILE_FORMATS; i++)
        if (options->files[i]) {
            const profile_file file = {document, (vkf_profile_format)i};
            done = vkf_write_stream(options->files[i], write_file, &file) && done;
        }
    return done;
}

static bool report(const vkf_context *context, const runs *r, const vkf_measured_roofs *roofs, vkf_settled settled)
{
    const vkf_profile_options *options = r->options;
    vkf_profile_facts facts = {
        .subject = vkf_profile_subject_json(r->subject),
        .memory = &r->subject->plan,
        .roofs = options->no_roof ? NULL : &roofs->roofs,
        .roofs_settled = roofs->settled,
        .warmup = options->warmup,
        .settled = settled,
        .untimed_wall_ns = options->overhead ? vkf_median(r->bare->wall_ns, options->repetitions) : -1.0,
    };
    vkf_context_get_device_info(context, &facts.device);
    facts.counter_count = vkf_context_get_counters(context, &facts.counters);
    json_t *document = vkf_profile_document(r->record, &facts);
    bool done = document && put_out(options, document);
    json_decref(document);
    return done;
}

static bool profile_in(const vkf_profile_options *options, vkf_context *context, vkf_profile_subject *subject,
                       vkf_profile_record *record, bare *b)
{
    vkf_measured_roofs roofs = {0};
    vkf_settled settled = VKF_SETTLED_UNKNOWN;
    runs r = {options, subject, record, b};
    const vkf_profiler profiler = vkf_profile_record_profiler(record);
    const vkf_counter *counters;
    record->counter_count = vkf_context_get_counters(context, &counters);
    return (options->no_roof || vkf_measure_settled_roofs(context, options->settle_s, &roofs) == VKF_OK) &&
           vkf_profile_subject_begin(context, &options->subject, subject) == VKF_OK &&
           bare_begin(options, b) == VKF_OK && vkf_context_set_profiler(context, &profiler) == VKF_OK &&
           run_all(context, &r, &settled) == VKF_OK && report(context, &r, &roofs, settled);
}

static bool profile(const vkf_profile_options *options)
{
    vkf_context *context = NULL;
    vkf_profile_subject subject = {0};
    vkf_profile_record record;
    bare b = {0};
    bool done = vkf_profile_record_init(&record, options->repetitions);
    if (!done)
        vkf_print_error("memory for %u runs is exhausted", options->repetitions);
    done = done && vkf_open_context(&options->common, &context) == VKF_OK &&
           profile_in(options, context, &subject, &record, &b);
    bare_end(&b);
    vkf_profile_subject_end(&subject);
    vkf_context_destroy(&context);
    vkf_profile_record_free(&record);
    return done;
}

static bool begin_dump(const vkf_profile_options *options, vkf_common_options *common)
{
    return !options->dump_path || vkf_dump_begin(options->dump_path, options->subject.directory,
                                                 vkf_message_log_receive, common->messages, &common->dump);
}

static bool dump_input(const vkf_profile_subject *subject, vkf_dump *dump)
{
    uint32_t batch, length;
    const int32_t *ids = subject->kind->ids(subject->state, &batch, &length);
    return !dump || vkf_dump_write_ids(dump, ids, batch, length);
}

// Runs without measuring: every dispatch is waited for, and its results are read.
static int probe(const vkf_profile_options *options)
{
    vkf_context *context = NULL;
    vkf_profile_subject subject = {0};
    vkf_number_check check = {0};
    vkf_status status = VKF_OK;
    int code = VKF_EXIT_FAILED;
    vkf_common_options common = options->common;
    common.numbers = options->check_numbers ? &check : NULL;
    if (!begin_dump(options, &common))
        goto fail;
    VKF_TRY(vkf_open_context(&common, &context));
    VKF_TRY(vkf_profile_subject_begin(context, &options->subject, &subject));
    if (!dump_input(&subject, common.dump))
        goto fail;
    status = vkf_profile_subject_run(&subject);
    if (status == VKF_ERROR_NOT_FINITE && check.found)
        status = VKF_OK; // a check that finds something has done its work
    if (check.exhausted)
        status = VKF_ERROR_OUT_OF_HOST_MEMORY;
    if (status != VKF_OK)
        vkf_print_error("the run failed: %s", vkf_status_text(status));
    else if (options->check_numbers)
        vkf_number_check_print(stdout, &check);
    if (status == VKF_OK)
        code = check.found ? VKF_EXIT_BEYOND : VKF_EXIT_DONE;
fail:
    if (!vkf_dump_end(&common.dump, code != VKF_EXIT_FAILED))
        code = VKF_EXIT_FAILED;
    vkf_number_check_free(&check);
    vkf_profile_subject_end(&subject);
    vkf_context_destroy(&context);
    return code;
}

static void warn_of_unsettled(const char *path, const json_t *document)
{
    if (json_is_false(json_object_get(document, "settled")))
        vkf_print_warning("'%s': the device's clock had not settled, so its times say little", path);
}

static int diff(const vkf_profile_options *options)
{
    json_t *before = vkf_profile_document_read(options->paths[0]);
    json_t *after = before ? vkf_profile_document_read(options->paths[1]) : NULL;
    bool done = after != NULL, passes = true;
    if (after) {
        warn_of_unsettled(options->paths[0], before);
        warn_of_unsettled(options->paths[1], after);
        passes = vkf_profile_print_diff(stdout, before, after, (double)options->fail_above / 100, &done);
    }
    json_decref(before);
    json_decref(after);
    return !done ? VKF_EXIT_FAILED : passes ? VKF_EXIT_DONE : VKF_EXIT_BEYOND;
}

static int run_command(void *user)
{
    vkf_profile_options *options = user;
    if (options->diff)
        return diff(options);
    if (options->subject.directory && !vkf_find_model(&options->subject.directory))
        return VKF_EXIT_FAILED;
    bool probed = options->check_numbers || options->dump_path;
    return probed ? probe(options) : profile(options) ? VKF_EXIT_DONE : VKF_EXIT_FAILED;
}

int vkf_cmd_profile(int argc, char **argv)
{
    return vkf_profile_run_with_options(argc, argv, run_command);
}
