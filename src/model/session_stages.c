#include <math.h>
#include <stdio.h>

#include "model/session.h"
#include "op/argmax.h"
#include "op/embed.h"
#include "op/gemm.h"
#include "op/layer_norm.h"
#include "op/sample.h"

static const char *const group_names[VKF_STAGES_COUNT] = {"encoder", "decoder", "step"};

static bool has_group(const vkf_session *session, vkf__stage_group group)
{
    const vkf_model_config *config = &session->model->config;
    switch (group) {
    case VKF_STAGES_ENCODE:
        return config->kind != VKF_MODEL_DECODER;
    case VKF_STAGES_DECODE:
        return config->num_decoder_layers > 0 &&
               (config->kind != VKF_MODEL_SEQ2SEQ || session->desc.max_logit_rows > 0);
    case VKF_STAGES_STEP:
        return config->num_decoder_layers > 0 && config->kind != VKF_MODEL_TRANSFORMER &&
               session->desc.max_target_len > 1;
    case VKF_STAGES_COUNT:
        break;
    }
    return false;
}

static void add_stage(vkf_session *session, vkf__stage_group group, vkf__stage_kind kind, uint32_t layer)
{
    vkf__stage *stage = &session->stages[session->stage_count++];
    *stage = (vkf__stage){.group = group, .kind = kind, .layer = layer};
    if (kind == VKF_STAGE_LAYER)
        snprintf(stage->name, sizeof stage->name, "%s.%u", group_names[group], layer);
    else
        snprintf(stage->name, sizeof stage->name, "%s.%s", group_names[group],
                 kind == VKF_STAGE_EMBED ? "embed" : "head");
}

vkf_status vkf__session_make_stages(vkf_session *session)
{
    vkf_status status = VKF_OK;
    const vkf_model_config *config = &session->model->config;
    size_t most = (size_t)config->num_encoder_layers + 2 * (size_t)config->num_decoder_layers + 6;
    VKF_ALLOC(&session->context->host, session->stages, most);
    for (vkf__stage_group group = VKF_STAGES_ENCODE; group < VKF_STAGES_COUNT; group++) {
        session->group_begin[group] = session->stage_count;
        if (!has_group(session, group))
            continue;
        uint32_t layers = group == VKF_STAGES_ENCODE ? config->num_encoder_layers : config->num_decoder_layers;
        if (config->kind != VKF_MODEL_TRANSFORMER)
            add_stage(session, group, VKF_STAGE_EMBED, 0);
        for (uint32_t i = 0; i < layers; i++)
            add_stage(session, group, VKF_STAGE_LAYER, i);
        // PyTorch refuses a stack without layers; here it hands its input on as it is.
        if (layers > 0)
            add_stage(session, group, VKF_STAGE_HEAD, 0);
    }
    session->group_begin[VKF_STAGES_COUNT] = session->stage_count;
fail:
    return status;
}

vkf__session_sizes vkf__session_max_sizes(const vkf_session *session, vkf__stage_group group)
{
    const vkf_session_desc *desc = &session->desc;
    bool step = group == VKF_STAGES_STEP;
    uint32_t rows =
        session->model->config.kind == VKF_MODEL_DECODER && desc->max_logit_rows == 0 ? 1 : desc->max_logit_rows;
    return (vkf__session_sizes){
        .batch = desc->max_batch,
        .source_len = desc->max_source_len,
        .target_len = step ? 1 : desc->max_prompt_len,
        .target_past = desc->max_target_len - (step ? 1 : desc->max_prompt_len),
        .logit_rows = step || vkf__session_has_head(session) ? 1 : rows,
        .choose = true,
        .project_memory = true,
    };
}

