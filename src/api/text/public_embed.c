// Public entry points of embedders.
#include <stdio.h>

#include "base/sized.h"
#include "model/text/embedder.h"

#define DEFAULT_BATCH 8

// The number of elements of an embedding that the caller gets.
static uint32_t dim_of(const vkf_embedder *embedder, const vkf_embedder_desc *desc)
{
    uint32_t dim = embedder->text.model->config.embedding_dim;
    uint32_t wanted = desc->truncate_dim > 0 ? desc->truncate_dim : embedder->settings.truncate_dim;
    return wanted > 0 && wanted < dim ? wanted : dim;
}

static vkf_status load_files(vkf_embedder *embedder, const vkf__host *host)
{
    const vkf__text_model *text = &embedder->text;
    VKF_RETURN_IF_ERROR(vkf__tokenizer_config_load(host, text->directory, &text->tokenizer->parts, &embedder->tokens));
    text->tokenizer->cleans_up = embedder->tokens.cleans_up;
    VKF_RETURN_IF_ERROR(vkf__sentence_settings_load(host, text->place.modules, &embedder->settings));
    if (!embedder->head)
        return VKF_OK;
    return vkf__labels_load(host, text->place.transformer, &embedder->labels, &embedder->label_count);
}

static vkf_status load(vkf_embedder *embedder, const vkf_embedder_desc *desc)
{
    const vkf__host *host = &embedder->context->host;
    const vkf_model_desc model = {
        .directory = desc->directory,
        .files = desc->files,
        .precision = desc->precision,
        .quantization = desc->quantization,
        .adapter_directory = desc->adapter_directory,
    };
    VKF_RETURN_IF_ERROR(vkf__text_model_load(embedder->context, &model, desc->model, &embedder->text));
    const char *directory = vkf__text_model_directory(&model, desc->model);
    const vkf_model_config *config = &embedder->text.model->config;
    if (!vkf__facts_of(config)->pools)
        return vkf__fail(host, VKF_ERROR_UNSUPPORTED, "%s: the model is no encoder, it has no embeddings", directory);
    if (desc->head && config->head == VKF_HEAD_NONE)
        return vkf__fail(host, VKF_ERROR_UNSUPPORTED, "%s: the model has no head, it says nothing of a text",
                         directory);
    embedder->head = desc->head;
    const vkf__host files = vkf__text_model_host(embedder->context, &model, desc->model);
    VKF_RETURN_IF_ERROR(load_files(embedder, &files));
    uint32_t longest = desc->head ? embedder->tokens.max_length : UINT32_MAX;
    embedder->dim = dim_of(embedder, desc);
    embedder->max_batch = desc->max_batch > 0 ? desc->max_batch : DEFAULT_BATCH;
    embedder->max_tokens = desc->max_tokens > 0 ? desc->max_tokens : config->truncate_len;
    if (desc->max_tokens == 0 && embedder->max_tokens > longest)
        embedder->max_tokens = longest;
    if (embedder->max_tokens > config->max_source_len)
        return vkf__fail(vkf__limited(host, "max_tokens", embedder->max_tokens, config->max_source_len),
                         VKF_ERROR_TOO_LARGE, "%s: max_tokens %u beyond the model's %u positions", directory,
                         embedder->max_tokens, config->max_source_len);
    return VKF_OK;
}

static vkf_status make_head(vkf_embedder *embedder)
{
    const vkf__host *host = &embedder->context->host;
    const vkf_model_config *config = &embedder->text.model->config;
    uint32_t rows = config->head == VKF_HEAD_SEQUENCE_CLASSIFICATION ? 1 : embedder->max_tokens;
    if (!embedder->head)
        return VKF_OK;
    VKF_ALLOC_OR_RETURN(host, embedder->logits, (size_t)embedder->max_batch * rows * config->head_outputs);
    return VKF_OK;
}

