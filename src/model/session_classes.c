// The stages of a group for one class of runs: planned when the session is created, built and recorded when the first
// run of the class comes.
#include "model/session.h"

// Runs of up to so many rows share kernels and recordings. What lies above the last of them, or above the session's own
// largest run, is one class, too. Tuned choices are kept for coarser classes, see vkf__tuned_m_class().
static const uint32_t bounds[VKF_ROW_CLASSES] = {1, 8, 32, 64, 128, 256, 512, UINT32_MAX};

static uint64_t rows_of(vkf__stage_group group, const vkf__session_sizes *sizes)
{
    const uint64_t source = (uint64_t)sizes->batch * sizes->source_len;
    const uint64_t target = (uint64_t)vkf__session_rows(sizes) * sizes->target_len;
    if (group == VKF_STAGES_ENCODE)
        return source;
    return sizes->project_memory && source > target ? source : target;
}

static uint32_t class_of_rows(uint64_t rows)
{
    uint32_t class = 0;
    while (bounds[class] < rows)
        class ++;
    return class;
}

static uint32_t at_most(uint32_t value, uint32_t bound)
{
    return value < bound ? value : bound;
}

uint32_t vkf__session_largest_class(const vkf_session *session, vkf__stage_group group)
{
    const vkf__session_sizes max = vkf__session_max_sizes(session, group);
    uint64_t rows = rows_of(group, &max);
    return class_of_rows(rows < UINT32_MAX ? rows : UINT32_MAX);
}

uint32_t vkf__session_class_of(const vkf_session *session, vkf__stage_group group, const vkf__session_sizes *sizes)
{
    const uint32_t largest = vkf__session_largest_class(session, group), class = class_of_rows(rows_of(group, sizes));
    const bool by_rows = session->context->device.plan.caps.traits.rows_by_class;
    return by_rows && class < largest && !(session->refused_classes[group] >> class & 1) ? class : largest;
}

vkf__session_sizes vkf__session_class_sizes(const vkf_session *session, vkf__stage_group group, uint32_t class)
{
    vkf__session_sizes sizes = vkf__session_max_sizes(session, group);
    const uint32_t bound = bounds[class], len = sizes.target_len;
    sizes.batch = at_most(sizes.batch, bound);
    if (group == VKF_STAGES_ENCODE)
        sizes.source_len = at_most(sizes.source_len, bound);
    sizes.target_len = at_most(len, bound);
    sizes.target_past += len - sizes.target_len;
    sizes.logit_rows = at_most(sizes.logit_rows, sizes.target_len);
    sizes.beams = at_most(sizes.beams, bound);
    return sizes;
}

// Keeps what a stage needs beside its works: in the arena that all share, and for parameters.
static void count_memory(vkf_session *session, vkf__stage *stage, const vkf__work *work)
{
    const uint64_t control = vkf__work_control_bytes(work);
    if (work->plan.arena_bytes > session->arena_bytes)
        session->arena_bytes = work->plan.arena_bytes;
    if (control > stage->control_bytes)
        stage->control_bytes = control;
}

typedef vkf_status (*plan_fn)(vkf__work *work, vkf__emit_fn emit, const void *args);

static vkf_status plan_work(vkf_session *session, vkf__stage *stage, uint32_t class, plan_fn plan, vkf__work *work)
{
    const vkf__session_sizes sizes = vkf__session_class_sizes(session, stage->group, class);
    const bool largest = class == vkf__session_largest_class(session, stage->group);
    vkf__work_init(work, session->context, stage->name);
    work->counted = true;
    work->most_rows = largest ? 0 : bounds[class];
    if (session->watcher && largest) {
        work->watcher = session->watcher;
        session->watcher->run = vkf__stage_group_name(stage->group);
    }
    stage->work = work;
    return plan(work, vkf__emit_stage, &(vkf__stage_emission){session, stage, &sizes});
}

vkf_status vkf__session_plan_stage(vkf_session *session, vkf__stage *stage, bool proven)
{
    const uint32_t largest = vkf__session_largest_class(session, stage->group);
    const bool by_rows = session->context->device.plan.caps.traits.rows_by_class;
    // The smaller classes are planned for their memory alone.
    for (uint32_t class = 0; by_rows && class < largest; class ++) {
        vkf__work work;
        vkf_status status = plan_work(session, stage, class, vkf__work_plan, &work);
        if (status == VKF_OK)
            count_memory(session, stage, &work);
        vkf__work_finish(&work);
        stage->work = NULL;
        VKF_RETURN_IF_ERROR(status);
    }
    VKF_ALLOC_OR_RETURN(&session->context->host, stage->works[largest], 1);
    VKF_RETURN_IF_ERROR(
        plan_work(session, stage, largest, proven ? vkf__work_plan_proven : vkf__work_plan, stage->works[largest]));
    count_memory(session, stage, stage->works[largest]);
    return VKF_OK;
}

