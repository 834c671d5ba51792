// Runs groups of stages. A run takes a flight from its submission until the host has waited for it. Steps of decoding
// may take two in turn, so that the device has the next step at hand when it ends one.
#include "model/session/session_flight.h"

#include <assert.h>

#include "base/clock.h"
#include "model/session/cached_rows.h"
#include "model/session/session_attention.h"
#include "model/session/session_classes.h"
#include "model/session/session_part.h"
#include "model/session/session_stages.h"
#include "observe/probe.h"

vkf_status vkf__stage_update(vkf_session *session, vkf__stage *stage, const vkf__session_sizes *sizes)
{
    return vkf__work_update(stage->work, vkf__emit_stage, &(vkf__stage_emission){session, stage, sizes});
}

static vkf_status write_sizes(vkf_session *session, const vkf__flight *flight)
{
    const size_t begin = session->group_begin[flight->group], end = session->group_begin[flight->group + 1];
    for (size_t i = begin; i < end; i++)
        VKF_RETURN_IF_ERROR(vkf__stage_update(session, &session->stages[i], &flight->sizes));
    session->sizes = flight->sizes;
    return VKF_OK;
}

// Where the part of a batch ends that begins there: all that is left or, where that is more, the context's limit. Runs
// that cannot reach it, as steps of decoding, are not added up.
static size_t part_end(const vkf_session *session, const vkf__batch *batch, size_t begin)
{
    const double limit = session->context->submission_flops;
    double flops = 0;
    for (size_t i = begin; limit > 0 && batch->most_flops > limit && i < batch->count; i++) {
        flops += vkf__session_work_flops(batch->works[i]);
        if (i > begin && flops > limit)
            return i;
    }
    return batch->count;
}

// Submits a batch in parts, one behind the other. Nothing is waited for between them: a device would lie idle, and what
// signals the first of the semaphores may come later. If it fails, nothing is on its way.
static vkf_status submit(vkf_session *session, const vkf__batch *batch, vkf__submission *submission,
                         const vkf__submit_semaphores *semaphores)
{
    vkf_status status = VKF_OK;
    size_t begin = 0;
    for (size_t end; status == VKF_OK && begin < batch->count; begin = end) {
        end = part_end(session, batch, begin);
        status = vkf__batch_submit_with(batch, submission, begin, end, semaphores);
        if (status != VKF_OK && begin > 0)
            vkf__submission_idle(submission);
    }
    return status;
}

static const vkf__batch *batch_of(const vkf__flight *flight)
{
    return &flight->batches[flight->group][flight->class];
}

// Writes what a run of the flight's class needs.
static vkf_status write_run(vkf_session *session, vkf__flight *flight, vkf__stage_group group,
                            const vkf__session_sizes *sizes)
{
    flight->group = group;
    flight->sizes = *sizes;
    flight->sizes.greedy = flight->class >= VKF_ROW_CLASSES;
    flight->times = (vkf__run_times){.begin_ns = vkf__now_ns()};
    return write_sizes(session, flight);
}

// Submits a run. If that fails, nothing of it is on its way.
static vkf_status begin_run(vkf_session *session, vkf__stage_group group, const vkf__session_sizes *sizes,
                            uint32_t index)
{
    vkf__flight *flight = &session->flights[index];
    VKF_RETURN_IF_ERROR(vkf__session_use_class(session, group, sizes, index, &flight->class));
    VKF_RETURN_IF_ERROR(write_run(session, flight, group, sizes));
    if (session->context->probe)
        return VKF_OK;
    flight->times.updated_ns = vkf__now_ns();
    VKF_RETURN_IF_ERROR(submit(session, batch_of(flight), &flight->submission, &(vkf__submit_semaphores){0}));
    flight->times.submitted_ns = flight->submission.submitted_ns;
    return VKF_OK;
}

// Waits for a run. What the session says of its last run is about this one then.
static vkf_status await_run(vkf_session *session, vkf__flight *flight)
{
    const vkf__batch *batch = batch_of(flight);
    vkf__run_times *times = &flight->times;
    VKF_RETURN_IF_ERROR(vkf__submission_wait(&flight->submission));
    times->ended_ns = vkf__now_ns();
    session->last_group = (int)flight->group;
    session->cost = (vkf_run_cost){
        .host_ns = times->submitted_ns - times->begin_ns,
        .wait_ns = times->ended_ns - times->submitted_ns,
    };
    return vkf__profile_run(session->context, vkf__stage_group_name(flight->group), batch->works, batch->count, times);
}

// The same, or has a probe run it.
static vkf_status end_run(vkf_session *session, uint32_t index)
{
    vkf__flight *flight = &session->flights[index];
    const vkf__batch *batch = batch_of(flight);
    session->sizes = flight->sizes;
    vkf__session_use_flight(session, index);
    if (session->context->probe)
        return vkf__probe_run(session->context, &flight->submission, vkf__stage_group_name(flight->group), batch->works,
                              batch->count);
    return await_run(session, flight);
}