static vkf_status emit_source_embed(vkf_session *session, vkf__stage *stage, const vkf__session_sizes *sizes)
{
    const vkf_model_config *config = &session->model->config;
    const vkf__session_spans *s = &session->spans;
    const vkf__embed_args embed = {
        .label = "embed",
        .ids = s->source_ids,
        .table = vkf__span_of(&session->model->weights.source_embedding),
        .positions = s->positions,
        .out = s->memory,
        .batch = sizes->batch,
        .len = sizes->source_len,
        .dim = config->d_model,
        .vocab = config->source_vocab,
        .ids_stride = sizes->source_len,
        .scale = sqrtf((float)config->d_model),
    };
    return vkf__emit_embed(&stage->work, &embed);
}

static vkf_status emit_target_embed(vkf_session *session, vkf__stage *stage, const vkf__session_sizes *sizes)
{
    const vkf_model_config *config = &session->model->config;
    const vkf__weights *weights = &session->model->weights;
    const vkf__session_spans *s = &session->spans;
    bool learned = config->kind == VKF_MODEL_DECODER;
    const vkf__embed_args embed = {
        .label = "embed",
        .ids = s->target_ids,
        .table = vkf__span_of(&weights->target_embedding),
        .positions = learned ? vkf__span_of(&weights->positions) : s->positions,
        .out = s->hidden,
        .batch = sizes->batch,
        .len = sizes->target_len,
        .dim = config->d_model,
        .vocab = config->target_vocab,
        .ids_stride = vkf__ids_row(session),
        .ids_first = vkf__ids_lead(session) + sizes->target_past,
        .first_position = sizes->target_past,
        .padding_leads = learned,
        .scale = learned ? 1.0f : sqrtf((float)config->d_model),
    };
    return vkf__emit_embed(&stage->work, &embed);
}

// Words and their learned positions, then LN(those + token types): an encoder's embedding.
static vkf_status emit_encoder_embed(vkf_session *session, vkf__stage *stage, const vkf__session_sizes *sizes)
{
    vkf_status status = VKF_OK;
    const vkf_model_config *config = &session->model->config;
    const vkf__weights *weights = &session->model->weights;
    const vkf__session_spans *s = &session->spans;
    const vkf__span positions = vkf__span_of(&weights->positions);
    vkf__embed_args embed = {
        .label = "embed",
        .ids = s->source_ids,
        .table = vkf__span_of(&weights->source_embedding),
        .positions = vkf__present(&positions)
                         ? vkf__span_part(&positions, (uint64_t)config->position_offset * config->d_model,
                                          (uint64_t)config->max_source_len * config->d_model)
                         : positions,
        .out = s->memory,
        .batch = sizes->batch,
        .len = sizes->source_len,
        .dim = config->d_model,
        .vocab = config->source_vocab,
        .ids_stride = sizes->source_len,
        .scale = 1.0f,
    };
    vkf__layer_norm_args norm = {
        .label = "embed_norm",
        .x = s->memory,
        .out = s->memory,
        .weight = vkf__span_of(&weights->embedding_norm.weight),
        .bias = vkf__span_of(&weights->embedding_norm.bias),
        .rows = sizes->batch * sizes->source_len,
        .dim = config->d_model,
        .eps = config->layer_norm_eps,
    };
    VKF_TRY(vkf__emit_embed(&stage->work, &embed));
    if (vkf__present(&s->source_types)) {
        embed.label = "embed_types";
        embed.ids = s->source_types;
        embed.table = vkf__span_of(&weights->token_types);
        embed.positions = (vkf__span){0};
        embed.vocab = config->token_types;
        VKF_TRY(vkf__work_temp(&stage->work, s->memory.dtype, (uint64_t)norm.rows * norm.dim, &embed.out));
        VKF_TRY(vkf__emit_embed(&stage->work, &embed));
        norm.residual = embed.out;
        norm.residual_order = VKF_RESIDUAL_BEFORE;
    }
    VKF_TRY(vkf__emit_layer_norm(&stage->work, &norm));
fail:
    return status;
}

