// Creates sessions: plans stages, allocates buffers, fills constants, and records the command buffers.
#include "model/session/session.h"

#include <math.h>

#include "kernel/memory_plan.h"
#include "model/family/relative_bias.h"
#include "model/family/rotary_rows.h"
#include "model/family/sinusoids.h"
#include "model/session/cached_rows.h"
#include "model/session/session_attention.h"
#include "model/session/session_classes.h"
#include "model/session/session_flight.h"
#include "model/session/session_layout.h"
#include "model/session/session_stages.h"

#define CACHE_NAME "session cache of a layer"

static uint32_t flight_count_of(const vkf_session *session)
{
    const bool steps = session->group_begin[VKF_STAGES_STEP] < session->group_begin[VKF_STAGES_COUNT];
    return steps && session->context->device.plan.caps.traits.runs_ahead ? VKF_FLIGHTS : 1;
}

// Everything up to the point where device memory is needed. Kernels are proven where the session will be created, and
// trusted where only its memory is asked for.
static vkf_status plan_session(vkf_session *session, vkf_model *model, const vkf_session_desc *desc, bool proven,
                               vkf__session_layout *out_layout)
{
    session->model = model;
    session->context = model->context;
    session->desc = *desc;
    session->last_group = -1;
    session->sampling = vkf__no_sampling();
    vkf__kept_attention_init(session);
    VKF_RETURN_IF_ERROR(vkf__session_lay_out(session, out_layout));
    VKF_RETURN_IF_ERROR(vkf__session_make_stages(session));
    session->flight_count = flight_count_of(session);
    for (size_t i = 0; i < session->stage_count; i++)
        VKF_RETURN_IF_ERROR(vkf__session_plan_stage(session, &session->stages[i], proven));
    return VKF_OK;
}

static vkf_status make_buffer(vkf_session *session, vkf__memory_class class, uint64_t bytes, const char *name,
                              vkf_buffer **out_buffer)
{
    if (bytes == 0)
        return VKF_OK;
    VKF_RETURN_IF_ERROR(vkf__buffer_create(&session->context->transfer, class, bytes, name, out_buffer));
    return vkf__buffer_clear(*out_buffer);
}

// Spreads the learned table of one side over all distances. The table is on the device and is read back for this.
static vkf_status make_bias(vkf_session *session, const vkf_tensor *table, bool decoder, uint32_t len,
                            const vkf__span *span)
{
    vkf_status status = VKF_OK;
    const vkf__host *host = &session->context->host;
    float *learned = NULL, *values = NULL;
    if (!vkf__present(span))
        return VKF_OK;
    size_t count = (size_t)table->shape[0] * table->shape[1];
    VKF_ALLOC(host, learned, count);
    VKF_ALLOC(host, values, (size_t)(span->size_bytes / sizeof *values));
    VKF_TRY(vkf_buffer_read(table->buffer, table->offset_bytes, learned, count * sizeof *learned));
    vkf__relative_bias(&session->model->config, decoder, table->shape[1], len, learned, values);
    VKF_TRY(vkf_buffer_write(span->buffer, span->offset_bytes, values, span->size_bytes));
fail:
    vkf__free(host, learned);
    vkf__free(host, values);
    return status;
}

static vkf_status make_lowest(vkf_session *session)
{
    const float lowest = -INFINITY;
    const vkf__span *span = &session->spans.lowest;
    return vkf__present(span) ? vkf_buffer_write(span->buffer, span->offset_bytes, &lowest, sizeof lowest) : VKF_OK;
}

static void rotations(const vkf_model_config *config, uint32_t len, float *out_values)
{
    vkf__rotary_rows(&config->rotary, 0, len, 0, out_values);
}

static void window_rotations(const vkf_model_config *config, uint32_t len, float *out_values)
{
    vkf__rotary_rows(&config->window_rotary, 0, len, 0, out_values);
}

static vkf_status make_constants(vkf_session *session, const vkf__span *span, uint32_t dim,
                                 void (*fill)(const vkf_model_config *config, uint32_t len, float *out_values))
{
    vkf_status status = VKF_OK;
    float *values = NULL;
    if (!vkf__present(span))
        return VKF_OK;
    size_t count = (size_t)(span->size_bytes / sizeof *values);
    VKF_ALLOC(&session->context->host, values, count);
    fill(&session->model->config, (uint32_t)(count / dim), values);
    VKF_TRY(vkf_buffer_write(span->buffer, span->offset_bytes, values, span->size_bytes));
fail:
    vkf__free(&session->context->host, values);
    return status;
}

