// The stages of a group for one class of runs: planned when the session is created, built and recorded when the first
// run of the class comes.
#include "model/session/session_classes.h"

#include "model/session/session_stages.h"
#include "op/operators.h"

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

static uint32_t rows_class_of(uint32_t class)
{
    return class % VKF_ROW_CLASSES;
}

static bool is_greedy(uint32_t class)
{
    return class >= VKF_ROW_CLASSES;
}

uint32_t vkf__session_largest_class(const vkf_session *session, vkf__stage_group group)
{
    const vkf__session_sizes max = vkf__session_max_sizes(session, group);
    uint64_t rows = rows_of(group, &max);
    return class_of_rows(rows < UINT32_MAX ? rows : UINT32_MAX);
}

uint32_t vkf__session_class_of(const vkf_session *session, vkf__stage_group group, const vkf__session_sizes *sizes)
{
    const uint32_t largest = vkf__session_largest_class(session, group);
    const bool greedy = group == VKF_STAGES_STEP && sizes->samples && session->sampling.temperature == 0.0f;
    if (!session->context->device.plan.caps.traits.rows_by_class)
        return largest;
    const uint32_t class = at_most(class_of_rows(rows_of(group, sizes)), largest) + (greedy ? VKF_ROW_CLASSES : 0);
    return session->refused_classes[group] >> class & 1 ? largest : class;
}

