// Oracle kinds that are whole models: transformer, seq2seq. The library itself reads the case's weights.safetensors.
#include "lab/eval/eval_kinds.h"

static vkf_status model_config(const vkf_eval_case *c, vkf_model_kind kind, uint32_t *out_batch,
                               vkf_model_config *out_config)
{
    vkf_eval_architecture architecture = {0};
    VKF_RETURN_IF_ERROR(vkf__eval_architecture(c, &architecture));
    *out_config = (vkf_model_config){
        .kind = kind,
        .d_model = architecture.d_model,
        .num_heads = architecture.num_heads,
        .dim_feedforward = architecture.dim_feedforward,
        .activation = architecture.activation,
        .norm_first = architecture.norm_first,
        .layer_norm_eps = architecture.layer_norm_eps,
    };
    VKF_RETURN_IF_ERROR(vkf__eval_size(c, "num_encoder_layers", &out_config->num_encoder_layers));
    VKF_RETURN_IF_ERROR(vkf__eval_size(c, "num_decoder_layers", &out_config->num_decoder_layers));
    *out_batch = architecture.batch;
    return VKF_OK;
}

static vkf_status load_model(const vkf_eval_case *c, const vkf_model_config *config, vkf_model **out_model)
{
    const vkf_model_desc desc = {.config = config, .weights_path = c->weights_path, .precision = c->settings.precision};
    return vkf_model_load(c->settings.context, &desc, out_model);
}

// ---- transformer

typedef struct transformer_run {
    uint32_t batch, source_len, target_len, d_model;
    vkf_eval_masks source, target, memory;
} transformer_run;

static vkf_status host_mask(vkf_eval_case *c, const vkf__stored_tensor *stored, const void **out_mask)
{
    void *bytes = NULL;
    vkf_status status = stored ? vkf__eval_host_bytes(c, stored, &bytes) : VKF_OK;
    if (status == VKF_OK)
        *out_mask = bytes;
    return status;
}

static vkf_status encode(vkf_eval_case *c, vkf_session *session, const transformer_run *run)
{
    vkf_eval_dims dims = VKF_DIMS(run->batch, run->source_len, run->d_model);
    float *source = NULL;
    void *memory = NULL;
    vkf_encode_args args = {.batch = run->batch, .source_len = run->source_len};
    VKF_RETURN_IF_ERROR(vkf__eval_host_f32(c, "src", dims, &source));
    VKF_RETURN_IF_ERROR(host_mask(c, run->source.mask, &args.source_mask));
    VKF_RETURN_IF_ERROR(host_mask(c, run->source.key_mask, &args.source_key_mask));
    VKF_RETURN_IF_ERROR(vkf__eval_output(c, "memory", VKF_STORED_F32, dims, &memory));
    args.source = source;
    args.out_memory = memory;
    return vkf_session_encode(session, &args);
}

static vkf_status decode(vkf_eval_case *c, vkf_session *session, const transformer_run *run)
{
    vkf_eval_dims dims = VKF_DIMS(run->batch, run->target_len, run->d_model);
    float *target = NULL;
    void *hidden = NULL;
    vkf_decode_args args = {.target_len = run->target_len};
    VKF_RETURN_IF_ERROR(vkf__eval_host_f32(c, "tgt", dims, &target));
    VKF_RETURN_IF_ERROR(host_mask(c, run->target.mask, &args.target_mask));
    VKF_RETURN_IF_ERROR(host_mask(c, run->target.key_mask, &args.target_key_mask));
    VKF_RETURN_IF_ERROR(host_mask(c, run->memory.mask, &args.memory_mask));
    VKF_RETURN_IF_ERROR(host_mask(c, run->memory.key_mask, &args.memory_key_mask));
    VKF_RETURN_IF_ERROR(vkf__eval_output(c, "output", VKF_STORED_F32, dims, &hidden));
    args.target = target;
    args.out_hidden = hidden;
    return vkf_session_decode(session, &args);
}

