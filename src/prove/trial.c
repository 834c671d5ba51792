// Builds a list of dispatches around one variant, and times it.
#include "prove/trial.h"

#include "base/settling.h"

vkf_status vkf__trial_init(vkf__trial *trial, vkf_context *context, const vkf__variant *variant, vkf__emit_fn emit,
                           const void *args)
{
    vkf_status status = VKF_OK;
    static const char name[] = "trial";
    *trial = (vkf__trial){0};
    vkf__work_init(&trial->work, context, name);
    trial->work.trial = variant;
    status = vkf__work_plan(&trial->work, emit, args);
    if (status == VKF_ERROR_UNSUPPORTED)
        return VKF_OK;
    VKF_RETURN_IF_ERROR(status);
    const vkf__dispatch_plan *plan = &trial->work.plan;
    if (plan->arena_bytes > 0)
        VKF_RETURN_IF_ERROR(
            vkf__buffer_create(&context->transfer, VKF_MEMORY_DEVICE, plan->arena_bytes, name, &trial->arena));
    VKF_RETURN_IF_ERROR(vkf__work_build(&trial->work, trial->arena, emit, args));
    VKF_RETURN_IF_ERROR(vkf__submission_init(&trial->submission, &context->device, name));
    VKF_RETURN_IF_ERROR(vkf__work_record_own(&trial->work, &trial->submission));
    // The operator may have found a way that does without the variant.
    for (uint32_t i = 0; i < plan->node_count; i++)
        trial->taken = trial->taken || plan->nodes[i].variant.kernel == variant->kernel;
    return status;
}

void vkf__trial_finish(vkf__trial *trial)
{
    vkf__work_finish(&trial->work);
    vkf__submission_finish(&trial->submission);
    vkf__buffer_destroy(&trial->arena);
    trial->taken = false;
}

// Runs each trial once. Those of the last pass are still under way, unless this is the first.
static vkf_status pass(vkf__trial *const *trials, uint32_t count, bool first)
{
    for (uint32_t i = 0; i < count; i++) {
        vkf__trial *trial = trials[i];
        if (!first)
            VKF_RETURN_IF_ERROR(vkf__submission_wait(&trial->submission));
        VKF_RETURN_IF_ERROR(vkf__submission_submit(&trial->submission, &trial->work.built.command_buffer, 1));
    }
    return VKF_OK;
}

vkf_status vkf__trials_settle(vkf_context *context, vkf__trial *const *trials, uint32_t count, double cap_ns,
                              bool (*keep_going)(void *user), void *user, bool *out_settled)
{
    vkf_status status = VKF_OK;
    *out_settled = true;
    if (count == 0 || !context->device.plan.caps.traits.clock_follows_load)
        return VKF_OK;
    double before_ns = vkf__now_ns();
    vkf__settling settling = vkf__settling_begin(before_ns, cap_ns);
    for (bool first = true; vkf__settling_goes_on(&settling) && keep_going(user); first = false) {
        VKF_TRY(pass(trials, count, first));
        const double now_ns = vkf__now_ns();
        if (!first)
            vkf__settling_add(&settling, now_ns, now_ns - before_ns);
        before_ns = now_ns;
    }
    *out_settled = settling.settled;
fail:
    vkf__submission_idle(&trials[0]->submission);
    return status;
}

vkf_status vkf__trial_latency(vkf__trial *trial, double *out_ns)
{
    return vkf__work_run_nothing(&trial->work, &trial->submission, out_ns);
}

vkf_status vkf__trial_run(vkf__trial *trial, double *out_ns)
{
    const double begin = vkf__now_ns();
    VKF_RETURN_IF_ERROR(vkf__submission_run(&trial->submission, &trial->work.built.command_buffer, 1));
    double total = vkf__now_ns() - begin;
    if (vkf__work_ticked(&trial->work)) {
        const vkf__work *work = &trial->work;
        total = 0;
        for (uint32_t i = 0; i < work->plan.node_count; i++)
            total += vkf__work_ticks_ns(work, work->clocks.ticks[i], work->clocks.ticks[i + 1]);
    } else {
        double latency = 0;
        VKF_RETURN_IF_ERROR(vkf__trial_latency(trial, &latency));
        total -= latency;
    }
    *out_ns = total > 1 ? total : 1; // a coarse clock, or a queue that has just become idle
    return VKF_OK;
}
