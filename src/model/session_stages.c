#include <math.h>
#include <stdio.h>

#include "model/session.h"
#include "op/copy.h"
#include "op/embed.h"
#include "op/gemm.h"
#include "op/layer_norm.h"
#include "op/reorder.h"
#include "op/sample.h"
#include "op/top.h"

static const char *const group_names[VKF_STAGES_COUNT] = {"encoder", "decoder", "step"};

const char *vkf__stage_group_name(vkf__stage_group group)
{
    return group_names[group];
}

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

// An encoder that ends with its last layer has nothing to do behind it.
static bool ends_in_head(const vkf_session *session, vkf__stage_group group)
{
    const vkf_model_config *config = &session->model->config;
    return group != VKF_STAGES_ENCODE || config->kind == VKF_MODEL_ENCODER || config->final_norm;
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
        if (layers > 0 && ends_in_head(session, group))
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
        .beams = step ? desc->max_beams : 1,
        .move_count = step && desc->max_beams > 1 ? desc->max_batch * desc->max_beams : 0,
        .candidates = vkf__max_candidates(session),
    };
}

// Sequences that a run goes on with.
static uint32_t rows_of(const vkf__session_sizes *sizes)
{
    return sizes->beams > 1 ? sizes->batch * sizes->beams : sizes->batch;
}

// What is added to the words of one side; absent: nothing.
static vkf__span positions_of(const vkf_session *session, bool source)
{
    const vkf_model_config *config = &session->model->config;
    const vkf__weights *weights = &session->model->weights;
    const vkf__span learned = vkf__span_of(source ? &weights->source.positions : &weights->target.positions);
    uint64_t len = source ? config->max_source_len : config->max_target_len, d = config->d_model;
    if (config->positions <= VKF_POSITIONS_SINUSOIDAL_HALVES)
        return session->spans.positions;
    if (vkf__has_position_ids(config))
        return learned;
    return vkf__present(&learned) ? vkf__span_part(&learned, config->position_offset * d, len * d) : learned;
}

static vkf__embed_args source_words(const vkf_session *session, const vkf__session_sizes *sizes)
{
    return (vkf__embed_args){
        .ids = session->spans.source_ids,
        .table = vkf__span_of(&session->model->weights.source_embedding),
        .out = session->spans.memory,
        .len = sizes->source_len,
        .vocab = session->model->config.source_vocab,
        .ids_stride = sizes->source_len,
        .position_ids =
            vkf__has_position_ids(&session->model->config) ? session->desc.max_batch * session->desc.max_source_len : 0,
    };
}

static vkf__embed_args target_words(const vkf_session *session, const vkf__session_sizes *sizes)
{
    return (vkf__embed_args){
        .ids = session->spans.target_ids,
        .table = vkf__span_of(&session->model->weights.target_embedding),
        .out = session->spans.hidden,
        .len = sizes->target_len,
        .vocab = session->model->config.target_vocab,
        .ids_stride = vkf__ids_row(session),
        .ids_first = vkf__ids_lead(session) + sizes->target_past,
        .first_position = sizes->target_past,
        .padding_leads = vkf__ids_lead(session) > 0,
    };
}

// norm(words + token types), as far as the model has them; in place.
static vkf_status emit_embedding_norm(vkf_session *session, vkf__stage *stage, const vkf__embed_args *words,
                                      const vkf_norm_weights *weights)
{
    vkf_status status = VKF_OK;
    const vkf_model_config *config = &session->model->config;
    vkf__layer_norm_args norm = {
        .label = "embed_norm",
        .x = words->out,
        .out = words->out,
        .weight = vkf__span_of(&weights->weight),
        .bias = vkf__span_of(&weights->bias),
        .rows = words->batch * words->len,
        .dim = words->dim,
        .eps = config->layer_norm_eps,
    };
    if (stage->group == VKF_STAGES_ENCODE && vkf__present(&session->spans.source_types)) {
        vkf__embed_args types = *words;
        types.label = "embed_types";
        types.ids = session->spans.source_types;
        types.table = vkf__span_of(&session->model->weights.token_types);
        types.positions = (vkf__span){0};
        types.vocab = config->token_types;
        VKF_TRY(vkf__work_temp(&stage->work, words->out.dtype, (uint64_t)norm.rows * norm.dim, &types.out));
        VKF_TRY(vkf__emit_embed(&stage->work, &types));
        norm.residual = types.out;
        norm.residual_order = VKF_RESIDUAL_BEFORE;
    }
    VKF_TRY(vkf__emit_layer_norm(&stage->work, &norm));
fail:
    return status;
}

