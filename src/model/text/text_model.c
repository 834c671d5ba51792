// Loads a model and its tokenizer, and encodes texts for it.
#include "model/text/text_model.h"

#include "io/source_file.h"
#include "model/text/tokenizer_config.h"
#include "text/tokenizer_files.h"

// Finds the file that a directory's tokenizer is read from. The caller frees *out_path.
static vkf_status find_tokenizer(const vkf__host *host, const char *directory, char **out_path)
{
    char *path = NULL;
    vkf_status status = vkf__tokenizer_files_find(host, directory, &path);
    if (status == VKF_OK && !path)
        status = vkf__fail(host, VKF_ERROR_FILE,
                           "%s: there is no tokenizer, neither tokenizer.json nor files of older ones (source.spm, "
                           "vocab.txt, vocab.json, spiece.model, sentencepiece.bpe.model, tokenizer.model)",
                           directory);
    if (status == VKF_OK)
        *out_path = path;
    return status;
}

static vkf__id_tables tables_of(const vkf__text_model *text)
{
    return (vkf__id_tables){text->host, text->tokenizer_path, &text->tokenizer->parts, &text->model->config};
}

const char *vkf__text_model_directory(const vkf_model_desc *desc, const vkf_model *shared)
{
    return desc->directory || !shared ? desc->directory : shared->directory;
}

vkf__host vkf__text_model_host(const vkf_context *context, const vkf_model_desc *desc, const vkf_model *shared)
{
    return vkf__host_with_files(&context->host, desc->files, vkf__text_model_directory(desc, shared));
}

static vkf_status take_model(vkf_context *context, const vkf_model_desc *desc, vkf_model *shared, vkf__text_model *text)
{
    if (!shared) {
        VKF_RETURN_IF_ERROR(vkf__model_check(context, desc, "vkf_model_load"));
        return vkf__model_load(context, desc, &text->model);
    }
    if (desc->adapter_directory)
        return vkf__fail(&context->host, VKF_ERROR_INVALID_ARGUMENT,
                         "an adapter is merged while its model is loaded: give it to vkf_model_load()");
    if (shared->context != context)
        return vkf__fail(&context->host, VKF_ERROR_INVALID_ARGUMENT, "the model belongs to another context");
    if (!vkf__text_model_directory(desc, shared))
        return vkf__fail(&context->host, VKF_ERROR_INVALID_ARGUMENT,
                         "the model was not loaded from a directory: name the one that its tokenizer is in");
    VKF_RETURN_IF_ERROR(vkf__source_check(&context->host, desc->files, "a shared model"));
    vkf__model_hold(shared);
    text->model = shared;
    return VKF_OK;
}

vkf_status vkf__text_directory(const vkf__host *host, const vkf__model_place *place, char **out_directory)
{
    char *path = NULL;
    if (place->adapter)
        VKF_RETURN_IF_ERROR(vkf__tokenizer_files_find(host, place->adapter, &path));
    VKF_STRDUP_OR_RETURN(host, *out_directory, path ? place->adapter : place->transformer);
    vkf__free(host, path);
    return VKF_OK;
}

vkf_status vkf__text_files_load(const vkf__host *host, const vkf_model_config *config, vkf__text_model *text)
{
    VKF_RETURN_IF_ERROR(vkf__text_directory(host, &text->place, &text->directory));
    VKF_RETURN_IF_ERROR(find_tokenizer(host, text->directory, &text->tokenizer_path));
    VKF_RETURN_IF_ERROR(vkf__tokenizer_make(host, text->directory, &text->tokenizer));
    VKF_RETURN_IF_ERROR(vkf__tokenizer_config_apply(host, text->directory, &text->tokenizer->parts));
    if (config->lower_case)
        VKF_RETURN_IF_ERROR(vkf__normalizer_lower_case(&text->tokenizer->parts.normalizer));
    return vkf__check_padding(&(vkf__id_tables){host, text->tokenizer_path, &text->tokenizer->parts, config});
}

vkf_status vkf__text_files_try(const vkf__host *host, const vkf__model_place *place, const vkf_model_config *config)
{
    vkf__text_model text = {.host = host, .place = *place};
    const vkf_status status = vkf__text_files_load(host, config, &text);
    text.place = (vkf__model_place){0}; // it stays the caller's
    vkf__text_model_free(&text);
    return status;
}

vkf_status vkf__text_model_load(vkf_context *context, const vkf_model_desc *desc, vkf_model *shared,
                                vkf__text_model *out_model)
{
    vkf_status status = VKF_OK;
    const vkf__host files = vkf__text_model_host(context, desc, shared), *host = &files;
    vkf__text_model text = {.host = &context->host};
    const char *adapter = desc->directory || !shared ? desc->adapter_directory : shared->adapter;
    VKF_TRY(take_model(context, desc, shared, &text));
    VKF_TRY(vkf__model_place_find(host, vkf__text_model_directory(desc, shared), adapter, &text.place));
    VKF_TRY(vkf__text_files_load(host, &text.model->config, &text));
    *out_model = text;
    text = (vkf__text_model){0};
fail:
    vkf__text_model_free(&text);
    return status;
}

void vkf__text_model_free(vkf__text_model *model)
{
    vkf_tokenizer_destroy(&model->tokenizer);
    if (model->host) {
        vkf__free(model->host, model->tokenizer_path);
        vkf__free(model->host, model->directory);
        vkf__model_place_free(model->host, &model->place);
    }
    vkf_model_destroy(&model->model);
    *model = (vkf__text_model){0};
}

// Encodes and checks a text. A part of a text (`part`) may have no tokens.
static vkf_status encode(const vkf__text_model *model, const vkf_text *text, const vkf_text *pair, bool part,
                         const vkf_encode_options *options, vkf_encoding *out_encoding)
{
    const vkf__id_tables tables = tables_of(model);
    vkf_encoding encoding = {0};
    vkf_status status = vkf__tokenizer_encode(&model->tokenizer->parts, text->bytes, text->size_bytes, pair->bytes,
                                              pair->size_bytes, options, &encoding);
    if (status == VKF_OK && (encoding.count > 0 || !part))
        status = vkf__check_encoding(&tables, &encoding);
    if (status == VKF_OK)
        *out_encoding = encoding;
    else
        vkf_encoding_free(&encoding);
    return status;
}

vkf_status vkf__text_model_encode(const vkf__text_model *model, const vkf_text *text, const vkf_text *pair,
                                  const vkf_encode_options *options, vkf_encoding *out_encoding)
{
    static const vkf_text none = {0};
    return encode(model, text, pair ? pair : &none, false, options, out_encoding);
}

vkf_status vkf__text_model_encode_part(const vkf__text_model *model, const vkf_text *part,
                                       const vkf_encode_options *options, vkf_encoding *out_encoding)
{
    static const vkf_text none = {0};
    return encode(model, part, &none, true, options, out_encoding);
}
