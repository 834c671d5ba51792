// Loads a tokenizer file part by part, and answers what the API asks of it.
#include "text/tokenizer.h"

#include <stdio.h>
#include <string.h>

#include "io/file.h"
#include "text/marian.h"
#include "text/tokenizer_files.h"

// --- truncation and padding

static vkf_status load_truncation(const vkf__json_section *root, vkf__tokenizer *tokenizer)
{
    static const char *const strategies[] = {"LongestFirst", "OnlyFirst", "OnlySecond"};
    static const char *const directions[] = {"Right", "Left"};
    vkf__json_section section;
    bool found = false;
    size_t strategy = 0;
    size_t direction = 0;
    tokenizer->truncation.strategy = VKF_TRUNCATION_NONE;
    VKF_RETURN_IF_ERROR(vkf__section_find(root, "truncation", &found, &section));
    if (!found)
        return VKF_OK;
    VKF_RETURN_IF_ERROR(vkf__section_is_object(&section));
    VKF_RETURN_IF_ERROR(vkf__json_u32(section.host, section.where, section.object, "max_length", 0, UINT32_MAX,
                                      &tokenizer->truncation.max_length));
    VKF_RETURN_IF_ERROR(vkf__section_choice(&section, "strategy", strategies, 3, &strategy));
    VKF_RETURN_IF_ERROR(vkf__section_choice(&section, "direction", directions, 2, &direction));
    tokenizer->truncation.strategy = (vkf_truncation)(VKF_TRUNCATION_LONGEST_FIRST + (int)strategy);
    tokenizer->truncation.left = direction == 1;
    tokenizer->info.max_length = tokenizer->truncation.max_length;
    return VKF_OK;
}

// Reads "BatchLongest" or {"Fixed": 128}.
static vkf_status load_pad_length(const vkf__json_section *section, uint32_t *out_length)
{
    static const char *const strategies[] = {"BatchLongest"};
    size_t strategy = 0;
    const json_t *given = json_object_get(section->object, "strategy");
    if (json_is_object(given))
        return vkf__json_u32(section->host, section->where, given, "Fixed", 0, UINT32_MAX, out_length);
    return vkf__section_choice(section, "strategy", strategies, 1, &strategy);
}

static vkf_status load_padding(const vkf__json_section *root, vkf_tokenizer_info *info)
{
    static const char *const directions[] = {"Right", "Left"};
    vkf__json_section section;
    bool found = false;
    size_t direction = 0;
    uint32_t id = 0;
    uint32_t type_id = 0;
    VKF_RETURN_IF_ERROR(vkf__section_find(root, "padding", &found, &section));
    if (!found)
        return VKF_OK;
    VKF_RETURN_IF_ERROR(vkf__section_is_object(&section));
    VKF_RETURN_IF_ERROR(load_pad_length(&section, &info->pad_length));
    VKF_RETURN_IF_ERROR(vkf__section_choice(&section, "direction", directions, 2, &direction));
    VKF_RETURN_IF_ERROR(vkf__section_u32(&section, "pad_to_multiple_of", UINT32_MAX, &info->pad_multiple_of));
    VKF_RETURN_IF_ERROR(vkf__section_u32(&section, "pad_id", VKF_TOKEN_MAX_ID, &id));
    VKF_RETURN_IF_ERROR(vkf__section_u32(&section, "pad_type_id", INT32_MAX, &type_id));
    info->pads = true;
    info->pad_id = (int32_t)id;
    info->pad_type_id = (int32_t)type_id;
    info->pad_left = direction == 1;
    return VKF_OK;
}

// --- the parts