static vkf_status build_stage(vkf_session *session, size_t index, uint32_t class)
{
    vkf__stage *stage = &session->stages[index];
    vkf__work *work = stage->works[class];
    const vkf__session_sizes sizes = vkf__session_class_sizes(session, stage->group, class);
    stage->work = work;
    work->lent_control = stage->control;
    VKF_RETURN_IF_ERROR(
        vkf__work_build(work, session->arena, vkf__emit_stage, &(vkf__stage_emission){session, stage, &sizes}));
    work->follows = index > session->group_begin[stage->group];
    work->followed = index + 1 < session->group_begin[stage->group + 1];
    VKF_RETURN_IF_ERROR(vkf__work_record_own(work, &session->submission));
    VKF_RETURN_IF_ERROR(vkf__batch_add(&session->batches[stage->group][class], work));
    session->record_count++;
    return VKF_OK;
}

vkf_status vkf__session_build_class(vkf_session *session, vkf__stage_group group, uint32_t class)
{
    for (size_t i = session->group_begin[group]; i < session->group_begin[group + 1]; i++)
        VKF_RETURN_IF_ERROR(build_stage(session, i, class));
    return VKF_OK;
}

static void free_work(vkf_session *session, vkf__stage *stage, uint32_t class)
{
    if (stage->works[class])
        vkf__work_finish(stage->works[class]);
    vkf__free(&session->context->host, stage->works[class]);
    stage->works[class] = NULL;
}

void vkf__session_free_class(vkf_session *session, vkf__stage_group group, uint32_t class)
{
    for (size_t i = session->group_begin[group]; i < session->group_begin[group + 1]; i++)
        free_work(session, &session->stages[i], class);
    vkf__batch_free(&session->batches[group][class], &session->context->host);
}

size_t vkf__session_command_buffers(const vkf_session *session)
{
    size_t count = 0;
    for (vkf__stage_group group = VKF_STAGES_ENCODE; group < VKF_STAGES_COUNT; group++)
        for (uint32_t class = 0; class < VKF_ROW_CLASSES; class ++)
            count += session->batches[group][class].count;
    return count;
}

// Plans with proven kernels. Where they are others than those at creation, they may need more memory than there is:
// *out_fits.
static vkf_status plan_class(vkf_session *session, vkf__stage_group group, uint32_t class, bool *out_fits)
{
    *out_fits = true;
    for (size_t i = session->group_begin[group]; i < session->group_begin[group + 1]; i++) {
        vkf__stage *stage = &session->stages[i];
        VKF_ALLOC_OR_RETURN(&session->context->host, stage->works[class], 1);
        VKF_RETURN_IF_ERROR(plan_work(session, stage, class, vkf__work_plan_proven, stage->works[class]));
        *out_fits = *out_fits && stage->works[class]->plan.arena_bytes <= session->arena_bytes &&
                    vkf__work_control_bytes(stage->works[class]) <= stage->control_bytes;
    }
    return VKF_OK;
}

static void use_class(vkf_session *session, vkf__stage_group group, uint32_t class)
{
    for (size_t i = session->group_begin[group]; i < session->group_begin[group + 1]; i++)
        session->stages[i].work = session->stages[i].works[class];
}

vkf_status vkf__session_use_class(vkf_session *session, vkf__stage_group group, const vkf__session_sizes *sizes,
                                  uint32_t *out_class)
{
    vkf_status status = VKF_OK;
    uint32_t class = vkf__session_class_of(session, group, sizes);
    bool fits = true;
    if (session->batches[group][class].count == 0) {
        VKF_TRY(plan_class(session, group, class, &fits));
        if (fits)
            VKF_TRY(vkf__session_build_class(session, group, class));
    }
    if (!fits) {
        vkf__log(&session->context->host, VKF_SEVERITY_DEBUG,
                 "%s: runs of up to %u rows take the kernels of the largest, whose memory they fit",
                 vkf__stage_group_name(group), bounds[class]);
        vkf__session_free_class(session, group, class);
        session->refused_classes[group] |= 1u << class;
        class = vkf__session_largest_class(session, group);
    }
    use_class(session, group, class);
    *out_class = class;
    return VKF_OK;
fail:
    vkf__session_free_class(session, group, class);
    use_class(session, group, vkf__session_largest_class(session, group));
    return status;
}