// The biases of a step's position, once for all layers.
static vkf_status emit_step_bias(vkf_session *session, vkf__stage *stage, const vkf__session_sizes *sizes)
{
    uint32_t len = session->desc.max_target_len;
    const vkf__copy_args copy = {
        .label = "step_bias",
        .x = session->spans.target_bias,
        .out = session->spans.step_bias,
        .outer = vkf__stack_of(&session->model->config, true).heads,
        .rows = 1,
        .cols = len,
        .x_first = sizes->target_past * len,
        .x_outer = len * len,
        .out_outer = len,
        .alpha = 1.0f,
    };
    return vkf__emit_copy(&stage->work, &copy);
}

static vkf_status emit_embed(vkf_session *session, vkf__stage *stage, const vkf__session_sizes *sizes)
{
    vkf_status status = VKF_OK;
    const vkf_model_config *config = &session->model->config;
    bool source = stage->group == VKF_STAGES_ENCODE;
    const vkf__stack_weights *weights = source ? &session->model->weights.source : &session->model->weights.target;
    bool scaled = config->kind == VKF_MODEL_SEQ2SEQ && !config->unscaled_embedding;
    vkf__embed_args words = source ? source_words(session, sizes) : target_words(session, sizes);
    words.label = "embed";
    words.positions = positions_of(session, source);
    words.batch = rows_of(sizes);
    words.dim = config->d_model;
    words.scale = scaled ? sqrtf((float)config->d_model) : 1.0f;
    VKF_TRY(vkf__emit_embed(&stage->work, &words));
    if (weights->embedding_norm.weight.rank > 0)
        VKF_TRY(emit_embedding_norm(session, stage, &words, &weights->embedding_norm));
    if (stage->group == VKF_STAGES_STEP && vkf__present(&session->spans.target_bias))
        VKF_TRY(emit_step_bias(session, stage, sizes));
fail:
    return status;
}