static vkf_status make_session(vkf_embedder *embedder)
{
    const vkf__host *host = &embedder->context->host;
    const vkf_session_desc desc = {
        .max_batch = embedder->max_batch,
        .max_source_len = embedder->max_tokens,
        .max_logit_rows = embedder->head ? 1 : 0,
    };
    size_t tokens = (size_t)embedder->max_batch * embedder->max_tokens;
    VKF_RETURN_IF_ERROR(vkf_session_create(embedder->text.model, &desc, &embedder->session));
    VKF_ALLOC_OR_RETURN(host, embedder->ids, tokens);
    VKF_ALLOC_OR_RETURN(host, embedder->types, tokens);
    VKF_ALLOC_OR_RETURN(host, embedder->lengths, embedder->max_batch);
    VKF_ALLOC_OR_RETURN(host, embedder->embeddings,
                        (size_t)embedder->max_batch * embedder->text.model->config.embedding_dim);
    return VKF_OK;
}

vkf_status vkf_embedder_load_sized(vkf_context *context, const vkf_embedder_desc *desc, size_t desc_bytes,
                                   vkf_embedder **out_embedder)
{
    if (!context || !desc || !out_embedder)
        return vkf__null_argument(__func__);
    vkf_status status = vkf__context_enter(context, "vkf_embedder_load");
    if (status != VKF_OK)
        return status;
    VKF_TAKE_SIZED(&context->host, "vkf_embedder_load", vkf_embedder_desc, desc, desc_bytes);
    if (!desc->directory && !desc->model)
        return vkf__null_argument(__func__);
    vkf_embedder *embedder = NULL;
    VKF_ALLOC(&context->host, embedder, 1);
    vkf__context_hold(context, VKF_MADE_EMBEDDER);
    embedder->context = context;
    VKF_TRY(load(embedder, desc));
    VKF_TRY(make_session(embedder));
    VKF_TRY(make_head(embedder));
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
    vkf_context *context = e->context;
    const vkf__host *host = &context->host;
    *embedder = NULL;
    if (vkf__context_is_inherited(context))
        return;
    vkf_session_destroy(&e->session);
    vkf__text_model_free(&e->text);
    vkf__free(host, e->ids);
    vkf__free(host, e->types);
    vkf__free(host, e->lengths);
    vkf__free(host, e->embeddings);
    vkf__free(host, e->logits);
    vkf__labels_free(host, e->labels, e->label_count);
    vkf__sentence_settings_free(host, &e->settings);
    vkf__free(host, e);
    vkf__context_drop(context, VKF_MADE_EMBEDDER);
}

void vkf_embedder_get_config(const vkf_embedder *embedder, vkf_model_config *out_config)
{
    if (!embedder || !out_config)
        return;
    *out_config = embedder->text.model->config;
    out_config->truncate_len = embedder->max_tokens;
    out_config->embedding_dim = embedder->dim;
}

const vkf_embed_prompt *vkf_embedder_get_prompt(const vkf_embedder *embedder, uint32_t index)
{
    return embedder && index < embedder->settings.prompt_count ? &embedder->settings.prompts[index] : NULL;
}

const vkf_embed_prompt *vkf_embedder_get_default_prompt(const vkf_embedder *embedder)
{
    return embedder ? vkf__embedder_default_prompt(embedder) : NULL;
}

vkf_similarity vkf_embedder_get_similarity(const vkf_embedder *embedder)
{
    return embedder ? embedder->settings.similarity : VKF_SIMILARITY_COSINE;
}

vkf_model *vkf_embedder_get_model(vkf_embedder *embedder)
{
    return embedder ? embedder->text.model : NULL;
}

const vkf_tokenizer *vkf_embedder_get_tokenizer(const vkf_embedder *embedder)
{
    return embedder ? embedder->text.tokenizer : NULL;
}

const char *vkf_embedder_get_label(const vkf_embedder *embedder, uint32_t index)
{
    return embedder && index < embedder->label_count ? embedder->labels[index] : NULL;
}

void vkf_embedder_get_special_tokens_sized(const vkf_embedder *embedder, vkf_special_tokens *out_tokens,
                                           size_t tokens_bytes)
{
    if (embedder && out_tokens)
        (void)vkf__give_sized(out_tokens, tokens_bytes, &embedder->tokens.special, sizeof embedder->tokens.special);
}