vkf__session_sizes vkf__session_class_sizes(const vkf_session *session, vkf__stage_group group, uint32_t class)
{
    vkf__session_sizes sizes = vkf__session_max_sizes(session, group);
    const uint32_t bound = bounds[rows_class_of(class)], len = sizes.target_len;
    sizes.batch = at_most(sizes.batch, bound);
    if (group == VKF_STAGES_ENCODE)
        sizes.source_len = at_most(sizes.source_len, bound);
    sizes.target_len = at_most(len, bound);
    sizes.target_past += len - sizes.target_len;
    sizes.logit_rows = at_most(sizes.logit_rows, sizes.target_len);
    sizes.beams = at_most(sizes.beams, bound);
    sizes.greedy = is_greedy(class);
    sizes.searches = !sizes.greedy;
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

// The one that a watcher sees: a greedy step where there are classes.
static uint32_t watched_class(const vkf_session *session, vkf__stage_group group)
{
    const vkf__session_sizes max = vkf__session_max_sizes(session, group);
    return vkf__session_class_of(session, group, &max);
}

static void begin_plan(vkf_session *session, vkf__stage *stage, uint32_t class, vkf__work *work)
{
    const bool largest = rows_class_of(class) == vkf__session_largest_class(session, stage->group);
    vkf__work_init(work, session->context, stage->name);
    work->counted = true;
    work->most_rows = largest ? 0 : bounds[rows_class_of(class)];
    if (session->watcher && class == watched_class(session, stage->group)) {
        work->watcher = session->watcher;
        session->watcher->run = vkf__stage_group_name(stage->group);
    }
    stage->work = work;
}

static vkf_status plan_work(vkf_session *session, vkf__stage *stage, uint32_t class, plan_fn plan, vkf__work *work)
{
    const vkf__session_sizes sizes = vkf__session_class_sizes(session, stage->group, class);
    begin_plan(session, stage, class, work);
    return plan(work, vkf__emit_stage, &(vkf__stage_emission){session, stage, &sizes});
}

static vkf_status plan_for_memory(vkf_session *session, vkf__stage *stage, uint32_t class)
{
    vkf__work work;
    vkf_status status = plan_work(session, stage, class, vkf__work_plan, &work);
    if (status == VKF_OK)
        count_memory(session, stage, &work);
    vkf__work_finish(&work);
    stage->work = NULL;
    return status;
}

static bool has_class(const vkf_session *session, vkf__stage_group group, uint32_t class)
{
    return session->context->device.plan.caps.traits.rows_by_class &&
           rows_class_of(class) <= vkf__session_largest_class(session, group) &&
           (!is_greedy(class) || group == VKF_STAGES_STEP);
}

vkf_status vkf__session_plan_stage(vkf_session *session, vkf__stage *stage, bool proven)
{
    const uint32_t largest = vkf__session_largest_class(session, stage->group);
    vkf__work **work = &stage->works[0][largest];
    // All classes but the largest are planned for their memory alone.
    for (uint32_t class = 0; class < VKF_RUN_CLASSES; class ++)
        if (class != largest && has_class(session, stage->group, class))
            VKF_RETURN_IF_ERROR(plan_for_memory(session, stage, class));
    VKF_ALLOC_OR_RETURN(&session->context->host, *work, 1);
    VKF_RETURN_IF_ERROR(plan_work(session, stage, largest, proven ? vkf__work_plan_proven : vkf__work_plan, *work));
    count_memory(session, stage, *work);
    return VKF_OK;
}

double vkf__session_work_flops(const vkf__work *work)
{
    double flops = 0;
    for (uint32_t i = 0; i < work->plan.node_count; i++) {
        const vkf__node *node = &work->built.nodes[i];
        const vkf__dispatched dispatched = {node->kernel, node->pipeline->spec, vkf__work_params(work, i)};
        flops += vkf__account_of(&dispatched).flops;
    }
    return flops;
}

static vkf_status build_stage(vkf_session *session, size_t index, uint32_t class, uint32_t flight)
{
    vkf__stage *stage = &session->stages[index];
    vkf__work *work = stage->works[flight][class];
    const vkf__session_sizes sizes = vkf__session_class_sizes(session, stage->group, class);
    stage->work = work;
    work->lent_control = stage->controls[flight];
    VKF_RETURN_IF_ERROR(
        vkf__work_build(work, session->arena, vkf__emit_stage, &(vkf__stage_emission){session, stage, &sizes}));
    work->follows = index > session->group_begin[stage->group];
    work->followed = index + 1 < session->group_begin[stage->group + 1];
    VKF_RETURN_IF_ERROR(vkf__work_record_own(work, &session->flights[flight].submission));
    vkf__batch *batch = &session->flights[flight].batches[stage->group][class];
    VKF_RETURN_IF_ERROR(vkf__batch_add(batch, work));
    batch->most_flops += vkf__session_work_flops(work);
    session->record_count++;
    return VKF_OK;
}

static vkf_status build_class(vkf_session *session, vkf__stage_group group, uint32_t class, uint32_t flight)
{
    vkf__flight *f = &session->flights[flight];
    for (size_t i = session->group_begin[group]; i < session->group_begin[group + 1]; i++)
        VKF_RETURN_IF_ERROR(build_stage(session, i, class, flight));
    if (!session->context->device.plan.caps.traits.joins_layers)
        return VKF_OK;
    return vkf__batch_join(&f->batches[group][class], &f->submission, vkf__stage_group_name(group));
}

vkf_status vkf__session_build_largest(vkf_session *session, vkf__stage_group group)
{
    return build_class(session, group, vkf__session_largest_class(session, group), 0);
}

static void free_work(vkf_session *session, vkf__work **work)
{
    if (*work)
        vkf__work_finish(*work);
    vkf__free(&session->context->host, *work);
    *work = NULL;
}

static void free_class(vkf_session *session, vkf__stage_group group, uint32_t class, uint32_t flight)
{
    for (size_t i = session->group_begin[group]; i < session->group_begin[group + 1]; i++)
        free_work(session, &session->stages[i].works[flight][class]);
    vkf__batch_free(&session->flights[flight].batches[group][class], &session->context->host);
}

void vkf__session_free_classes(vkf_session *session)
{
    for (vkf__stage_group group = VKF_STAGES_ENCODE; session->stages && group < VKF_STAGES_COUNT; group++)
        for (uint32_t class = 0; class < VKF_RUN_CLASSES; class ++)
            for (uint32_t flight = 0; flight < VKF_FLIGHTS; flight++)
                free_class(session, group, class, flight);
}

size_t vkf__session_command_buffers(const vkf_session *session)
{
    size_t count = 0;
    for (vkf__stage_group group = VKF_STAGES_ENCODE; group < VKF_STAGES_COUNT; group++)
        for (uint32_t class = 0; class < VKF_RUN_CLASSES; class ++)
            for (uint32_t flight = 0; flight < VKF_FLIGHTS; flight++)
                count += session->flights[flight].batches[group][class].count;
    return count;
}

// Plans a stage with proven kernels, or as it was planned for the other flight: results are the same in both, even if
// a kernel was found to be wrong or slow since then.
static vkf_status plan_proven(vkf_session *session, vkf__stage *stage, uint32_t class, uint32_t flight)
{
    const vkf__work *other = stage->works[1 - flight][class];
    vkf__work **work = &stage->works[flight][class];
    VKF_ALLOC_OR_RETURN(&session->context->host, *work, 1);
    if (!other)
        return plan_work(session, stage, class, vkf__work_plan_proven, *work);
    begin_plan(session, stage, class, *work);
    return vkf__work_plan_like(*work, other);
}

// *out_fits: kernels that are proven may be others than those at creation, and need more memory than there is.
static vkf_status plan_class(vkf_session *session, vkf__stage_group group, uint32_t class, uint32_t flight,
                             bool *out_fits)
{
    const bool largest = class == vkf__session_largest_class(session, group);
    *out_fits = true;
    for (size_t i = session->group_begin[group]; i < session->group_begin[group + 1]; i++) {
        vkf__stage *stage = &session->stages[i];
        VKF_RETURN_IF_ERROR(plan_proven(session, stage, class, flight));
        const vkf__work *work = stage->works[flight][class];
        *out_fits = *out_fits && (largest || (work->plan.arena_bytes <= session->arena_bytes &&
                                              vkf__work_control_bytes(work) <= stage->control_bytes));
    }
    return VKF_OK;
}

static void use_class(vkf_session *session, vkf__stage_group group, uint32_t class, uint32_t flight)
{
    for (size_t i = session->group_begin[group]; i < session->group_begin[group + 1]; i++)
        session->stages[i].work = session->stages[i].works[flight][class];
}

void vkf__session_use_largest(vkf_session *session, vkf__stage_group group, uint32_t *out_class)
{
    *out_class = vkf__session_largest_class(session, group);
    use_class(session, group, *out_class, 0);
}

void vkf__session_use_flight(vkf_session *session, uint32_t flight)
{
    use_class(session, session->flights[flight].group, session->flights[flight].class, flight);
}

// Makes a class where it is not there yet and fits.
static vkf_status make_class(vkf_session *session, vkf__stage_group group, uint32_t class, uint32_t flight,
                             bool *out_fits)
{
    vkf_status status = VKF_OK;
    *out_fits = true;
    if (session->flights[flight].batches[group][class].count > 0)
        return VKF_OK;
    VKF_TRY(plan_class(session, group, class, flight, out_fits));
    if (*out_fits)
        VKF_TRY(build_class(session, group, class, flight));
fail:
    if (status != VKF_OK || !*out_fits) {
        free_class(session, group, class, flight);
        use_class(session, group, vkf__session_largest_class(session, group), 0);
    }
    return status;
}

vkf_status vkf__session_use_class(vkf_session *session, vkf__stage_group group, const vkf__session_sizes *sizes,
                                  uint32_t flight, uint32_t *out_class)
{
    uint32_t class = vkf__session_class_of(session, group, sizes);
    bool fits = true;
    VKF_RETURN_IF_ERROR(make_class(session, group, class, flight, &fits));
    if (!fits) {
        vkf__log(&session->context->host, VKF_SEVERITY_DEBUG,
                 "%s: runs of up to %u rows take the kernels of the largest, whose memory they fit",
                 vkf__stage_group_name(group), bounds[rows_class_of(class)]);
        session->refused_classes[group] |= 1u << class;
        class = vkf__session_largest_class(session, group);
        VKF_RETURN_IF_ERROR(make_class(session, group, class, flight, &fits));
    }
    use_class(session, group, class, flight);
    *out_class = class;
    return VKF_OK;
}