static vkf_status make_buffers(vkf_session *session, vkf__session_layout *layout)
{
    VKF_RETURN_IF_ERROR(make_buffer(session, VKF_MEMORY_DEVICE, layout->state_bytes, "session state", &session->state));
    for (uint32_t i = 0; i < session->model->config.num_decoder_layers; i++)
        VKF_RETURN_IF_ERROR(
            make_buffer(session, VKF_MEMORY_DEVICE, layout->layer_cache_bytes, CACHE_NAME, &session->caches[i]));
    VKF_RETURN_IF_ERROR(
        make_buffer(session, VKF_MEMORY_DEVICE, layout->constants_bytes, "session constants", &session->constants));
    VKF_RETURN_IF_ERROR(
        make_buffer(session, VKF_MEMORY_CONTROL, layout->ids_bytes, "session token ids", &session->ids));
    VKF_RETURN_IF_ERROR(
        make_buffer(session, VKF_MEMORY_DEVICE, session->arena_bytes, "session arena", &session->arena));
    // The second call puts the buffers into the spans.
    VKF_RETURN_IF_ERROR(vkf__session_lay_out(session, layout));
    VKF_RETURN_IF_ERROR(
        make_constants(session, &session->spans.positions, session->model->config.d_model, vkf__model_sinusoids));
    VKF_RETURN_IF_ERROR(make_constants(session, &session->spans.rotary, session->model->config.rotary.dim, rotations));
    VKF_RETURN_IF_ERROR(make_constants(session, &session->spans.window_rotary, session->model->config.window_rotary.dim,
                                       window_rotations));
    VKF_RETURN_IF_ERROR(make_bias(session, &session->model->weights.source.relative_bias, false,
                                  session->desc.max_source_len, &session->spans.source_bias));
    VKF_RETURN_IF_ERROR(make_bias(session, &session->model->weights.target.relative_bias, true,
                                  session->desc.max_target_len, &session->spans.target_bias));
    return make_lowest(session);
}

// Only steps take more than the first flight.
static uint32_t flights_of(const vkf_session *session, const vkf__stage *stage)
{
    return stage->group == VKF_STAGES_STEP ? session->flight_count : 1;
}

static vkf_status make_controls(vkf_session *session, vkf__stage *stage)
{
    for (uint32_t i = 0; i < flights_of(session, stage); i++)
        VKF_RETURN_IF_ERROR(vkf__buffer_create(&session->context->transfer, VKF_MEMORY_CONTROL, stage->control_bytes,
                                               stage->name, &stage->controls[i]));
    return VKF_OK;
}

static vkf_status record_stages(vkf_session *session)
{
    for (uint32_t i = 0; i < session->flight_count; i++)
        VKF_RETURN_IF_ERROR(
            vkf__submission_init(&session->flights[i].submission, &session->context->device, "session"));
    for (size_t i = 0; i < session->stage_count; i++)
        VKF_RETURN_IF_ERROR(make_controls(session, &session->stages[i]));
    for (vkf__stage_group group = VKF_STAGES_ENCODE; group < VKF_STAGES_COUNT; group++)
        VKF_RETURN_IF_ERROR(vkf__session_build_largest(session, group));
    return VKF_OK;
}

vkf_status vkf__session_create(vkf_model *model, const vkf_session_desc *desc, vkf_session **out_session)
{
    vkf_status status = VKF_OK;
    vkf_session *session = NULL;
    vkf__session_layout layout;
    VKF_ALLOC(&model->context->host, session, 1);
    session->references = 1;
    vkf__model_hold(model);
    vkf__context_hold(model->context, VKF_MADE_SESSION);
    VKF_TRY(plan_session(session, model, desc, true, &layout));
    VKF_TRY(make_buffers(session, &layout));
    VKF_TRY(vkf__kept_attention_make(session));
    VKF_TRY(vkf__rows_make(session));
    VKF_TRY(record_stages(session));
    *out_session = session;
    return VKF_OK;
fail:
    vkf_session_destroy(&session);
    return status;
}

static void free_host_side(vkf_session *session)
{
    const vkf__host *host = &session->context->host;
    vkf__session_free_classes(session);
    for (size_t i = 0; i < session->stage_count; i++)
        for (uint32_t f = 0; f < VKF_FLIGHTS; f++)
            vkf__buffer_destroy(&session->stages[i].controls[f]);
    vkf__free(host, session->stages);
    vkf__free(host, session->spans.self_k);
    vkf__free(host, session->spans.self_v);
    vkf__free(host, session->spans.cross_k);
    vkf__free(host, session->spans.cross_v);
    vkf__free(host, session->caches);
    vkf__kept_attention_free(session);
    vkf__rows_free(session);
}

