// Which stages a session of each kind of model has, and in which order.
#include "model/session/session_stages.h"

#include <stdio.h>

#include "model/session/session_emitters.h"
#include "model/session/session_layout.h"

static const char *const group_names[VKF_STAGES_COUNT] = {"encoder", "decoder", "step"};

const char *vkf__stage_group_name(vkf__stage_group group)
{
    return group_names[group];
}

// The stages of a group, in order: one before the layers, one for each layer, one after them.
typedef struct group_stages {
    vkf__stage_emitter embed; // NULL: the input is embedded already
    vkf__stage_emitter bias;  // of a part that does not embed, where positions are biases; NULL: there is nothing to do
    vkf__stage_emitter layer; // NULL: the kind has no such group
    vkf__stage_emitter head;
    bool norm_alone; // the head is only the final norm, and absent where the model has none
    bool for_logits; // the group exists only for callers that ask for logits; generation does not need it
} group_stages;

static const group_stages stages_of_kind[VKF_MODEL_KIND_COUNT][VKF_STAGES_COUNT] = {
    [VKF_MODEL_TRANSFORMER] =
        {
            [VKF_STAGES_ENCODE] = {.layer = vkf__emit_source_layer, .head = vkf__emit_source_norm, .norm_alone = true},
            [VKF_STAGES_DECODE] = {.layer = vkf__emit_target_layer, .head = vkf__emit_target_norm, .norm_alone = true},
        },
    [VKF_MODEL_SEQ2SEQ] =
        {
            [VKF_STAGES_ENCODE] = {.embed = vkf__emit_source_tokens,
                                   .layer = vkf__emit_source_layer,
                                   .head = vkf__emit_source_norm,
                                   .norm_alone = true},
            [VKF_STAGES_DECODE] = {.embed = vkf__emit_target_tokens,
                                   .layer = vkf__emit_target_layer,
                                   .head = vkf__emit_target_logits,
                                   .for_logits = true},
            [VKF_STAGES_STEP] = {.embed = vkf__emit_step_tokens,
                                 .bias = vkf__emit_step_bias,
                                 .layer = vkf__emit_target_step_layer,
                                 .head = vkf__emit_step_choice},
        },
    [VKF_MODEL_ENCODER] =
        {
            [VKF_STAGES_ENCODE] = {.embed = vkf__emit_source_tokens,
                                   .layer = vkf__emit_source_layer,
                                   .head = vkf__emit_encoder_head},
        },
    [VKF_MODEL_DECODER] =
        {
            [VKF_STAGES_DECODE] = {.embed = vkf__emit_target_tokens,
                                   .layer = vkf__emit_prompt_layer,
                                   .head = vkf__emit_prompt_choice},
            [VKF_STAGES_STEP] = {.embed = vkf__emit_step_tokens,
                                 .layer = vkf__emit_prompt_step_layer,
                                 .head = vkf__emit_step_choice},
        },
};

static uint32_t layers_of(const vkf_session *session, vkf__stage_group group)
{
    const vkf_model_config *config = &session->model->config;
    return group == VKF_STAGES_ENCODE ? config->num_encoder_layers : config->num_decoder_layers;
}

static bool has_group(const vkf_session *session, vkf__stage_group group, const group_stages *stages)
{
    if (!stages->layer || group == VKF_STAGES_ENCODE)
        return stages->layer != NULL;
    return layers_of(session, group) > 0 && (!stages->for_logits || session->desc.max_logit_rows > 0) &&
           (group != VKF_STAGES_STEP || session->desc.max_target_len > 1);
}

static vkf__stage *add_stage(vkf_session *session, vkf__stage_group group, vkf__stage_emitter emit)
{
    vkf__stage *stage = &session->stages[session->stage_count++];
    *stage = (vkf__stage){.group = group, .emit = emit};
    return stage;
}

static void add_end(vkf_session *session, vkf__stage_group group, vkf__stage_emitter emit, const char *name)
{
    vkf__stage *stage = add_stage(session, group, emit);
    snprintf(stage->name, sizeof stage->name, "%s.%s", group_names[group], name);
}

static void add_layer(vkf_session *session, vkf__stage_group group, vkf__stage_emitter emit, uint32_t layer)
{
    vkf__stage *stage = add_stage(session, group, emit);
    stage->layer = layer;
    snprintf(stage->name, sizeof stage->name, "%s.%u", group_names[group],
             vkf__part_layer(&session->model->part, group != VKF_STAGES_ENCODE) + layer);
}

static void add_group(vkf_session *session, vkf__stage_group group, const group_stages *stages)
{
    const vkf__layer_part *part = &session->model->part;
    const bool target = group != VKF_STAGES_ENCODE, begins = vkf__part_begins(part, target);
    uint32_t layers = layers_of(session, group);
    if (stages->embed && begins)
        add_end(session, group, stages->embed, "embed");
    if (stages->bias && !begins && session->model->config.relative_buckets > 0)
        add_end(session, group, stages->bias, "bias");
    for (uint32_t i = 0; i < layers; i++)
        add_layer(session, group, stages->layer, i);
    // PyTorch refuses a stack without layers; here such a stack passes its input on unchanged, without a norm.
    if (layers > 0 && vkf__part_ends(part, target) && (!stages->norm_alone || session->model->config.final_norm))
        add_end(session, group, stages->head, "head");
}

vkf_status vkf__session_make_stages(vkf_session *session)
{
    const vkf_model_config *config = &session->model->config;
    const group_stages *stages = stages_of_kind[config->kind];
    size_t most = (size_t)config->num_encoder_layers + 2 * (size_t)config->num_decoder_layers + 6;
    VKF_ALLOC_OR_RETURN(&session->context->host, session->stages, most);
    for (vkf__stage_group group = VKF_STAGES_ENCODE; group < VKF_STAGES_COUNT; group++) {
        session->group_begin[group] = session->stage_count;
        if (has_group(session, group, &stages[group]))
            add_group(session, group, &stages[group]);
    }
    session->group_begin[VKF_STAGES_COUNT] = session->stage_count;
    return VKF_OK;
}

vkf__session_sizes vkf__session_max_sizes(const vkf_session *session, vkf__stage_group group)
{
    const vkf_session_desc *desc = &session->desc;
    bool step = group == VKF_STAGES_STEP;
    uint32_t rows =
        vkf__facts_of(&session->model->config)->prompts && desc->max_logit_rows == 0 ? 1 : desc->max_logit_rows;
    return (vkf__session_sizes){
        .batch = desc->max_batch,
        .source_len = desc->max_source_len,
        .target_len = step ? 1 : desc->max_prompt_len,
        .target_past = desc->max_target_len - (step ? 1 : desc->max_prompt_len),
        .logit_rows = step || vkf__session_has_head(session) ? 1 : rows,
        .samples = true,
        .searches = true,
        .project_memory = true,
        .beams = step ? desc->max_beams : 1,
        .move_count = step && desc->max_beams > 1 ? desc->max_batch * desc->max_beams : 0,
        .candidates = vkf__max_candidates(session),
    };
}

vkf_status vkf__emit_stage(vkf__work *work, const void *args)
{
    const vkf__stage_emission *e = args;
    (void)work; // the stage emits into its own
    return e->stage->emit(e->session, e->stage, e->sizes);
}
