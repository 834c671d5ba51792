// Counts tokens. Only a text that fills the model's room can have been cut, so few are tokenized once more.
#include "input/text_tokens.h"

#include <stdlib.h>
#include <string.h>

#include "command/options.h"

const char *vkf_prompt_of(const vkf_embedder *embedder, const vkf_embed_args *args)
{
    const vkf_embed_prompt *prompt = args->prompt_name ? NULL : vkf_embedder_get_default_prompt(embedder);
    if (args->prompt)
        return args->prompt;
    for (uint32_t i = 0; args->prompt_name && !prompt; i++) {
        const vkf_embed_prompt *named = vkf_embedder_get_prompt(embedder, i);
        if (!named)
            break;
        prompt = strcmp(named->name, args->prompt_name) == 0 ? named : NULL;
    }
    return prompt ? prompt->text : "";
}

bool vkf_count_text_tokens(const vkf_embedder *embedder, const char *prompt, const vkf_text *text, const vkf_text *pair,
                           uint32_t *out_count)
{
    const vkf_encode_options options = {.truncation = VKF_TRUNCATION_NONE};
    const size_t prompt_bytes = strlen(prompt);
    vkf_encoding encoding = {0};
    char *both = malloc(prompt_bytes + text->size_bytes + 1);
    if (!both) {
        vkf_print_error("memory is exhausted");
        return false;
    }
    memcpy(both, prompt, prompt_bytes);
    if (text->size_bytes > 0)
        memcpy(both + prompt_bytes, text->bytes, text->size_bytes);
    vkf_status status =
        vkf_tokenizer_encode(vkf_embedder_get_tokenizer(embedder), &(vkf_text){both, prompt_bytes + text->size_bytes},
                             pair && pair->bytes ? pair : NULL, &options, &encoding);
    free(both);
    if (status == VKF_OK)
        *out_count = encoding.count;
    vkf_encoding_free(&encoding);
    return status == VKF_OK;
}

bool vkf_warn_of_cut_texts(const vkf_embedder *embedder, const vkf_embed_args *args, const char *advice)
{
    vkf_model_config config;
    vkf_embedder_get_config(embedder, &config);
    const char *prompt = vkf_prompt_of(embedder, args);
    uint32_t cut = 0;
    for (uint32_t i = 0; i < args->count; i++) {
        uint32_t tokens = args->out_token_counts[i];
        if (tokens >= config.truncate_len &&
            !vkf_count_text_tokens(embedder, prompt, &args->texts[i], args->pairs ? &args->pairs[i] : NULL, &tokens))
            return false;
        cut += tokens > args->out_token_counts[i];
    }
    if (cut > 0)
        vkf_print_warning("%u of %u texts were cut at %u tokens: %s", cut, args->count, config.truncate_len, advice);
    return true;
}