// What a layer of an ENCODER or a DECODER may have beyond those of nn.Transformer.
static void set_traits(const vkf_session *session, const vkf__stage *stage, const vkf__layer_weights *w,
                       vkf__transformer_block *block)
{
    const vkf_model_config *config = &session->model->config;
    const vkf__session_spans *s = &session->spans;
    vkf__attention_block *self = &block->self;
    bool windowed = config->windowed_layers[stage->layer / 32] >> stage->layer % 32 & 1;
    bool own_rotary = windowed && config->window_rotary.dim > 0;
    block->parallel = config->parallel;
    block->no_first_norm = config->no_first_norm && stage->layer == 0;
    block->norm_kind = config->norm;
    block->feed_forward.gate = vkf__span_of(&w->gate.weight);
    block->feed_forward.gate_bias = vkf__span_of(&w->gate.bias);
    self->kv_heads = config->num_kv_heads;
    self->head_dim = self->v_head_dim = config->head_dim;
    self->q_norm = vkf__span_of(&w->q_norm);
    self->k_norm = vkf__span_of(&w->k_norm);
    self->norm_eps = config->layer_norm_eps;
    self->rotary = own_rotary ? s->window_rotary : s->rotary;
    self->rotary_dim = own_rotary ? config->window_rotary.dim : config->rotary.dim;
    if (windowed && config->kind == VKF_MODEL_DECODER)
        self->mask.window = config->window;
    if (windowed && config->kind == VKF_MODEL_ENCODER) {
        self->ahead = config->window / 2;
        self->mask.causal = VKF_CAUSAL_TOP_LEFT;
        self->mask.window = 2 * self->ahead + 1;
    }
}

static vkf__transformer_block block_of(const vkf_session *session, const vkf__stage *stage)
{
    const vkf_model *model = session->model;
    const vkf_model_config *config = &model->config;
    bool encoder = stage->group == VKF_STAGES_ENCODE;
    const vkf__layer_weights *w =
        encoder ? &model->weights.encoder[stage->layer] : &model->weights.decoder[stage->layer];
    vkf_transformer_layer_desc desc = {
        .d_model = config->d_model,
        .num_heads = config->num_heads,
        .dim_feedforward = config->dim_feedforward,
        .activation = config->activation,
        .norm_first = config->norm_first,
        .layer_norm_eps = config->layer_norm_eps,
        .self = w->self,
        .cross = w->cross,
        .feed_forward = w->feed_forward,
        .norm1 = w->norm[0],
        .norm2 = w->norm[1],
        .norm3 = w->norm[2],
        .self_mask = encoder ? session->desc.source_mask : session->desc.target_mask,
        .cross_mask = session->desc.memory_mask,
        .fully_masked = session->desc.fully_masked,
        .dtype = model->dtype,
    };
    // A step sees everything before it: the target's own masks are for whole sequences.
    if (stage->group == VKF_STAGES_STEP && config->kind == VKF_MODEL_SEQ2SEQ)
        desc.self_mask = (vkf_attention_mask){.causal = VKF_CAUSAL_TOP_LEFT};
    vkf__transformer_block block = vkf__transformer_block_of(&desc);
    if (config->kind == VKF_MODEL_ENCODER || config->kind == VKF_MODEL_DECODER)
        set_traits(session, stage, w, &block);
    return block;
}

static vkf_status emit_encoder(vkf_session *session, vkf__stage *stage, const vkf__session_sizes *sizes)
{
    const vkf__session_spans *s = &session->spans;
    const vkf__transformer_block block = block_of(session, stage);
    const vkf__transformer_io io = {
        .x = s->memory,
        .self = {.mask = s->source_mask, .key_mask = s->source_key_mask},
    };
    const vkf__attention_sizes self = {sizes->batch, sizes->source_len, sizes->source_len, sizes->source_len, 0};
    return vkf__emit_encoder_layer(&stage->work, &block, &io, &self);
}

