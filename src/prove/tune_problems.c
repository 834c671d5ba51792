// Tunes a list of problems under one limit of time, and saves what was found.
#include <stdio.h>

#include "base/clock.h"
#include "base/sized.h"
#include "kernel/context.h"
#include "prove/tune.h"

typedef struct tune_run {
    const vkf_tune_options *options;
    const vkf_tune_problem *problem;
    uint32_t done, total;
} tune_run;

static bool keep_going(void *user, const char *what)
{
    const tune_run *run = user;
    char text[VKF_VARIANT_NAME_SIZE + 48];
    (void)snprintf(text, sizeof text, "%ux%ux%u %s", run->problem->m, run->problem->n, run->problem->k, what);
    return run->options->progress(run->options->progress_user, run->done, run->total, text);
}

static void give(vkf_tune_result *out_results, size_t index, size_t result_bytes, const vkf_tune_result *result)
{
    if (out_results)
        (void)vkf__give_sized(vkf__sized_at(out_results, index, result_bytes), result_bytes, result, sizeof *result);
}

static vkf_status tune_each(vkf_context *context, tune_run *run, const vkf_tune_problem *problems,
                            vkf_tune_result *out_results, size_t result_bytes)
{
    vkf_status status = VKF_OK;
    uint64_t cap = run->options->time_cap_ns > 0 ? run->options->time_cap_ns : VKF_TUNE_TIME_CAP_NS;
    const vkf__tune_limits limits = {
        .deadline_ns = vkf__now_ns() + (double)cap,
        .keep_going = run->options->progress ? keep_going : NULL,
        .user = run,
    };
    for (uint32_t i = 0; i < run->total && vkf__now_ns() < limits.deadline_ns; i++) {
        vkf_tune_result result;
        run->problem = &problems[i];
        run->done = i;
        status = vkf__tune_one(context, &problems[i], &limits, &result);
        give(out_results, i, result_bytes, &result);
        if (status == VKF_ERROR_TOO_LARGE || status == VKF_ERROR_OUT_OF_DEVICE_MEMORY) {
            vkf__log(&context->host, VKF_SEVERITY_WARNING, "vkf_tune: %u x %u x %u is left out: %s", problems[i].m,
                     problems[i].n, problems[i].k, vkf_status_text(status));
            status = VKF_OK;
        }
        VKF_RETURN_IF_ERROR(status);
    }
    return status;
}

vkf_status vkf__tune_problems(vkf_context *context, const vkf_tune_problem *problems, uint32_t count,
                              const vkf_tune_options *options, vkf_tune_result *out_results, size_t result_bytes)
{
    tune_run run = {.options = options, .total = count};
    for (uint32_t i = 0; out_results && i < count; i++)
        give(out_results, i, result_bytes, &(vkf_tune_result){.problem = problems[i]});
    pthread_mutex_lock(&context->tune_lock);
    vkf_status status = tune_each(context, &run, problems, out_results, result_bytes);
    pthread_mutex_unlock(&context->tune_lock);
    vkf_status saved = vkf__learned_save(&context->learned);
    return status == VKF_OK ? saved : status;
}