void vkf__session_drop(vkf_session *s)
{
    vkf_context *context = s->context;
    vkf_model *model = s->model;
    if (--s->references > 0)
        return;
    const vkf_status ended = vkf__session_settle(s);
    (void)ended; // well or not, nothing runs any more
    for (uint32_t i = 0; s->caches && i < model->config.num_decoder_layers; i++)
        vkf__buffer_destroy(&s->caches[i]);
    free_host_side(s);
    for (uint32_t i = 0; i < VKF_FLIGHTS; i++)
        vkf__submission_finish(&s->flights[i].submission);
    vkf__buffer_destroy(&s->state);
    vkf__buffer_destroy(&s->constants);
    vkf__buffer_destroy(&s->ids);
    vkf__buffer_destroy(&s->arena);
    vkf__free(&context->host, s);
    vkf__model_drop(model);
    vkf__context_drop(context, VKF_MADE_SESSION);
}

void vkf_session_destroy(vkf_session **session)
{
    if (!session || !*session)
        return;
    if (!vkf__context_is_inherited((*session)->context))
        vkf__session_drop(*session);
    *session = NULL;
}

static vkf_status add_buffers(const vkf_session *session, const vkf__session_layout *layout, vkf_memory_plan *out_plan)
{
    const vkf_context *context = session->context;
    const vkf__planned_buffer constants = {"session constants", VKF_MEMORY_DEVICE, layout->constants_bytes};
    const vkf__planned_buffer state = {"session state", VKF_MEMORY_DEVICE, layout->state_bytes};
    const vkf__planned_buffer arena = {"session arena", VKF_MEMORY_DEVICE, session->arena_bytes};
    const vkf__planned_buffer cache = {CACHE_NAME, VKF_MEMORY_DEVICE, layout->layer_cache_bytes};
    const vkf__planned_buffer ids = {"session token ids", VKF_MEMORY_CONTROL, layout->ids_bytes};
    vkf__memory_plan_init(out_plan, context);
    VKF_RETURN_IF_ERROR(vkf__memory_plan_add(out_plan, context, constants, &out_plan->weights_bytes));
    VKF_RETURN_IF_ERROR(vkf__memory_plan_add(out_plan, context, state, &out_plan->activations_bytes));
    VKF_RETURN_IF_ERROR(vkf__memory_plan_add(out_plan, context, arena, &out_plan->activations_bytes));
    for (uint32_t i = 0; i < session->model->config.num_decoder_layers; i++)
        VKF_RETURN_IF_ERROR(vkf__memory_plan_add(out_plan, context, cache, &out_plan->cache_bytes));
    VKF_RETURN_IF_ERROR(vkf__memory_plan_add(out_plan, context, ids, &out_plan->control_bytes));
    for (size_t i = 0; i < session->stage_count; i++) {
        const vkf__stage *stage = &session->stages[i];
        const vkf__planned_buffer control = {stage->name, VKF_MEMORY_CONTROL, stage->control_bytes};
        for (uint32_t f = 0; f < flights_of(session, stage); f++)
            VKF_RETURN_IF_ERROR(vkf__memory_plan_add(out_plan, context, control, &out_plan->control_bytes));
    }
    return VKF_OK;
}

vkf_status vkf__session_plan(vkf_model *model, const vkf_session_desc *desc, vkf_memory_plan *out_plan)
{
    vkf_status status = VKF_OK;
    vkf_session session = {0};
    vkf__session_layout layout;
    vkf_memory_plan plan;
    VKF_TRY(plan_session(&session, model, desc, false, &layout));
    VKF_TRY(add_buffers(&session, &layout, &plan));
    *out_plan = plan;
fail:
    free_host_side(&session);
    return status;
}

// Stand for the buffers of a session of which none is allocated, so that a plan tells them apart.
typedef struct stand_ins {
    vkf_buffer state, constants, ids;
    vkf_buffer *caches; // num_decoder_layers
} stand_ins;

static vkf_status place_stand_ins(vkf_session *session, vkf_model *model, stand_ins *buffers)
{
    const uint32_t layers = model->config.num_decoder_layers;
    VKF_ALLOC_OR_RETURN(&model->context->host, buffers->caches, layers);
    VKF_ALLOC_OR_RETURN(&model->context->host, session->caches, layers);
    session->state = &buffers->state;
    session->constants = &buffers->constants;
    session->ids = &buffers->ids;
    for (uint32_t i = 0; i < layers; i++)
        session->caches[i] = &buffers->caches[i];
    return VKF_OK;
}

vkf_status vkf__session_watch(vkf_model *model, const vkf_session_desc *desc, vkf__plan_watcher *watcher)
{
    vkf_status status = VKF_OK;
    vkf_session session = {.model = model, .context = model->context, .watcher = watcher};
    vkf__session_layout layout;
    stand_ins buffers = {0};
    VKF_TRY(place_stand_ins(&session, model, &buffers));
    VKF_TRY(plan_session(&session, model, desc, false, &layout));
fail:
    free_host_side(&session);
    vkf__free(&model->context->host, buffers.caches);
    return status;
}
