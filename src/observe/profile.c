// Turns the clocks and counters of works into what a profiler is told.
#include "observe/profile.h"

#include "op/operators.h"
#include "vk/calibration.h"

// A dispatch of a submission, by the index of its work and its own index in that work.
typedef struct place {
    size_t work;
    uint32_t node;
} place;

bool vkf__dispatch_works(const vkf__work *work, uint32_t node)
{
    const uint32_t *grid = vkf__work_grid(work, node);
    return grid[0] > 0 && grid[1] > 0 && grid[2] > 0;
}

// Moves `at` on to the next dispatch that does something, which may be the one it is at. False: there is none.
static bool find(vkf__work *const *works, size_t count, place *at)
{
    for (; at->work < count; *at = (place){at->work + 1, 0})
        for (; at->node < works[at->work]->plan.node_count; at->node++)
            if (vkf__dispatch_works(works[at->work], at->node))
                return true;
    return false;
}

// When a dispatch had ended, in nanoseconds from the beginning of the first of all. 0 without timestamps.
static double end_of(vkf__work *const *works, place first, place at)
{
    const vkf__work *work = works[at.work];
    return vkf__work_timed(work)
               ? vkf__work_ticks_ns(work, works[first.work]->clocks.ticks[first.node], work->clocks.ticks[at.node + 1])
               : 0;
}

static vkf_status read_clocks(vkf__work *const *works, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (vkf__work_timed(works[i]))
            VKF_RETURN_IF_ERROR(vkf__work_read_ticks(works[i]));
    return VKF_OK;
}

// Notes when the first dispatch began on the host's clock, where both clocks can be read together.
static void place_on_host(vkf_context *context, const vkf__work *work, uint32_t node,
                          vkf_submission_profile *submission)
{
    vkf__calibration now;
    if (!vkf__work_timed(work) || !vkf__calibrate(&context->device, &now))
        return;
    submission->gpu_begin_ns = now.host_ns - vkf__work_ticks_ns(work, work->clocks.ticks[node], now.device_ticks);
    submission->gpu_deviation_ns = now.deviation_ns;
}

static void report_submission(const vkf_profiler *profiler, vkf__work *const *works, size_t count, place first,
                              vkf_submission_profile *submission)
{
    if (!profiler->submission)
        return;
    for (place at = first; find(works, count, &at); at.node++) {
        submission->gpu_ns = end_of(works, first, at);
        submission->dispatch_count++;
    }
    profiler->submission(profiler->user, submission);
}

// The time of a dispatch begins where the one before it has ended. `values` has room for the context's counters.
static void report_dispatches(const vkf_profiler *profiler, vkf__work *const *works, size_t count, place first,
                              double *values)
{
    double begin_ns = 0;
    for (place at = first; profiler->dispatch && find(works, count, &at); at.node++) {
        vkf__work *work = works[at.work];
        const vkf__node *node = &work->built.nodes[at.node];
        const uint32_t *grid = vkf__work_grid(work, at.node);
        const vkf__dispatched dispatched = {node->kernel, node->pipeline->spec, vkf__work_params(work, at.node)};
        const vkf__account account = vkf__account_of(&dispatched);
        const double end_ns = end_of(works, first, at);
        const vkf_dispatch_profile dispatch = {
            .part = work->name,
            .label = node->label,
            .kernel = node->kernel->name,
            .config = node->config->name,
            .workgroups = {grid[0], grid[1], grid[2]},
            .begin_ns = begin_ns,
            .gpu_ns = end_ns - begin_ns,
            .flops = account.flops,
            .bytes_read = account.bytes_read,
            .bytes_written = account.bytes_written,
            .counters = vkf__work_read_counters(work, at.node, values) ? values : NULL,
        };
        profiler->dispatch(profiler->user, &dispatch);
        begin_ns = end_ns;
    }
}

vkf_status vkf__profile_run(vkf_context *context, const char *name, vkf__work *const *works, size_t count,
                            const vkf__run_times *times)
{
    vkf_status status = VKF_OK;
    const vkf_profiler *profiler = &context->profiler;
    double *values = NULL;
    place first = {0};
    vkf_submission_profile submission = {
        .name = name,
        .begin_ns = times->begin_ns,
        .update_ns = times->updated_ns - times->begin_ns,
        .submit_ns = times->submitted_ns - times->updated_ns,
        .wait_ns = times->ended_ns - times->submitted_ns,
    };
    if (profiler->submission || profiler->dispatch) {
        VKF_TRY(read_clocks(works, count));
        if (context->counters.count > 0)
            VKF_ALLOC(&context->host, values, context->counters.count);
        if (find(works, count, &first))
            place_on_host(context, works[first.work], first.node, &submission);
        report_submission(profiler, works, count, first, &submission);
        report_dispatches(profiler, works, count, first, values);
    }
    for (size_t i = 0; context->counters.count > 0 && i < count; i++)
        vkf__counter_pools_reset(&works[i]->clocks.counters, &context->device);
fail:
    vkf__free(&context->host, values);
    return status;
}