static vkf_status load_parts(const vkf__json_section *root, vkf__tokenizer *tokenizer)
{
    vkf__json_section section;
    bool found = false;
    VKF_RETURN_IF_ERROR(vkf__section_get(root, "model", &section));
    VKF_RETURN_IF_ERROR(vkf__token_model_load(&section, &tokenizer->model));
    tokenizer->normalizer.host = root->host;
    VKF_RETURN_IF_ERROR(vkf__section_find(root, "normalizer", &found, &section));
    if (found)
        VKF_RETURN_IF_ERROR(vkf__normalizer_load(&section, &tokenizer->normalizer));
    VKF_RETURN_IF_ERROR(vkf__section_find(root, "pre_tokenizer", &found, &section));
    if (found)
        VKF_RETURN_IF_ERROR(vkf__pre_tokenizer_load(&section, &tokenizer->pre_tokenizer));
    VKF_RETURN_IF_ERROR(vkf__section_find(root, "added_tokens", &found, &section));
    if (found)
        VKF_RETURN_IF_ERROR(
            vkf__added_tokens_load(&section, &tokenizer->model, &tokenizer->normalizer, &tokenizer->added));
    VKF_RETURN_IF_ERROR(vkf__section_find(root, "post_processor", &found, &section));
    VKF_RETURN_IF_ERROR(vkf__post_processor_load(root->host, found ? &section : NULL, &tokenizer->post_processor));
    VKF_RETURN_IF_ERROR(vkf__section_find(root, "decoder", &found, &section));
    if (found)
        VKF_RETURN_IF_ERROR(vkf__decoder_load(&section, &tokenizer->decoder));
    VKF_RETURN_IF_ERROR(load_truncation(root, tokenizer));
    return load_padding(root, &tokenizer->info);
}

vkf_status vkf__tokenizer_from_json(const vkf__host *host, const char *path, const json_t *root,
                                    vkf__tokenizer *out_tokenizer)
{
    vkf__tokenizer tokenizer = {.host = host};
    vkf__json_section section = {.host = host, .object = root};
    snprintf(section.where, sizeof section.where, "%.*s", (int)(sizeof section.where - 200), path);
    vkf_status status = load_parts(&section, &tokenizer);
    if (status == VKF_OK)
        *out_tokenizer = tokenizer;
    else
        vkf__tokenizer_free(&tokenizer);
    return status;
}

vkf_status vkf__tokenizer_parse(const vkf__host *host, const char *path, const char *json, size_t json_bytes,
                                vkf__tokenizer *out_tokenizer)
{
    json_t *root = NULL;
    vkf_status status = vkf__json_parse(host, path, json, json_bytes, &root);
    if (status != VKF_OK)
        return status;
    status = vkf__tokenizer_from_json(host, path, root, out_tokenizer);
    json_decref(root);
    return status;
}

static vkf_status load_file(const vkf__host *host, const char *path, vkf__tokenizer *out_tokenizer)
{
    vkf__file_bytes file;
    vkf_status status = vkf__file_read(host, path, VKF_TOKENIZER_MAX_BYTES, &file);
    if (status != VKF_OK)
        return status;
    status = vkf__tokenizer_parse(host, path, (const char *)file.data, file.size_bytes, out_tokenizer);
    vkf__file_bytes_free(host, &file);
    return status;
}

vkf_status vkf__tokenizer_load(const vkf__host *host, const char *path, vkf__tokenizer *out_tokenizer)
{
    char *found = NULL;
    vkf_status status = vkf__tokenizer_files_find(host, path, &found);
    if (status != VKF_OK)
        return status;
    const char *name = found ? found + strlen(path) + 1 : "";
    if (!found || strcmp(name, "tokenizer.json") == 0)
        status = load_file(host, found ? found : path, out_tokenizer);
    else if (strcmp(name, "source.spm") == 0)
        status = vkf__marian_load(host, path, out_tokenizer);
    else
        status = vkf__tokenizer_files_load(host, path, out_tokenizer);
    vkf__free(host, found);
    return status;
}

vkf_status vkf__tokenizer_make(const vkf__host *host, const char *path, vkf_tokenizer **out_tokenizer)
{
    vkf_status status = VKF_OK;
    vkf_tokenizer *tokenizer = NULL;
    VKF_ALLOC(host, tokenizer, 1);
    tokenizer->host = *host;
    VKF_TRY(vkf__tokenizer_load(&tokenizer->host, path, &tokenizer->parts));
    tokenizer->host.files = NULL; // they were for loading
    tokenizer->host.files_directory = NULL;
    *out_tokenizer = tokenizer;
    tokenizer = NULL;
fail:
    vkf__free(host, tokenizer);
    return status;
}

void vkf_tokenizer_destroy(vkf_tokenizer **tokenizer)
{
    if (!tokenizer || !*tokenizer)
        return;
    vkf__host host = (*tokenizer)->host;
    vkf__tokenizer_free(&(*tokenizer)->parts);
    vkf__free(&host, *tokenizer);
    *tokenizer = NULL;
}

