// Public entry points of embedders.
#include "model/embedder.h"

#define DEFAULT_BATCH 8

static vkf_status load(vkf_embedder *embedder, const vkf_embedder_desc *desc)
{
    vkf_status status = VKF_OK;
    const vkf__host *host = &embedder->context->host;
    const vkf_model_desc model = {
        .directory = desc->directory,
        .precision = desc->precision,
        .quantization = desc->quantization,
    };
    VKF_TRY(vkf__text_model_load(embedder->context, &model, &embedder->text));
    const vkf_model_config *config = &embedder->text.model->config;
    if (config->kind != VKF_MODEL_ENCODER)
        return vkf__fail(host, VKF_ERROR_UNSUPPORTED, "%s: the model is no encoder, it has no embeddings",
                         desc->directory);
    if (desc->head && config->head == VKF_HEAD_NONE)
        return vkf__fail(host, VKF_ERROR_UNSUPPORTED, "%s: the model has no head, it says nothing of a text",
                         desc->directory);
    VKF_TRY(vkf__tokenizer_config_load(host, desc->directory, &embedder->text.tokenizer, &embedder->tokens));
    uint32_t longest = desc->head ? embedder->tokens.max_length : UINT32_MAX;
    embedder->head = desc->head;
    embedder->max_batch = desc->max_batch > 0 ? desc->max_batch : DEFAULT_BATCH;
    embedder->max_tokens = desc->max_tokens > 0 ? desc->max_tokens : config->truncate_len;
    if (desc->max_tokens == 0 && embedder->max_tokens > longest)
        embedder->max_tokens = longest;
    if (embedder->max_tokens > config->max_source_len)
        return vkf__fail(host, VKF_ERROR_TOO_LARGE, "%s: max_tokens %u beyond the model's %u positions",
                         desc->directory, embedder->max_tokens, config->max_source_len);
fail:
    return status;
}

static vkf_status make_head(vkf_embedder *embedder, const char *directory)
{
    vkf_status status = VKF_OK;
    const vkf__host *host = &embedder->context->host;
    const vkf_model_config *config = &embedder->text.model->config;
    uint32_t rows = config->head == VKF_HEAD_SEQUENCE_CLASSIFICATION ? 1 : embedder->max_tokens;
    if (!embedder->head)
        return VKF_OK;
    VKF_ALLOC(host, embedder->logits, (size_t)embedder->max_batch * rows * config->head_outputs);
    VKF_TRY(vkf__labels_load(host, directory, &embedder->labels, &embedder->label_count));
fail:
    return status;
}

static vkf_status make_session(vkf_embedder *embedder)
{
    vkf_status status = VKF_OK;
    const vkf__host *host = &embedder->context->host;
    const vkf_session_desc desc = {
        .max_batch = embedder->max_batch,
        .max_source_len = embedder->max_tokens,
        .max_logit_rows = embedder->head ? 1 : 0,
    };
    size_t tokens = (size_t)embedder->max_batch * embedder->max_tokens;
    VKF_TRY(vkf_session_create(embedder->text.model, &desc, &embedder->session));
    VKF_ALLOC(host, embedder->ids, tokens);
    VKF_ALLOC(host, embedder->types, tokens);
    VKF_ALLOC(host, embedder->lengths, embedder->max_batch);
    VKF_ALLOC(host, embedder->embeddings, (size_t)embedder->max_batch * embedder->text.model->config.d_model);
fail:
    return status;
}

vkf_status vkf_embedder_create(vkf_context *context, const vkf_embedder_desc *desc, vkf_embedder **out_embedder)
{
    if (!context || !desc || !desc->directory || !out_embedder)
        return VKF_ERROR_INVALID_ARGUMENT;
    vkf_status status = VKF_OK;
    vkf_embedder *embedder = NULL;
    VKF_ALLOC(&context->host, embedder, 1);
    embedder->context = context;
    VKF_TRY(load(embedder, desc));
    VKF_TRY(make_session(embedder));
    VKF_TRY(make_head(embedder, desc->directory));
    *out_embedder = embedder;
    return VKF_OK;
fail:
    vkf_embedder_destroy(&embedder);
    return status;
}

