// Prints the times of a run.
#include "run/run_timing.h"

#include <stdio.h>
#include <stdlib.h>

#include "command/options.h"
#include "output/visible_text.h"

static void print_row(const char *what, double ms, const char *note)
{
    vkf_print_on(stderr, "  %-24s %10.3f ms%s%s\n", what, ms, note[0] ? "   " : "", note);
}

bool vkf_run_timing_print_gpu(const char *heading, vkf_session *session)
{
    vkf_timing *timings = NULL;
    uint32_t count = 0;
    vkf_status status = vkf_session_get_timings(session, &count, NULL);
    if (status == VKF_OK && count > 0) {
        timings = calloc(count, sizeof *timings);
        status = timings ? vkf_session_get_timings(session, &count, timings) : VKF_ERROR_OUT_OF_HOST_MEMORY;
    }
    if (status == VKF_OK) {
        double total_ms = 0;
        vkf_print_on(stderr, "%s\n", heading);
        for (uint32_t i = 0; i < count; i++) {
            print_row(timings[i].label, timings[i].gpu_ns * 1e-6, "");
            total_ms += timings[i].gpu_ns * 1e-6;
        }
        print_row("total", total_ms, "");
    } else {
        vkf_print_error("the GPU times cannot be read: %s", vkf_status_text(status));
    }
    free(timings);
    return status == VKF_OK;
}

void vkf_run_timing_print(const vkf_run_timing *timing)
{
    char note[80];
    fputs("wall time\n", stderr);
    print_row("open the device", timing->context_ms, "");
    print_row("load the model", timing->model_ms, "");
    if (timing->steady_runs == 0)
        return;
    print_row("make the session", timing->session_ms, "with the pipelines of its kernels");
    snprintf(note, sizeof note, "%u line%s", timing->batch, timing->batch == 1 ? "" : "s");
    print_row("first run", timing->first_run_ms, note);
    snprintf(note, sizeof note, "the same again, median of %u", timing->steady_runs);
    print_row("steady run", timing->steady_run_ms, note);
    snprintf(note, sizeof note, "%.0f tokens/s", timing->tokens / (timing->steady_run_ms * 1e-3));
    print_row("steady run per line", timing->steady_run_ms / timing->batch, note);
}