static vkf_status transformer_masks(const vkf_eval_case *c, uint32_t num_heads, transformer_run *run)
{
    uint32_t b = run->batch, s = run->source_len, t = run->target_len;
    const vkf_eval_attention_sizes source = {b, num_heads, s, s};
    const vkf_eval_attention_sizes target = {b, num_heads, t, t};
    const vkf_eval_attention_sizes memory = {b, num_heads, t, s};
    VKF_RETURN_IF_ERROR(vkf__eval_masks(c, "src_mask", "src_key_padding_mask", &source, &run->source));
    VKF_RETURN_IF_ERROR(vkf__eval_masks(c, "tgt_mask", "tgt_key_padding_mask", &target, &run->target));
    return vkf__eval_masks(c, "memory_mask", "memory_key_padding_mask", &memory, &run->memory);
}

vkf_status vkf__eval_transformer(vkf_eval_case *c)
{
    vkf_status status;
    vkf_model *model = NULL;
    vkf_session *session = NULL;
    vkf_model_config config = {0};
    transformer_run run = {0};
    VKF_TRY(model_config(c, VKF_MODEL_TRANSFORMER, &run.batch, &config));
    VKF_TRY(vkf__eval_size(c, "src_len", &run.source_len));
    VKF_TRY(vkf__eval_size(c, "tgt_len", &run.target_len));
    run.d_model = config.d_model;
    VKF_TRY(transformer_masks(c, config.num_heads, &run));
    VKF_TRY(load_model(c, &config, &model));
    const vkf_session_desc desc = {
        .max_batch = run.batch,
        .max_source_len = run.source_len,
        .max_target_len = run.target_len,
        .source_mask = run.source.desc,
        .target_mask = run.target.desc,
        .memory_mask = run.memory.desc,
        .fully_masked = c->settings.fully_masked,
    };
    VKF_TRY(vkf_session_create(model, &desc, &session));
    VKF_TRY(encode(c, session, &run));
    VKF_TRY(decode(c, session, &run));
fail:
    vkf_session_destroy(&session);
    vkf_model_destroy(&model);
    return status;
}

// ---- seq2seq

typedef struct seq2seq_run {
    uint32_t batch, source_len, target_len, max_len;
    int32_t *source_ids; // (B, S)
    int32_t *target_ids; // (B, T)
    vkf_model_config config;
} seq2seq_run;

static uint32_t larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

static vkf_status read_seq2seq(vkf_eval_case *c, seq2seq_run *run)
{
    vkf_model_config *config = &run->config;
    VKF_RETURN_IF_ERROR(model_config(c, VKF_MODEL_SEQ2SEQ, &run->batch, config));
    VKF_RETURN_IF_ERROR(vkf__eval_size(c, "src_len", &run->source_len));
    VKF_RETURN_IF_ERROR(vkf__eval_size(c, "tgt_len", &run->target_len));
    VKF_RETURN_IF_ERROR(vkf__eval_size(c, "max_len", &run->max_len));
    VKF_RETURN_IF_ERROR(vkf__eval_size(c, "src_vocab", &config->source_vocab));
    VKF_RETURN_IF_ERROR(vkf__eval_size(c, "tgt_vocab", &config->target_vocab));
    VKF_RETURN_IF_ERROR(vkf__eval_bool(c, "share_embed", &config->share_embedding));
    VKF_RETURN_IF_ERROR(vkf__eval_bool(c, "tie_proj", &config->tie_projection));
    VKF_RETURN_IF_ERROR(vkf__eval_bool(c, "proj_bias", &config->projection_bias));
    VKF_RETURN_IF_ERROR(vkf__eval_id(c, "pad_id", &config->pad_id));
    VKF_RETURN_IF_ERROR(vkf__eval_id(c, "bos_id", &config->bos_id));
    VKF_RETURN_IF_ERROR(vkf__eval_id(c, "eos_id", &config->eos_id));
    config->unk_id = config->pad_id; // the cases have ids and no text
    config->max_source_len = run->source_len;
    config->max_target_len = larger(run->target_len, run->max_len);
    VKF_RETURN_IF_ERROR(vkf__eval_host_i32(c, "src_ids", VKF_DIMS(run->batch, run->source_len), &run->source_ids));
    return vkf__eval_host_i32(c, "tgt_ids", VKF_DIMS(run->batch, run->target_len), &run->target_ids);
}

