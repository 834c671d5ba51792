// Makes a trainer: parameters, memory, and the recordings of a step.
#include "training/trainer.h"

#include <stdio.h>

#include "base/train/id_order.h"
#include "kernel/memory_plan.h"
#include "model/family/model_kind.h"

static uint32_t moments_of(const vkf_trainer_desc *desc)
{
    if (desc->optimizer == VKF_OPTIMIZER_SGD)
        return desc->momentum != 0 ? 1 : 0;
    return 2;
}

// Whose moments and gradients there are. Beside an adapter nothing trains that nobody names.
typedef struct chosen {
    const char *const *patterns;
    size_t count;
} chosen;

static chosen chosen_by(const vkf_trainer_desc *desc)
{
    static const char *const none[1];
    if (desc->lora_rank > 0 && !desc->trained)
        return (chosen){none, 0};
    return (chosen){desc->trained, desc->trained_count};
}

// Parameters of the model, and adapters.
static vkf_status make_parameters(vkf_trainer *t, const vkf_trainer_desc *desc, bool shape)
{
    const chosen c = chosen_by(desc);
    VKF_RETURN_IF_ERROR(shape
                            ? vkf__parameters_shape(t->model, c.patterns, c.count, moments_of(desc), &t->parameters)
                            : vkf__parameters_create(t->model, c.patterns, c.count, moments_of(desc), &t->parameters));
    if (desc->lora_rank == 0)
        return VKF_OK;
    VKF_RETURN_IF_ERROR(vkf__lora_init(desc, &t->parameters, shape, &t->lora));
    t->lora.dropout.stream = vkf__graph_streams(&t->model->config);
    t->tape.lora = &t->lora;
    return shape ? VKF_OK : vkf__lora_draw(&t->lora, desc->seed);
}

static void set_graph(vkf_trainer *t)
{
    const vkf_trainer_desc *desc = &t->desc;
    t->graph.model = t->model;
    t->graph.gradients = &t->parameters.gradients;
    t->graph.again = desc->recompute ? &t->again : NULL;
    t->graph.loss = (vkf__loss_state){
        .ignored = desc->ignored_label,
        .smoothing = desc->label_smoothing,
        .factor = 1,
    };
    t->graph.contrastive_scale = desc->loss == VKF_TRAIN_LOSS_CONTRASTIVE ? desc->contrastive_scale : 0;
    t->graph.dropout = (vkf__layer_dropout){
        .residual = desc->dropout,
        .attention = desc->attention_dropout,
        .activation = desc->activation_dropout,
    };
    vkf__trainer_seed(t);
}

void vkf__trainer_seed(vkf_trainer *t)
{
    const uint64_t index = t->desc.exchange ? t->desc.exchange->index : 0;
    t->graph.dropout.seed = t->lora.dropout.seed = t->state.seed + index * UINT64_C(0x9e3779b97f4a7c15);
}

static vkf_status name_layers(vkf_trainer *t)
{
    const vkf_model_config *config = &t->model->config;
    const uint32_t encoder = config->num_encoder_layers, decoder = config->num_decoder_layers;
    VKF_ALLOC_OR_RETURN(&t->context->host, t->graph.layer_names, (size_t)encoder + decoder + 1);
    for (uint32_t i = 0; i < encoder; i++)
        (void)snprintf(t->graph.layer_names[i], VKF_LAYER_NAME_MAX, "encoder.%u.", i);
    for (uint32_t i = 0; i < decoder; i++)
        (void)snprintf(t->graph.layer_names[encoder + i], VKF_LAYER_NAME_MAX, "decoder.%u.", i);
    return VKF_OK;
}

// One of the recordings, and what it is emitted with.
typedef struct recording {
    vkf__work *work;
    vkf__emit_fn emit;
    const void *args;
} recording;

#define RECORDINGS 3

static void list_recordings(vkf_trainer *t, const vkf__pass_args *largest, recording out[RECORDINGS])
{
    out[0] = (recording){&t->pass, vkf__emit_pass, largest};
    out[1] = (recording){&t->evaluation, vkf__emit_evaluation, largest};
    out[2] = (recording){&t->update, vkf__emit_update, &largest->trainer};
}

static vkf_status plan_each(vkf_trainer *t, bool proven)
{
    const vkf__pass_args largest = {t, vkf__trainer_max_sizes(t)};
    recording all[RECORDINGS];
    list_recordings(t, &largest, all);
    vkf__work_init(&t->pass, t->context, "train");
    vkf__work_init(&t->evaluation, t->context, "evaluate");
    vkf__work_init(&t->update, t->context, "update");
    for (size_t i = 0; i < RECORDINGS; i++) {
        if (proven)
            VKF_RETURN_IF_ERROR(vkf__work_plan_proven(all[i].work, all[i].emit, all[i].args));
        else
            VKF_RETURN_IF_ERROR(vkf__work_plan(all[i].work, all[i].emit, all[i].args));
        if (all[i].work->plan.arena_bytes > t->arena_bytes)
            t->arena_bytes = all[i].work->plan.arena_bytes;
    }
    return VKF_OK;
}

