// Waits for saves of shaders, and compares the edited version with the last good one.
#include "lab/bench/bench_watch.h"

#include <signal.h>
#include <stdlib.h>

#include "command/commands.h"
#include "command/session_context.h"
#include "lab/bench/bench_code.h"
#include "lab/bench/bench_compare.h"
#include "lab/bench/file_watch.h"
#include "output/visible_text.h"
#include "system/run_apart.h"

typedef struct watch {
    const vkf_bench_options *options;
    const vkf_bench_spec *spec;
    vkf_measured_roofs roofs;
    vkf_bench_report report;
    vkf_bench good; // the last version that was measured without a failure; its context is NULL: none
    size_t case_count;
    bool *measured;          // (case_count), for the good version
    vkf_file_snapshot files; // as they were when they were last compiled
    uint32_t saves;
} watch;

static volatile sig_atomic_t signalled;

static void on_signal(int number)
{
    (void)number;
    signalled = 1;
}

static bool stopped(void)
{
    return signalled != 0;
}

static void forget_good(watch *w)
{
    vkf_bench_end(&w->good);
    for (size_t i = 0; i < w->case_count; i++)
        w->measured[i] = false;
}

static void warn_of_embedded(const watch *w)
{
    json_t *names = vkf_bench_code_embedded(w->good.context);
    if (json_array_size(names) > 0)
        vkf_print_warning("%s is the build's own, as are all kernels with cooperative matrices: editing it in %s "
                          "changes nothing",
                          json_string_value(json_array_get(names, 0)), w->options->common.shader_dir);
    json_decref(names);
}

static void measure_first(watch *w)
{
    size_t good = 0;
    for (size_t i = 0; i < w->case_count && !stopped(); i++) {
        vkf_status status = vkf_bench_run_case(&w->good, w->spec, i);
        w->measured[i] = status == VKF_OK;
        good += w->measured[i];
        if (status == VKF_ERROR_DEVICE_LOST) {
            forget_good(w);
            return;
        }
    }
    warn_of_embedded(w);
    vkf_model_destroy(&w->good.model); // both halves of a comparison load it themselves
    if (good == 0 && !stopped())
        vkf_print_error("nothing could be measured; the next save is measured by itself");
}

// False when this case keeps the edited version from replacing the good one.
static bool compare_case(watch *w, vkf_bench *edited, const vkf_bench_save *save, size_t index)
{
    vkf_message_log *messages = w->options->common.messages;
    vkf_message_log_forget(messages);
    vkf_bench_pair pair = vkf_bench_pair_run(&w->good, edited, w->spec, index);
    const vkf_bench_outcome outcome = pair.outcome;
    const bool lost = outcome == VKF_BENCH_FAILED && pair.status == VKF_ERROR_DEVICE_LOST;
    bool printed = true;
    if (outcome != VKF_BENCH_STOPPED)
        printed = vkf_bench_compare_print(&w->report, save, &pair, vkf_message_log_last_error(messages));
    vkf_bench_pair_free(&pair);
    if (lost) {
        vkf_print_error("both versions are gone with the device; the next save is measured by itself");
        forget_good(w);
    }
    return printed && (outcome == VKF_BENCH_MEASURED || outcome == VKF_BENCH_UNCHANGED);
}

// Compares the cases that the good version could measure, until one fails, and tries those that it could not measure.
static bool measure_cases(watch *w, vkf_bench *edited, const vkf_bench_save *save, bool *out_measured)
{
    bool good = true;
    for (size_t i = 0; i < w->case_count && good && !stopped(); i++) {
        out_measured[i] = true;
        if (w->measured[i])
            good = compare_case(w, edited, save, i);
        else
            out_measured[i] = vkf_bench_run_case(edited, w->spec, i) == VKF_OK;
    }
    return good && !stopped();
}

// Whether the files are still those that were compiled. If not, it is unknown what was measured.
static bool files_at_rest(const watch *w)
{
    vkf_file_snapshot now;
    bool same = vkf_file_snapshot_take(w->options->common.shader_dir, &now) && vkf_file_snapshot_same(&w->files, &now);
    vkf_file_snapshot_free(&now);
    return same;
}

static void measure_save(watch *w, const vkf_bench_save *save)
{
    vkf_bench edited = {.options = w->options, .report = &w->report, .stopped = stopped};
    bool *measured = calloc(w->case_count, sizeof *measured);
    if (!measured)
        vkf_print_error("memory for %zu cases is exhausted", w->case_count);
    vkf_bench_compare_begin(&w->report, save);
    if (measured && vkf_open_context(&w->options->common, &edited.context) == VKF_OK &&
        measure_cases(w, &edited, save, measured) && files_at_rest(w)) {
        vkf_bench_end(&w->good);
        free(w->measured);
        vkf_model_destroy(&edited.model);
        w->good = edited;
        w->measured = measured;
        return;
    }
    vkf_bench_end(&edited);
    free(measured);
}

// False when the watch ends.
static bool wait_for_save(watch *w)
{
    vkf_file_snapshot now = {0};
    vkf_print_on(stderr, "vkformer: watching %s; Ctrl-C ends\n", w->options->common.shader_dir);
    if (vkf_file_watch_wait(w->options->common.shader_dir, &w->files, stopped, &now) != VKF_FILES_CHANGED) {
        vkf_file_snapshot_free(&now);
        return false;
    }
    json_t *files = vkf_file_snapshot_difference(&w->files, &now);
    vkf_file_snapshot_free(&w->files);
    w->files = now;
    measure_save(w, &(vkf_bench_save){.number = ++w->saves, .files = files});
    json_decref(files);
    return w->saves != w->options->watch_runs && !stopped();
}

static int run(watch *w)
{
    const char *folder = w->options->common.shader_dir;
    w->case_count = vkf_bench_case_count(w->options, w->spec);
    w->measured = calloc(w->case_count, sizeof *w->measured);
    if (!w->measured || !vkf_file_snapshot_take(folder, &w->files))
        return VKF_EXIT_FAILED;
    if (w->files.count == 0) {
        vkf_print_error("--shader-dir: there are no files in %s; give a copy of shaders/", folder);
        return VKF_EXIT_FAILED;
    }
    if (!vkf_bench_begin(&w->good, w->spec, &w->roofs, &w->report))
        return VKF_EXIT_FAILED;
    measure_first(w);
    while (!stopped() && wait_for_save(w))
        continue;
    return vkf_bench_report_end(&w->report) ? VKF_EXIT_DONE : VKF_EXIT_FAILED;
}

int vkf_bench_watch(const vkf_bench_options *options, const vkf_bench_spec *spec)
{
    watch w = {.options = options, .spec = spec, .good = {.options = options, .stopped = stopped}};
    vkf_catch_interrupts(on_signal); // the first one ends the watch in good order
    int code = run(&w);
    vkf_release_interrupts();
    vkf_bench_end(&w.good);
    vkf_file_snapshot_free(&w.files);
    free(w.measured);
    return code;
}