static vkf_status output_positions(vkf_eval_case *c, const seq2seq_run *run)
{
    uint32_t len = larger(run->source_len, larger(run->target_len, run->max_len));
    void *positions = NULL;
    VKF_RETURN_IF_ERROR(
        vkf__eval_output(c, "pos_encoding", VKF_STORED_F32, VKF_DIMS(len, run->config.d_model), &positions));
    vkf_sinusoidal_positions(len, run->config.d_model, positions);
    return VKF_OK;
}

// Computes memory and logits, with every target sequence given as a whole and its padding masked.
static vkf_status teacher_forcing(vkf_eval_case *c, vkf_model *model, const seq2seq_run *run)
{
    vkf_status status;
    uint32_t b = run->batch, s = run->source_len, t = run->target_len;
    vkf_session *session = NULL;
    void *memory = NULL, *logits = NULL, *padding = NULL;
    const vkf_session_desc desc = {
        .max_batch = b,
        .max_source_len = s,
        .max_target_len = run->config.max_target_len,
        .max_logit_rows = run->config.max_target_len,
        .target_mask.key_kind = VKF_MASK_BOOL_EXCLUDE,
        .fully_masked = c->settings.fully_masked,
    };
    VKF_TRY(vkf__eval_alloc(c, (uint64_t)b * t, 1, &padding));
    for (size_t i = 0; i < (size_t)b * t; i++)
        ((uint8_t *)padding)[i] = run->target_ids[i] == run->config.pad_id;
    VKF_TRY(vkf__eval_output(c, "memory", VKF_STORED_F32, VKF_DIMS(b, s, run->config.d_model), &memory));
    VKF_TRY(vkf__eval_output(c, "logits", VKF_STORED_F32, VKF_DIMS(b, t, run->config.target_vocab), &logits));
    VKF_TRY(vkf_session_create(model, &desc, &session));
    const vkf_encode_args encode_args = {
        .batch = b, .source_len = s, .source_ids = run->source_ids, .out_memory = memory};
    VKF_TRY(vkf_session_encode(session, &encode_args));
    const vkf_decode_args decode_args = {
        .target_len = t, .target_ids = run->target_ids, .target_key_mask = padding, .out_logits = logits};
    VKF_TRY(vkf_session_decode(session, &decode_args));
fail:
    vkf_session_destroy(&session);
    return status;
}

// Uses a session of its own: generated tokens are never masked, not even when the model generates pad_id.
static vkf_status greedy(vkf_eval_case *c, vkf_model *model, const seq2seq_run *run)
{
    vkf_status status;
    vkf_session *session = NULL;
    void *ids = NULL, *counts = NULL, *lengths = NULL;
    const vkf_session_desc desc = {
        .max_batch = run->batch,
        .max_source_len = run->source_len,
        .max_target_len = run->config.max_target_len,
        .fully_masked = c->settings.fully_masked,
    };
    VKF_TRY(vkf__eval_output(c, "greedy_ids", VKF_STORED_I32, VKF_DIMS(run->batch, run->max_len), &ids));
    VKF_TRY(vkf__eval_output(c, "greedy_len", VKF_STORED_I32, VKF_DIMS(run->batch), &lengths));
    VKF_TRY(vkf__eval_alloc(c, run->batch, sizeof(uint32_t), &counts));
    VKF_TRY(vkf_session_create(model, &desc, &session));
    const vkf_greedy_args args = {
        .batch = run->batch,
        .source_len = run->source_len,
        .source_ids = run->source_ids,
        .max_len = run->max_len,
        .out_ids = ids,
        .out_lengths = counts,
    };
    VKF_TRY(vkf_session_greedy(session, &args));
    for (uint32_t i = 0; i < run->batch; i++)
        ((int32_t *)lengths)[i] = (int32_t)((uint32_t *)counts)[i];
fail:
    vkf_session_destroy(&session);
    return status;
}

vkf_status vkf__eval_seq2seq(vkf_eval_case *c)
{
    vkf_status status;
    vkf_model *model = NULL;
    seq2seq_run run = {0};
    VKF_TRY(read_seq2seq(c, &run));
    VKF_TRY(output_positions(c, &run));
    VKF_TRY(load_model(c, &run.config, &model));
    VKF_TRY(teacher_forcing(c, model, &run));
    VKF_TRY(greedy(c, model, &run));
fail:
    vkf_model_destroy(&model);
    return status;
}