// What a layer of a family may have beyond those of nn.Transformer.
static void set_traits(const vkf_session *session, const vkf__stage *stage, const vkf__layer_weights *w,
                       vkf__transformer_block *block)
{
    const vkf_model_config *config = &session->model->config;
    const vkf__session_spans *s = &session->spans;
    vkf__attention_block *self = &block->self;
    const vkf__stack stack = vkf__stack_of(config, stage->group != VKF_STAGES_ENCODE);
    bool windowed = config->windowed_layers[stage->layer / 32] >> stage->layer % 32 & 1;
    bool own_rotary = windowed && config->window_rotary.dim > 0;
    block->parallel = config->parallel;
    block->no_first_norm = config->no_first_norm && stage->layer == 0;
    block->norm_kind = config->norm;
    block->feed_forward.gate = vkf__span_of(&w->gate.weight);
    block->feed_forward.gate_bias = vkf__span_of(&w->gate.bias);
    self->kv_heads = stack.kv_heads;
    self->head_dim = self->v_head_dim = block->cross.head_dim = block->cross.v_head_dim = stack.head_dim;
    if (config->unscaled_attention)
        self->scale = block->cross.scale = 1.0f;
    self->q_norm = vkf__span_of(&w->q_norm);
    self->k_norm = vkf__span_of(&w->k_norm);
    self->norm_eps = config->layer_norm_eps;
    self->rotary = own_rotary ? s->window_rotary : s->rotary;
    self->rotary_dim = own_rotary ? config->window_rotary.dim : config->rotary.dim;
    bool causal = config->kind == VKF_MODEL_DECODER || config->causal;
    if (windowed && causal)
        self->mask.window = config->window;
    if (windowed && !causal && config->kind == VKF_MODEL_ENCODER) {
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
    const vkf__stack stack = vkf__stack_of(config, !encoder);
    const vkf__layer_weights *w =
        encoder ? &model->weights.encoder[stage->layer] : &model->weights.decoder[stage->layer];
    vkf_transformer_layer_desc desc = {
        .d_model = config->d_model,
        .num_heads = stack.heads,
        .dim_feedforward = stack.dim_feedforward,
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
    if (config->kind != VKF_MODEL_TRANSFORMER)
        set_traits(session, stage, w, &block);
    return block;
}

static vkf_status emit_encoder(vkf_session *session, vkf__stage *stage, const vkf__session_sizes *sizes)
{
    const vkf__session_spans *s = &session->spans;
    const vkf__transformer_block block = block_of(session, stage);
    const vkf__transformer_io io = {
        .x = s->memory,
        .self = {.mask = s->source_mask,
                 .key_mask = s->source_key_mask,
                 .bias = s->source_bias,
                 .bias_head = session->desc.max_source_len * session->desc.max_source_len,
                 .bias_row = session->desc.max_source_len,
                 .weights_per_head = vkf__kept_attention_span(session, VKF_KEPT_ENCODER, stage->layer)},
    };
    const vkf__attention_sizes self = vkf__uncached(sizes->batch, sizes->source_len, sizes->source_len);
    return vkf__emit_encoder_layer(&stage->work, &block, &io, &self);
}

// Words of a cache row in front of a position.
static uint64_t words_before(const vkf_session *session, vkf_dtype dtype, uint32_t position, bool up)
{
    const vkf__stack stack = vkf__stack_of(&session->model->config, true);
    uint64_t bytes = (uint64_t)position * stack.kv_heads * stack.head_dim * vkf_dtype_size(dtype);
    return (bytes + (up ? 3 : 0)) / 4;
}

// Beams take over what is in the caches of those that they follow. At either end of what moves there may be half a word
// more: before it rows are alike, and behind it nothing is yet.
static vkf_status emit_moves(vkf_session *session, vkf__stage *stage, const vkf__session_sizes *sizes)
{
    vkf_status status = VKF_OK;
    const vkf__session_spans *s = &session->spans;
    const vkf__span caches[] = {s->self_k[stage->layer], s->self_v[stage->layer]};
    static const char *const labels[] = {"k_moves", "v_moves"};
    for (size_t i = 0; session->desc.max_beams > 1 && i < 2; i++) {
        vkf_dtype dtype = caches[i].dtype;
        uint64_t first = words_before(session, dtype, sizes->moved_from, false);
        uint64_t end = sizes->move_count > 0 ? words_before(session, dtype, sizes->target_past, true) : first;
        const vkf__reorder_args reorder = {
            .label = labels[i],
            .x = caches[i],
            .moves = s->moves,
            .row_words = (uint32_t)words_before(session, dtype, vkf__cache_len(session), false),
            .first = (uint32_t)first,
            .count = (uint32_t)(end - first),
            .move_count = sizes->move_count,
        };
        VKF_TRY(vkf__emit_reorder(&stage->work, &reorder));
    }
fail:
    return status;
}

static bool is_prompt(const vkf_session *session, const vkf__stage *stage)
{
    return session->model->config.kind == VKF_MODEL_DECODER && stage->group == VKF_STAGES_DECODE;
}

// From the stream of a prompt's positions, the last ones of each sequence.
static vkf_status emit_logit_hidden(vkf_session *session, vkf__stage *stage, const vkf__session_sizes *sizes)
{
    uint32_t d = session->model->config.d_model;
    const vkf__copy_args copy = {
        .label = "logit_hidden",
        .x = session->spans.hidden,
        .out = session->spans.logit_hidden,
        .outer = sizes->batch,
        .rows = sizes->logit_rows,
        .cols = d,
        .x_first = (sizes->target_len - sizes->logit_rows) * d,
        .x_outer = sizes->target_len * d,
        .x_row = d,
        .out_outer = sizes->logit_rows * d,
        .out_row = d,
        .alpha = 1.0f,
    };
    return vkf__emit_copy(&stage->work, &copy);
}

static vkf_status emit_decoder(vkf_session *session, vkf__stage *stage, const vkf__session_sizes *sizes)
{
    vkf_status status = VKF_OK;
    const vkf__session_spans *s = &session->spans;
    const vkf__transformer_block block = block_of(session, stage);
    uint32_t i = stage->layer, len = session->desc.max_target_len;
    bool step = stage->group == VKF_STAGES_STEP;
    bool last = is_prompt(session, stage) && i + 1 == session->model->config.num_decoder_layers;
    // Weights that are kept are those of every position.
    bool narrow = last && !(session->desc.attention_weights & VKF_ATTENTION_DECODER);
    uint32_t queries = narrow ? sizes->logit_rows : sizes->target_len;
    const vkf__transformer_io io = {
        .x = narrow ? s->logit_hidden : s->hidden,
        .context = narrow ? s->hidden : (vkf__span){0},
        .self = {.mask = s->target_mask,
                 .key_mask = s->target_key_mask,
                 .key_mask_row = session->model->config.kind == VKF_MODEL_DECODER ? session->desc.max_target_len : 0,
                 .bias = step ? s->step_bias : s->target_bias,
                 .bias_head = step ? len : len * len,
                 .bias_row = step ? 0 : len,
                 .weights_per_head = vkf__kept_attention_span(session, VKF_KEPT_DECODER, i),
                 .cache_k = s->self_k[i],
                 .cache_v = s->self_v[i],
                 .cache_len = vkf__cache_len(session)},
        .cross = {.key = s->memory,
                  .mask = s->memory_mask,
                  .key_mask = s->memory_key_mask,
                  .weights_per_head = vkf__kept_attention_span(session, VKF_KEPT_CROSS, i),
                  .cache_k = s->cross_k[i],
                  .cache_v = s->cross_v[i],
                  .cache_len = session->desc.max_source_len},
    };
    const vkf__attention_sizes self = {
        .batch = rows_of(sizes),
        .query_len = queries,
        .key_len = sizes->target_past + sizes->target_len,
        .key_new = sizes->target_len,
        .key_past = sizes->target_past,
        .query_past = sizes->target_past + sizes->target_len - queries,
    };
    // Beams of a sequence are the queries of one memory.
    const vkf__attention_sizes cross = {
        .batch = sizes->batch,
        .query_len = sizes->beams > 1 ? sizes->beams : sizes->target_len,
        .key_len = sizes->source_len,
        .key_new = sizes->project_memory ? sizes->source_len : 0,
    };
    if (step)
        VKF_TRY(emit_moves(session, stage, sizes));
    if (narrow)
        VKF_TRY(emit_logit_hidden(session, stage, sizes));
    if (session->model->config.kind != VKF_MODEL_DECODER)
        return vkf__emit_decoder_layer(&stage->work, &block, &io, &self, &cross);
    VKF_TRY(vkf__emit_encoder_layer(&stage->work, &block, &io, &self)); // a decoder without memory
    if (last && !narrow)
        VKF_TRY(emit_logit_hidden(session, stage, sizes));
fail:
    return status;
}

vkf_status vkf__emit_final_norm(vkf_session *session, vkf__stage *stage, const vkf__session_sizes *sizes)
{
    if (!session->model->config.final_norm)
        return VKF_OK;
    bool encoder = stage->group == VKF_STAGES_ENCODE, prompt = is_prompt(session, stage);
    const vkf__weights *weights = &session->model->weights;
    const vkf_norm_weights *norm = encoder ? &weights->source.final_norm : &weights->target.final_norm;
    const vkf__span x = encoder ? session->spans.memory : prompt ? session->spans.logit_hidden : session->spans.hidden;
    uint32_t positions = encoder ? sizes->source_len : prompt ? sizes->logit_rows : sizes->target_len;
    const vkf__layer_norm_args args = {
        .label = "norm",
        .x = x,
        .out = x,
        .weight = vkf__span_of(&norm->weight),
        .bias = vkf__span_of(&norm->bias),
        .rows = rows_of(sizes) * positions,
        .dim = session->model->config.d_model,
        .eps = session->model->config.layer_norm_eps,
        .rms = session->model->config.norm == VKF_NORM_RMS,
    };
    return vkf__emit_layer_norm(&stage->work, &args);
}

// Of the stream's first positions: those of a prompt that get logits, or as many as there are.
static vkf_status emit_logits(vkf_session *session, vkf__stage *stage, const vkf__session_sizes *sizes)
{
    const vkf_model_config *config = &session->model->config;
    const vkf__weights *weights = &session->model->weights;
    uint32_t d = config->d_model;
    const vkf__gemm_args logits = {
        .label = "generator",
        .a = is_prompt(session, stage) ? session->spans.logit_hidden : session->spans.hidden,
        .b = vkf__span_of(&weights->projection),
        .bias = vkf__span_of(&weights->projection_bias),
        .d = session->spans.logits,
        .m = rows_of(sizes) * sizes->logit_rows,
        .n = config->target_vocab,
        .k = d,
        .batch = 1,
        .lda = d,
        .ldb = d,
        .ldd = config->target_vocab,
        .transpose_b = true,
        .alpha = config->logit_scale != 0.0f ? config->logit_scale : 1.0f,
    };
    return vkf__emit_gemm(&stage->work, &logits);
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

static vkf_status emit_bans(vkf_session *session, vkf__stage *stage, uint32_t rows)
{
    vkf_status status = VKF_OK;
    const vkf_model_config *config = &session->model->config;
    for (uint32_t i = 0; i < config->banned_count; i++) {
        const vkf__copy_args copy = {
            .label = "ban",
            .x = session->spans.lowest,
            .out = session->spans.logits,
            .outer = 1,
            .rows = rows,
            .cols = 1,
            .out_first = (uint32_t)config->banned_ids[i],
            .out_row = config->target_vocab,
            .alpha = 1.0f,
        };
        VKF_TRY(vkf__emit_copy(&stage->work, &copy));
    }
fail:
    return status;
}

static vkf_status emit_top(vkf_session *session, vkf__stage *stage, const vkf__session_sizes *sizes, uint32_t rows)
{
    const vkf__top_args top = {
        .label = "top",
        .x = session->spans.logits,
        .seen = session->spans.seen,
        .out = session->spans.top,
        .rows = rows,
        .cols = session->model->config.target_vocab,
        .k = sizes->candidates,
        .repetition_penalty = session->sampling.repetition_penalty,
    };
    return session->desc.max_beams > 1 ? vkf__emit_top(&stage->work, &top) : VKF_OK;
}

// All ways of choosing are recorded; in a run one of them has something to do. Beam search leaves out itself what is banned:
// it counts in the probabilities of the others.
static vkf_status emit_choice(vkf_session *session, vkf__stage *stage, const vkf__session_sizes *sizes)
{
    vkf_status status = VKF_OK;
    uint32_t rows = sizes->choose ? rows_of(sizes) : 0;
    bool planned = stage->work.mode != VKF_WORK_UPDATE, searches = sizes->candidates > 0;
    VKF_TRY(emit_bans(session, stage, planned || !searches ? rows : 0));
    VKF_TRY(emit_sample(session, stage, sizes, planned || !searches ? rows : 0));
    VKF_TRY(emit_top(session, stage, sizes, planned || searches ? rows : 0));
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
