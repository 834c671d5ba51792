// Checks ids against the model's tables, and words the errors.
#include "model/text/id_check.h"

#include "model/family/config.h"

static bool has_row(const vkf_model_config *config, int32_t id)
{
    return id >= 0 && (uint32_t)id < vkf__text_vocab(config);
}

vkf_status vkf__check_padding(const vkf__id_tables *tables)
{
    const vkf_model_config *config = tables->config;
    if (config->pad_id == -1 || has_row(config, config->pad_id)) // -1: there is none
        return VKF_OK;
    return vkf__fail(tables->host, VKF_ERROR_FORMAT,
                     "%s: the model pads with id %d, but the vocabulary for texts is %u", tables->path, config->pad_id,
                     vkf__text_vocab(config));
}

static vkf_status fail_id(const vkf__id_tables *tables, const vkf_encoding *encoding, uint32_t place)
{
    int32_t id = encoding->ids[place];
    const char *token = vkf__tokenizer_id_to_token(tables->tokenizer, id);
    return vkf__fail(tables->host, VKF_ERROR_FORMAT,
                     "%s: token %u of the text, %s%.100s%s, has id %d, but the model's vocabulary is %u", tables->path,
                     place, token ? "'" : "which has no name", token ? token : "", token ? "'" : "", id,
                     vkf__text_vocab(tables->config));
}

static vkf_status fail_type(const vkf__id_tables *tables, const vkf_encoding *encoding, uint32_t place)
{
    const char *token = vkf__tokenizer_id_to_token(tables->tokenizer, encoding->ids[place]);
    return vkf__fail(tables->host, VKF_ERROR_FORMAT,
                     "%s: token %u of the text, '%.100s' with id %d, is of type %d, but the model has %u token types",
                     tables->path, place, token ? token : "", encoding->ids[place], encoding->type_ids[place],
                     tables->config->token_types);
}

static vkf_status check_empty(const vkf__id_tables *tables)
{
    const vkf_model_config *config = tables->config;
    bool prompts = vkf__facts_of(config)->prompts;
    if (prompts && has_row(config, config->bos_id))
        return VKF_OK;
    return vkf__fail(
        tables->host, VKF_ERROR_INVALID_ARGUMENT, "the text has no tokens, and %s adds none to it: %s", tables->path,
        prompts ? "the model has no bos_token_id to begin a text with" : "there is nothing for the model to read");
}

vkf_status vkf__check_encoding(const vkf__id_tables *tables, const vkf_encoding *encoding)
{
    const vkf_model_config *config = tables->config;
    if (encoding->count == 0)
        return check_empty(tables);
    for (uint32_t i = 0; i < encoding->count; i++) {
        if (!has_row(config, encoding->ids[i]))
            return fail_id(tables, encoding, i);
        bool typed = vkf__facts_of(config)->source_lengths && config->token_types > 1;
        if (typed && (encoding->type_ids[i] < 0 || (uint32_t)encoding->type_ids[i] >= config->token_types))
            return fail_type(tables, encoding, i);
    }
    return VKF_OK;
}