static vkf_status emit_decoder(vkf_session *session, vkf__stage *stage, const vkf__session_sizes *sizes)
{
    const vkf__session_spans *s = &session->spans;
    const vkf__transformer_block block = block_of(session, stage);
    uint32_t i = stage->layer;
    const vkf__transformer_io io = {
        .x = s->hidden,
        .self = {.mask = s->target_mask,
                 .key_mask = s->target_key_mask,
                 .key_mask_row = session->model->config.kind == VKF_MODEL_DECODER ? session->desc.max_target_len : 0,
                 .cache_k = s->self_k[i],
                 .cache_v = s->self_v[i],
                 .cache_len = session->desc.max_target_len},
        .cross = {.key = s->memory,
                  .mask = s->memory_mask,
                  .key_mask = s->memory_key_mask,
                  .weights_per_head = s->attention[i],
                  .cache_k = s->cross_k[i],
                  .cache_v = s->cross_v[i],
                  .cache_len = session->desc.max_source_len},
    };
    const vkf__attention_sizes self = {
        .batch = sizes->batch,
        .query_len = sizes->target_len,
        .key_len = sizes->target_past + sizes->target_len,
        .key_new = sizes->target_len,
        .key_past = sizes->target_past,
    };
    const vkf__attention_sizes cross = {
        .batch = sizes->batch,
        .query_len = sizes->target_len,
        .key_len = sizes->source_len,
        .key_new = sizes->project_memory ? sizes->source_len : 0,
    };
    if (session->model->config.kind == VKF_MODEL_DECODER)
        return vkf__emit_encoder_layer(&stage->work, &block, &io, &self); // a decoder without memory
    return vkf__emit_decoder_layer(&stage->work, &block, &io, &self, &cross);
}

vkf_status vkf__emit_final_norm(vkf_session *session, vkf__stage *stage, const vkf__session_sizes *sizes)
{
    bool encoder = stage->group == VKF_STAGES_ENCODE;
    const vkf__weights *weights = &session->model->weights;
    vkf_model_kind kind = session->model->config.kind;
    const vkf_norm_weights *norm = kind == VKF_MODEL_ENCODER || kind == VKF_MODEL_DECODER ? &weights->final_norm
                                   : encoder                                              ? &weights->encoder_norm
                                                                                          : &weights->decoder_norm;
    const vkf__span x = encoder ? session->spans.memory : session->spans.hidden;
    const vkf__layer_norm_args args = {
        .label = "norm",
        .x = x,
        .out = x,
        .weight = vkf__span_of(&norm->weight),
        .bias = vkf__span_of(&norm->bias),
        .rows = sizes->batch * (encoder ? sizes->source_len : sizes->target_len),
        .dim = session->model->config.d_model,
        .eps = session->model->config.layer_norm_eps,
        .rms = session->model->config.norm == VKF_NORM_RMS,
    };
    return vkf__emit_layer_norm(&stage->work, &args);
}

// The logits of all positions, or of the last one of each sequence.
static vkf_status emit_logits(vkf_session *session, vkf__stage *stage, const vkf__session_sizes *sizes)
{
    const vkf_model_config *config = &session->model->config;
    const vkf__weights *weights = &session->model->weights;
    uint32_t d = config->d_model;
    bool all = sizes->logit_rows == sizes->target_len;
    const vkf__gemm_args logits = {
        .label = "generator",
        .a = session->spans.hidden,
        .b = vkf__span_of(&weights->projection),
        .bias = vkf__span_of(&weights->projection_bias),
        .d = session->spans.logits,
        .m = sizes->batch * sizes->logit_rows,
        .n = config->target_vocab,
        .k = d,
        .batch = 1,
        .lda = all ? d : sizes->target_len * d,
        .ldb = d,
        .ldd = config->target_vocab,
        .a_first = all ? 0 : (uint64_t)(sizes->target_len - 1) * d,
        .transpose_b = true,
        .alpha = 1.0f,
    };
    return vkf__emit_gemm(&stage->work, &logits);
}

// Whether drawing, or a penalty, decides over the largest logit.
static bool samples(const vkf_session *session)
{
    return session->sampling.temperature > 0.0f || session->sampling.repetition_penalty != 1.0f;
}

