#include "model/text_model.h"

#include "io/file_map.h"
#include "io/path.h"

static bool has_file(const vkf__host *host, const char *directory, const char *name)
{
    char *path = NULL;
    bool there = vkf__path_join(host, directory, name, &path) == VKF_OK && vkf__file_exists(path);
    vkf__free(host, path);
    return there;
}

static vkf_status load_tokenizer(const vkf__host *host, const char *directory, vkf__tokenizer *out_tokenizer)
{
    if (has_file(host, directory, "tokenizer.json") || has_file(host, directory, "source.spm"))
        return vkf__tokenizer_load(host, directory, out_tokenizer);
    return vkf__fail(host, VKF_ERROR_FILE, "%s: there is no tokenizer, neither tokenizer.json nor Marian's source.spm",
                     directory);
}

static vkf_status check_vocabulary(const vkf__host *host, const char *directory, const vkf__text_model *text)
{
    const vkf_model_config *config = &text->model->config;
    uint32_t tokens = vkf__tokenizer_vocab_size(&text->tokenizer);
    uint32_t known = config->kind == VKF_MODEL_DECODER ? config->target_vocab : config->source_vocab;
    if (tokens <= known)
        return VKF_OK;
    return vkf__fail(
        host, VKF_ERROR_FORMAT,
        "%s: the tokenizer (tokenizer.json, vocab.json) has ids up to %u, but the model's vocabulary is %u", directory,
        tokens - 1, known);
}

vkf_status vkf__text_model_load(vkf_context *context, const vkf_model_desc *desc, vkf__text_model *out_model)
{
    vkf_status status = VKF_OK;
    vkf__text_model text = {0};
    VKF_TRY(vkf_model_load(context, desc, &text.model));
    VKF_TRY(load_tokenizer(&context->host, desc->directory, &text.tokenizer));
    VKF_TRY(check_vocabulary(&context->host, desc->directory, &text));
    *out_model = text;
    return VKF_OK;
fail:
    vkf__text_model_free(&text);
    return status;
}

void vkf__text_model_free(vkf__text_model *model)
{
    if (model->tokenizer.host) // loaded
        vkf__tokenizer_free(&model->tokenizer);
    vkf_model_destroy(&model->model);
    *model = (vkf__text_model){0};
}