void vkf_embedder_destroy(vkf_embedder **embedder)
{
    if (!embedder || !*embedder)
        return;
    vkf_embedder *e = *embedder;
    const vkf__host *host = &e->context->host;
    vkf_session_destroy(&e->session);
    vkf__text_model_free(&e->text);
    vkf__free(host, e->ids);
    vkf__free(host, e->types);
    vkf__free(host, e->lengths);
    vkf__free(host, e->embeddings);
    vkf__free(host, e->logits);
    vkf__labels_free(host, e->labels, e->label_count);
    vkf__free(host, e);
    *embedder = NULL;
}

void vkf_embedder_get_config(const vkf_embedder *embedder, vkf_model_config *out_config)
{
    if (!embedder || !out_config)
        return;
    *out_config = embedder->text.model->config;
    out_config->truncate_len = embedder->max_tokens;
}

vkf_model *vkf_embedder_model(vkf_embedder *embedder)
{
    return embedder ? embedder->text.model : NULL;
}

const char *vkf_embedder_label(const vkf_embedder *embedder, uint32_t index)
{
    return embedder && index < embedder->label_count ? embedder->labels[index] : NULL;
}

const char *vkf_embedder_token(const vkf_embedder *embedder, int32_t id)
{
    return embedder ? vkf__tokenizer_id_to_token(&embedder->text.tokenizer, id) : NULL;
}

vkf_status vkf_embedder_decode(const vkf_embedder *embedder, const int32_t *ids, uint32_t count,
                               bool skip_special_tokens, size_t *inout_bytes, char *out_text)
{
    if (!embedder || (!ids && count > 0) || !inout_bytes)
        return VKF_ERROR_INVALID_ARGUMENT;
    vkf_status status =
        vkf__tokenizer_decode(&embedder->text.tokenizer, ids, count, skip_special_tokens, inout_bytes, out_text);
    if (status == VKF_OK && out_text && embedder->tokens.cleans_up)
        *inout_bytes = vkf__clean_up_blanks(out_text, *inout_bytes);
    return status;
}

void vkf_embedder_get_special_tokens(const vkf_embedder *embedder, vkf_special_tokens *out_tokens)
{
    if (embedder && out_tokens)
        *out_tokens = embedder->tokens.special;
}

void vkf_prediction_free(vkf_prediction *prediction)
{
    if (!prediction)
        return;
    if (prediction->logits)
        prediction->allocator.release(prediction->allocator.user, prediction->logits);
    vkf_encoding_free(&prediction->tokens);
    *prediction = (vkf_prediction){0};
}

static bool texts_given(const vkf_text *texts, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (!texts[i].bytes && texts[i].size_bytes > 0)
            return false;
    return true;
}

vkf_status vkf_embedder_run(vkf_embedder *embedder, const vkf_embed_args *args)
{
    if (!embedder || !args)
        return VKF_ERROR_INVALID_ARGUMENT;
    const vkf__host *host = &embedder->context->host;
    if (args->count == 0 || !args->texts || (!args->out_embeddings && !args->out_predictions))
        return vkf__fail(host, VKF_ERROR_INVALID_ARGUMENT,
                         "vkf_embedder_run: count is 0, or texts, or out_embeddings and out_predictions, are NULL");
    if (!texts_given(args->texts, args->count) || (args->pairs && !texts_given(args->pairs, args->count)))
        return vkf__fail(host, VKF_ERROR_INVALID_ARGUMENT, "vkf_embedder_run: the bytes of a text are NULL");
    for (uint32_t i = 0; args->options && i < args->count; i++)
        if ((unsigned)args->options[i].truncation >= VKF_TRUNCATION_COUNT)
            return vkf__fail(host, VKF_ERROR_INVALID_ARGUMENT, "vkf_embedder_run: truncation %u is no vkf_truncation",
                             (unsigned)args->options[i].truncation);
    if (args->out_predictions && !embedder->head)
        return vkf__fail(host, VKF_ERROR_INVALID_ARGUMENT,
                         "vkf_embedder_run: out_predictions of an embedder without its head");
    return vkf__embedder_run(embedder, args);
}