// Plans before there are buffers: others stand in for these, so that a plan tells them apart.
static vkf_status plan_recordings(vkf_trainer *t, bool proven)
{
    vkf_buffer stand_ins[3] = {0};
    t->inputs = &stand_ins[0];
    t->constants = &stand_ins[1];
    t->results = &stand_ins[2];
    vkf_status status = vkf__trainer_lay_out(t);
    if (status == VKF_OK)
        status = plan_each(t, proven);
    t->inputs = t->constants = t->results = NULL;
    return status;
}

static vkf_status build_recordings(vkf_trainer *t)
{
    const vkf__pass_args largest = {t, vkf__trainer_max_sizes(t)};
    recording all[RECORDINGS];
    list_recordings(t, &largest, all);
    VKF_RETURN_IF_ERROR(vkf__submission_init(&t->submission, &t->context->device, "trainer"));
    for (size_t i = 0; i < RECORDINGS; i++)
        VKF_RETURN_IF_ERROR(vkf__work_build(all[i].work, t->arena, all[i].emit, all[i].args));
    VKF_RETURN_IF_ERROR(vkf__recording_add(&t->pass_and_update, &t->pass, &t->submission));
    t->pass_parts = t->pass_and_update.count;
    VKF_RETURN_IF_ERROR(vkf__recording_add(&t->pass_and_update, &t->update, &t->submission));
    return vkf__recording_add(&t->evaluation_parts, &t->evaluation, &t->submission);
}

static vkf_status make_exchange(vkf_trainer *t)
{
    if (!t->desc.exchange)
        return VKF_OK;
    VKF_ALLOC_OR_RETURN(&t->context->host, t->exchange, 1);
    VKF_RETURN_IF_ERROR(vkf__exchange_init(t->exchange, t->desc.exchange, &t->parameters, &t->pass, &t->update));
    t->desc.exchange = &t->exchange->calls;
    return VKF_OK;
}

static vkf_status make_buffer(vkf_trainer *t, vkf__memory_class class, uint64_t bytes, const char *name,
                              vkf_buffer **out_buffer)
{
    if (bytes == 0)
        return VKF_OK;
    VKF_RETURN_IF_ERROR(vkf__buffer_create(&t->context->transfer, class, bytes, name, out_buffer));
    return vkf__buffer_clear(*out_buffer);
}

static uint32_t most_rows(const vkf_trainer *t)
{
    const vkf_model_config *config = &t->model->config;
    const vkf__weights *weights = &t->model->weights;
    const uint32_t rows[] = {config->source_vocab,
                             config->target_vocab,
                             config->token_types,
                             config->relative_buckets,
                             weights->source.positions.shape[0],
                             weights->target.positions.shape[0]};
    uint32_t most = 1;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        most = rows[i] > most ? rows[i] : most;
    return most;
}

static vkf_status make_scratch(vkf_trainer *t)
{
    const vkf__graph_sizes most = vkf__trainer_max_sizes(t);
    const uint32_t len = most.len[0] > most.len[1] ? most.len[0] : most.len[1];
    VKF_ALLOC_OR_RETURN(&t->context->host, t->id_scratch, most_rows(t));
    const uint32_t tokens = (most.batch > 2 ? most.batch : 2) * len; // or distances, twice as many as positions
    VKF_ALLOC_OR_RETURN(&t->context->host, t->token_scratch, tokens);
    VKF_ALLOC_OR_RETURN(&t->context->host, t->list_scratch, vkf__id_order_length(tokens));
    return VKF_OK;
}

static vkf_status make_buffers(vkf_trainer *t)
{
    VKF_RETURN_IF_ERROR(make_buffer(t, VKF_MEMORY_CONTROL, t->inputs_bytes, "training inputs", &t->inputs));
    VKF_RETURN_IF_ERROR(make_buffer(t, VKF_MEMORY_DEVICE, t->constants_bytes, "training constants", &t->constants));
    VKF_RETURN_IF_ERROR(make_buffer(t, VKF_MEMORY_CONTROL, t->results_bytes, "training results", &t->results));
    VKF_RETURN_IF_ERROR(make_buffer(t, VKF_MEMORY_DEVICE, t->arena_bytes, "training activations", &t->arena));
    // The second time buffers get into the spans.
    VKF_RETURN_IF_ERROR(vkf__trainer_lay_out(t));
    return vkf__trainer_write_constants(t);
}

static vkf_trainer *begin(vkf_trainer *t, vkf_model *model, const vkf_trainer_desc *desc)
{
    t->context = model->context;
    t->model = model;
    t->desc = *desc;
    t->desc.trained = NULL; // the caller's, and only for now
    t->desc.trained_count = 0;
    t->desc.lora_targets = NULL;
    t->desc.lora_target_count = 0;
    t->state.seed = desc->seed;
    t->state.loss_scale = vkf__trainer_first_scale(t);
    vkf__tape_init(&t->tape, &t->context->host);
    vkf__tape_init(&t->again, &t->context->host);
    t->tape.products = t->again.products = desc->mixed_precision;
    t->again.accumulates = true;
    return t;
}