vkf_status vkf_tokenizer_read_special_tokens_sized(const vkf_tokenizer *tokenizer, const char *directory,
                                                   vkf_special_tokens *out_tokens, size_t tokens_bytes)
{
    if (!tokenizer || !directory || !out_tokens)
        return vkf__null_argument(__func__);
    vkf__tokenizer_config config;
    VKF_RETURN_IF_ERROR(vkf__check_sized(&tokenizer->host, "vkf_tokenizer_read_special_tokens", tokens_bytes));
    VKF_RETURN_IF_ERROR(vkf__tokenizer_config_load(&tokenizer->host, directory, &tokenizer->parts, &config));
    (void)vkf__give_sized(out_tokens, tokens_bytes, &config.special, sizeof config.special);
    return VKF_OK;
}

// Names the prompts that there are.
static vkf_status fail_prompt(const vkf_embedder *embedder, const char *name)
{
    char names[256] = "";
    const vkf__sentence_settings *settings = &embedder->settings;
    for (uint32_t i = 0, used = 0; i < settings->prompt_count && used < sizeof names; i++)
        used += (uint32_t)snprintf(names + used, sizeof names - used, "%s%.60s", i > 0 ? ", " : "",
                                   settings->prompts[i].name);
    return vkf__fail(&embedder->context->host, VKF_ERROR_INVALID_ARGUMENT,
                     "vkf_embedder_run: the model has no prompt \"%.100s\"; it has %s", name, names);
}

static vkf_status check_prompt(const vkf_embedder *embedder, const vkf_embed_args *args)
{
    if (args->prompt && args->prompt_name)
        return vkf__fail(&embedder->context->host, VKF_ERROR_INVALID_ARGUMENT,
                         "vkf_embedder_run: prompt and prompt_name are both given");
    if (args->prompt_name && !vkf__sentence_prompt(&embedder->settings, args->prompt_name))
        return fail_prompt(embedder, args->prompt_name);
    return VKF_OK;
}

static bool texts_given(const vkf_text *texts, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (!texts[i].bytes && texts[i].size_bytes > 0)
            return false;
    return true;
}

static vkf_status check_options(const vkf__host *host, const vkf_encode_options *options)
{
    if ((unsigned)options->truncation >= VKF_TRUNCATION_COUNT)
        return vkf__fail(host, VKF_ERROR_INVALID_ARGUMENT, "vkf_embedder_run: truncation %u is no vkf_truncation",
                         (unsigned)options->truncation);
    return vkf__check_reserved(host, "vkf_embedder_run", "vkf_encode_options", options->reserved,
                               sizeof options->reserved);
}

vkf_status vkf_embedder_run_sized(vkf_embedder *embedder, const vkf_embed_args *args, size_t args_bytes)
{
    if (!embedder || !args)
        return vkf__null_argument(__func__);
    vkf_status status = vkf__context_enter(embedder->context, "vkf_embedder_run");
    if (status != VKF_OK)
        return status;
    VKF_TAKE_SIZED(&embedder->context->host, "vkf_embedder_run", vkf_embed_args, args, args_bytes);
    const vkf__host *host = &embedder->context->host;
    if (args->count == 0 || !args->texts || (!args->out_embeddings && !args->out_predictions))
        return vkf__fail(host, VKF_ERROR_INVALID_ARGUMENT,
                         "vkf_embedder_run: count is 0, or texts, or out_embeddings and out_predictions, are NULL");
    if (!texts_given(args->texts, args->count) || (args->pairs && !texts_given(args->pairs, args->count)))
        return vkf__fail(host, VKF_ERROR_INVALID_ARGUMENT, "vkf_embedder_run: the bytes of a text are NULL");
    for (uint32_t i = 0; args->options && i < args->count; i++)
        VKF_RETURN_IF_ERROR(check_options(host, &args->options[i]));
    if (args->out_predictions && !embedder->head)
        return vkf__fail(host, VKF_ERROR_INVALID_ARGUMENT,
                         "vkf_embedder_run: out_predictions of an embedder without its head");
    status = check_prompt(embedder, args);
    return status == VKF_OK ? vkf__embedder_run(embedder, args) : status;
}
