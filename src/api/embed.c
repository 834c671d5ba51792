// Public entry points of embedders.
#include "model/embedder.h"

#define DEFAULT_BATCH 8

static vkf_status load(vkf_embedder *embedder, const vkf_embedder_desc *desc)
{
    vkf_status status = VKF_OK;
    const vkf__host *host = &embedder->context->host;
    const vkf_model_desc model = {.directory = desc->directory, .precision = desc->precision};
    VKF_TRY(vkf__text_model_load(embedder->context, &model, &embedder->text));
    const vkf_model_config *config = &embedder->text.model->config;
    if (config->kind != VKF_MODEL_ENCODER)
        return vkf__fail(host, VKF_ERROR_UNSUPPORTED, "%s: the model is no encoder, it has no embeddings",
                         desc->directory);
    embedder->max_batch = desc->max_batch > 0 ? desc->max_batch : DEFAULT_BATCH;
    embedder->max_tokens = desc->max_tokens > 0 ? desc->max_tokens : config->truncate_len;
    if (embedder->max_tokens > config->max_source_len)
        return vkf__fail(host, VKF_ERROR_TOO_LARGE, "%s: max_tokens %u beyond the model's %u positions",
                         desc->directory, embedder->max_tokens, config->max_source_len);
fail:
    return status;
}

static vkf_status make_session(vkf_embedder *embedder)
{
    vkf_status status = VKF_OK;
    const vkf__host *host = &embedder->context->host;
    const vkf_session_desc desc = {.max_batch = embedder->max_batch, .max_source_len = embedder->max_tokens};
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
    vkf__free(host, e);
    *embedder = NULL;
}

void vkf_embedder_get_config(const vkf_embedder *embedder, vkf_model_config *out_config)
{
    if (embedder && out_config)
        *out_config = embedder->text.model->config;
}

vkf_status vkf_embedder_run(vkf_embedder *embedder, const vkf_embed_args *args)
{
    if (!embedder || !args)
        return VKF_ERROR_INVALID_ARGUMENT;
    const vkf__host *host = &embedder->context->host;
    if (args->count == 0 || !args->texts || !args->out_embeddings)
        return vkf__fail(host, VKF_ERROR_INVALID_ARGUMENT,
                         "vkf_embedder_run: count is 0, or texts or out_embeddings is NULL");
    for (uint32_t i = 0; i < args->count; i++)
        if (!args->texts[i].bytes && args->texts[i].size_bytes > 0)
            return vkf__fail(host, VKF_ERROR_INVALID_ARGUMENT, "vkf_embedder_run: the bytes of text %u are NULL", i);
    return vkf__embedder_run(embedder, args);
}