void vkf__tokenizer_free(vkf__tokenizer *tokenizer)
{
    vkf__normalizer_free(&tokenizer->normalizer);
    vkf__pre_tokenizer_free(&tokenizer->pre_tokenizer);
    vkf__token_model_free(&tokenizer->model);
    vkf__added_tokens_free(&tokenizer->added);
    vkf__post_processor_free(&tokenizer->post_processor);
    vkf__decoder_free(&tokenizer->decoder);
    *tokenizer = (vkf__tokenizer){0};
}

// --- ids and texts

int32_t vkf__tokenizer_token_to_id(const vkf__tokenizer *tokenizer, const char *token)
{
    size_t bytes = strlen(token);
    int32_t id = vkf__added_token_id(&tokenizer->added, token, bytes);
    return id != VKF_TRIE_NONE ? id : vkf__trie_find(&tokenizer->model.vocabulary.trie, token, bytes);
}

const char *vkf__tokenizer_id_to_token(const vkf__tokenizer *tokenizer, int32_t id)
{
    const vkf__added_token *added = vkf__added_token_by_id(&tokenizer->added, id);
    if (added)
        return added->content;
    const vkf__token_text *token = vkf__vocabulary_token(&tokenizer->model.vocabulary, id);
    return token ? token->text : NULL;
}

uint32_t vkf__tokenizer_vocab_size(const vkf__tokenizer *tokenizer)
{
    const vkf__token_vocabulary *vocabulary = &tokenizer->model.vocabulary;
    const vkf__added_tokens *added = &tokenizer->added;
    int32_t highest[] = {
        vocabulary->count > 0 ? vocabulary->tokens[vocabulary->count - 1].id : -1,
        added->count > 0 ? added->tokens[added->count - 1].id : -1,
        vkf__post_processor_highest_id(&tokenizer->post_processor), // counts even where the vocabulary lacks it
        tokenizer->info.pads ? tokenizer->info.pad_id : -1,
    };
    for (size_t i = 1; i < sizeof highest / sizeof *highest; i++)
        highest[0] = highest[i] > highest[0] ? highest[i] : highest[0];
    return (uint32_t)(highest[0] + 1);
}

static vkf_status write_tokens(const vkf__tokenizer *tokenizer, const int32_t *ids, uint32_t count,
                               bool skip_special_tokens, vkf__text_list *list)
{
    for (uint32_t i = 0; i < count; i++) {
        const vkf__added_token *added = vkf__added_token_by_id(&tokenizer->added, ids[i]);
        const vkf__token_text *token = added ? NULL : vkf__vocabulary_token(&tokenizer->model.vocabulary, ids[i]);
        const char *text = added ? vkf__added_token_text(added) : token ? token->text : NULL;
        size_t bytes = text ? strlen(text) : 0;
        if (!text || (skip_special_tokens && vkf__is_special_text(&tokenizer->added, text, bytes)))
            continue;
        VKF_RETURN_IF_ERROR(vkf__text_list_write(list, text, bytes));
        VKF_RETURN_IF_ERROR(vkf__text_list_end(list));
    }
    return VKF_OK;
}

vkf_status vkf__tokenizer_decode(const vkf__tokenizer *tokenizer, const int32_t *ids, uint32_t count,
                                 bool skip_special_tokens, size_t *inout_bytes, char *out_text)
{
    vkf_status status = VKF_OK;
    vkf__text_list list = {.host = tokenizer->host};
    VKF_TRY(write_tokens(tokenizer, ids, count, skip_special_tokens, &list));
    VKF_TRY(vkf__decode(&tokenizer->decoder, &list));
    if (out_text && *inout_bytes <= list.count) {
        status = vkf__fail(tokenizer->host, VKF_ERROR_TOO_LARGE,
                           "the text takes %zu bytes and a terminating zero, and there is room for %zu", list.count,
                           *inout_bytes);
        goto fail;
    }
    if (out_text && list.count > 0)
        memcpy(out_text, list.bytes, list.count);
    if (out_text)
        out_text[list.count] = '\0';
    *inout_bytes = list.count;
fail:
    vkf__text_list_free(&list);
    return status;
}