vkf_status vkf__trainer_create(vkf_model *model, const vkf_trainer_desc *desc, vkf_trainer **out_trainer)
{
    vkf_status status = VKF_OK;
    vkf_trainer *t = NULL;
    VKF_ALLOC_OR_RETURN(&model->context->host, t, 1);
    vkf__model_hold(model);
    vkf__context_hold(model->context, VKF_MADE_TRAINER);
    (void)begin(t, model, desc);
    VKF_TRY(make_parameters(t, desc, false));
    set_graph(t);
    VKF_TRY(name_layers(t));
    VKF_TRY(make_scratch(t));
    VKF_TRY(plan_recordings(t, true));
    VKF_TRY(make_buffers(t));
    VKF_TRY(build_recordings(t));
    VKF_TRY(make_exchange(t));
    *out_trainer = t;
    return VKF_OK;
fail:
    vkf__trainer_free(t);
    return status;
}

static void free_host_side(vkf_trainer *t)
{
    const vkf__host *host = &t->context->host;
    vkf__recording_free(&t->pass_and_update, host);
    vkf__recording_free(&t->evaluation_parts, host);
    vkf__work_finish(&t->pass);
    vkf__work_finish(&t->evaluation);
    vkf__work_finish(&t->update);
    vkf__tape_finish(&t->tape);
    vkf__tape_finish(&t->again);
    vkf__lora_free(&t->lora);
    vkf__parameters_free(&t->parameters);
    vkf__free(host, t->graph.layer_names);
    vkf__free(host, t->id_scratch);
    vkf__free(host, t->token_scratch);
    vkf__free(host, t->list_scratch);
}

void vkf__trainer_free(vkf_trainer *t)
{
    vkf_context *context = t->context;
    vkf_model *model = t->model;
    if (t->exchange)
        vkf__exchange_free(t->exchange);
    vkf__free(&context->host, t->exchange);
    free_host_side(t);
    vkf__submission_finish(&t->submission);
    vkf__buffer_destroy(&t->inputs);
    vkf__buffer_destroy(&t->constants);
    vkf__buffer_destroy(&t->results);
    vkf__buffer_destroy(&t->arena);
    vkf__free(&context->host, t);
    vkf__model_drop(model);
    vkf__context_drop(context, VKF_MADE_TRAINER);
}

static vkf_status add_buffers(const vkf_trainer *t, vkf_memory_plan *plan)
{
    const vkf__planned_buffer kept[] = {
        {"training inputs", VKF_MEMORY_CONTROL, t->inputs_bytes},
        {"training results", VKF_MEMORY_CONTROL, t->results_bytes},
        {t->pass.name, VKF_MEMORY_CONTROL, vkf__work_control_bytes(&t->pass)},
        {t->evaluation.name, VKF_MEMORY_CONTROL, vkf__work_control_bytes(&t->evaluation)},
        {t->update.name, VKF_MEMORY_CONTROL, vkf__work_control_bytes(&t->update)},
    };
    const vkf__planned_buffer constants = {"training constants", VKF_MEMORY_DEVICE, t->constants_bytes};
    const vkf__planned_buffer arena = {"training activations", VKF_MEMORY_DEVICE, t->arena_bytes};
    const vkf__planned_buffer exchange = {"training exchange", VKF_MEMORY_STAGING,
                                          t->desc.exchange ? vkf__exchange_bytes(&t->parameters) : 0};
    VKF_RETURN_IF_ERROR(vkf__memory_plan_add(plan, t->context, exchange, &plan->control_bytes));
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++)
        VKF_RETURN_IF_ERROR(vkf__memory_plan_add(plan, t->context, kept[i], &plan->control_bytes));
    VKF_RETURN_IF_ERROR(vkf__memory_plan_add(plan, t->context, constants, &plan->weights_bytes));
    return vkf__memory_plan_add(plan, t->context, arena, &plan->activations_bytes);
}

vkf_status vkf__trainer_plan(vkf_model *model, const vkf_trainer_desc *desc, vkf_memory_plan *out_plan)
{
    vkf_status status = VKF_OK;
    vkf_trainer t = {0};
    vkf_memory_plan plan;
    (void)begin(&t, model, desc);
    vkf__memory_plan_init(&plan, t.context);
    const chosen c = chosen_by(desc);
    VKF_TRY(vkf__parameters_plan(model, c.patterns, c.count, moments_of(desc), &plan));
    VKF_TRY(make_parameters(&t, desc, true));
    VKF_TRY(vkf__parameters_plan_added(&t.parameters, &plan));
    set_graph(&t);
    VKF_TRY(name_layers(&t));
    VKF_TRY(plan_recordings(&t, false));
    VKF_TRY(add_buffers(&t, &plan));
    *out_plan = plan;
fail:
    free_host_side(&t);
    return status;
}