static vkf_status emit_argmax(vkf_session *session, vkf__stage *stage, const vkf__session_sizes *sizes, uint32_t rows)
{
    const vkf__argmax_args argmax = {
        .label = "argmax",
        .x = session->spans.logits,
        .out = session->spans.target_ids,
        .rows = rows,
        .cols = session->model->config.target_vocab,
        .out_stride = vkf__ids_row(session),
        .out_first = vkf__ids_lead(session) + sizes->target_past + sizes->target_len,
    };
    return vkf__emit_argmax(&stage->work, &argmax);
}

static vkf_status emit_sample(vkf_session *session, vkf__stage *stage, const vkf__session_sizes *sizes, uint32_t rows)
{
    const vkf_sampling *sampling = &session->sampling;
    const vkf__sample_args sample = {
        .label = "sample",
        .x = session->spans.logits,
        .seen = session->spans.seen,
        .out = session->spans.target_ids,
        .rows = rows,
        .cols = session->model->config.target_vocab,
        .out_stride = vkf__ids_row(session),
        .out_first = vkf__ids_lead(session) + sizes->target_past + sizes->target_len,
        .temperature = sampling->temperature,
        .top_k = sampling->top_k,
        .top_p = sampling->top_p,
        .min_p = sampling->min_p,
        .repetition_penalty = sampling->repetition_penalty,
        .seed = sampling->seed,
        .step = sizes->target_past + sizes->target_len,
    };
    return vkf__emit_sample(&stage->work, &sample);
}

// Both ways of choosing are recorded; in a run one of them has nothing to do.
static vkf_status emit_choice(vkf_session *session, vkf__stage *stage, const vkf__session_sizes *sizes)
{
    vkf_status status = VKF_OK;
    uint32_t rows = sizes->choose ? sizes->batch : 0;
    if (session->model->config.kind != VKF_MODEL_DECODER)
        return emit_argmax(session, stage, sizes, rows);
    bool planned = stage->work.mode != VKF_WORK_UPDATE;
    VKF_TRY(emit_argmax(session, stage, sizes, planned || !samples(session) ? rows : 0));
    VKF_TRY(emit_sample(session, stage, sizes, planned || samples(session) ? rows : 0));
fail:
    return status;
}

// Behind a decoder: the final norm, logits, and the next token where one is to be chosen from them.
static vkf_status emit_decoder_head(vkf_session *session, vkf__stage *stage, const vkf__session_sizes *sizes)
{
    vkf_status status = VKF_OK;
    vkf_model_kind kind = session->model->config.kind;
    VKF_TRY(vkf__emit_final_norm(session, stage, sizes));
    if (kind == VKF_MODEL_TRANSFORMER)
        return VKF_OK;
    VKF_TRY(emit_logits(session, stage, sizes));
    if (kind == VKF_MODEL_DECODER || stage->group == VKF_STAGES_STEP)
        VKF_TRY(emit_choice(session, stage, sizes));
fail:
    return status;
}

static vkf_status emit_embed(vkf_session *session, vkf__stage *stage, const vkf__session_sizes *sizes)
{
    if (stage->group != VKF_STAGES_ENCODE)
        return emit_target_embed(session, stage, sizes);
    if (session->model->config.kind == VKF_MODEL_ENCODER)
        return emit_encoder_embed(session, stage, sizes);
    return emit_source_embed(session, stage, sizes);
}

vkf_status vkf__stage_emit(vkf_session *session, vkf__stage *stage, const vkf__session_sizes *sizes)
{
    bool encoder = stage->group == VKF_STAGES_ENCODE;
    switch (stage->kind) {
    case VKF_STAGE_EMBED:
        return emit_embed(session, stage, sizes);
    case VKF_STAGE_LAYER:
        return encoder ? emit_encoder(session, stage, sizes) : emit_decoder(session, stage, sizes);
    case VKF_STAGE_HEAD:
        break;
    }
    if (!encoder)
        return emit_decoder_head(session, stage, sizes);
    return session->model->config.kind == VKF_MODEL_ENCODER ? vkf__emit_encoder_head(session, stage, sizes)
                                                            : vkf__emit_final_norm(session, stage, sizes);
}