static vkf_status run_in(vkf_session *session, vkf__stage_group group, const vkf__session_sizes *sizes, uint32_t index)
{
    const bool target = group != VKF_STAGES_ENCODE;
    VKF_RETURN_IF_ERROR(vkf__part_take(session, target, sizes));
    if (session->group_begin[group] < session->group_begin[group + 1]) {
        VKF_RETURN_IF_ERROR(begin_run(session, group, sizes, index));
        VKF_RETURN_IF_ERROR(end_run(session, index));
    }
    VKF_RETURN_IF_ERROR(vkf__part_give(session, target, sizes));
    return vkf__kept_attention_gather(session, group);
}

vkf_status vkf__session_run(vkf_session *session, vkf__stage_group group, const vkf__session_sizes *sizes)
{
    return run_in(session, group, sizes, 0);
}

// Steps run one by one where something has to happen between them: hidden states come from another part of the model,
// weights of attention are gathered, a token that is none is replaced, or somebody watches, whose times are of one step
// alone.
static bool runs_ahead(const vkf_session *session)
{
    const vkf_context *context = session->context;
    const bool watched = context->probe || context->profiler.submission || context->profiler.dispatch;
    return session->flight_count > 1 && session->model->part.count == 0 && !watched &&
           session->desc.attention_weights == 0 && session->desc.fully_masked != VKF_FULLY_MASKED_NAN;
}

vkf_status vkf__session_step(vkf_session *session, const vkf__session_sizes *sizes, const vkf__session_sizes *next)
{
    vkf_status status = VKF_OK;
    const uint32_t flight = session->ahead ? session->ahead_flight : 0;
    if (!runs_ahead(session))
        return run_in(session, VKF_STAGES_STEP, sizes, 0);
    if (!session->ahead)
        VKF_RETURN_IF_ERROR(begin_run(session, VKF_STAGES_STEP, sizes, flight));
    session->ahead = false;
    if (next) {
        session->ahead_flight = 1 - flight;
        status = begin_run(session, VKF_STAGES_STEP, next, session->ahead_flight);
        session->ahead = status == VKF_OK;
    }
    vkf_status ended = end_run(session, flight);
    if (status == VKF_OK && ended == VKF_OK)
        return VKF_OK;
    vkf__session_drop_step(session);
    return status != VKF_OK ? status : ended;
}

void vkf__session_drop_step(vkf_session *session)
{
    vkf_status dropped = VKF_OK;
    if (session->ahead)
        dropped = vkf__submission_wait(&session->flights[session->ahead_flight].submission);
    session->ahead = false;
    (void)dropped; // it is of no run that anybody asked for; a device that was lost remains so
}

// ---- runs that nobody waits for at once

vkf_status vkf__session_launch(vkf_session *session, vkf__stage_group group, const vkf__session_sizes *sizes,
                               const vkf__submit_semaphores *semaphores)
{
    vkf__flight *flight = &session->flights[0];
    assert(!session->under_way && !session->ahead);
    session->last_group = -1;
    if (!semaphores) {
        vkf__session_use_largest(session, group, &flight->class);
        return write_run(session, flight, group, sizes);
    }
    VKF_RETURN_IF_ERROR(vkf__session_use_class(session, group, sizes, 0, &flight->class));
    VKF_RETURN_IF_ERROR(write_run(session, flight, group, sizes));
    flight->times.updated_ns = vkf__now_ns();
    VKF_RETURN_IF_ERROR(submit(session, batch_of(flight), &flight->submission, semaphores));
    flight->times.submitted_ns = flight->submission.submitted_ns;
    session->under_way = true;
    return VKF_OK;
}

vkf_status vkf__session_settle(vkf_session *session)
{
    if (!session->under_way)
        return VKF_OK;
    session->under_way = false; // also where waiting fails: then nothing is under way any more
    const vkf_status status = await_run(session, &session->flights[0]);
    if (status != VKF_OK)
        vkf__rows_forget(session);
    return status;
}

vkf_status vkf__session_enter(vkf_session *session, const char *function)
{
    VKF_RETURN_IF_ERROR(vkf__context_enter(session->context, function));
    if (session->in_turns)
        return vkf__fail(&session->context->host, VKF_ERROR_INVALID_ARGUMENT,
                         "%s: the session generates in turns: vkf_generation_destroy() ends that", function);
    return vkf__session_settle(session);
}

const vkf__batch *vkf__session_largest_batch(const vkf_session *session, vkf__stage_group group)
{
    return &session->flights[0].batches[group][vkf__session_largest_class(session, group)];
}

vkf_status vkf_session_wait(vkf_session *session)
{
    return session ? vkf__session_enter(session, __func__) : vkf__null_argument(__func__);
}

vkf_status vkf_session_ended(vkf_session *session, bool *out_ended)
{
    bool ended = true;
    if (!session || !out_ended)
        return vkf__null_argument(__func__);
    VKF_RETURN_IF_ERROR(vkf__context_enter(session->context, __func__));
    if (session->under_way)
        VKF_RETURN_IF_ERROR(vkf__submission_ended(&session->flights[0].submission, &ended));
    *out_ended = ended;
    return VKF_OK;
}

vkf_status vkf__stage_time(vkf__stage *stage, double *out_ns)
{
    double total = 0;
    for (uint32_t i = 0; i < stage->work->plan.node_count; i++) {
        double ns = 0;
        VKF_RETURN_IF_ERROR(vkf__work_time(stage->work, i, &ns));
        total += ns;
    }
    *out_ns = total;
    return VKF_OK;
}
