// Loads vocabularies, and looks up their tokens.
#include "text/vocabulary.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int compare_ids(const void *a, const void *b)
{
    const vkf__token_text *x = a;
    const vkf__token_text *y = b;
    return x->id < y->id ? -1 : x->id > y->id;
}

static vkf_status allocate(const vkf__host *host, size_t count, size_t bytes, vkf__token_vocabulary *vocabulary)
{
    *vocabulary = (vkf__token_vocabulary){.host = host};
    VKF_ALLOC_OR_RETURN(host, vocabulary->arena, bytes + count + 1);
    VKF_ALLOC_OR_RETURN(host, vocabulary->tokens, count + 1);
    return VKF_OK;
}

// Adds a text to the arena, *at bytes of which are used.
static void add(vkf__token_vocabulary *vocabulary, size_t *at, const char *text, size_t bytes, int32_t id)
{
    char *copy = vocabulary->arena + *at;
    memcpy(copy, text, bytes);
    *at += bytes + 1;
    vocabulary->tokens[vocabulary->count++] = (vkf__token_text){copy, (uint32_t)bytes, id};
}

static vkf_status build_trie(vkf__token_vocabulary *vocabulary)
{
    vkf_status status = VKF_OK;
    vkf__trie_entry *entries = NULL;
    VKF_ALLOC(vocabulary->host, entries, vocabulary->count + 1);
    for (size_t i = 0; i < vocabulary->count; i++) {
        const vkf__token_text *token = &vocabulary->tokens[i];
        entries[i] = (vkf__trie_entry){token->text, token->bytes, token->id};
    }
    VKF_TRY(vkf__trie_build(vocabulary->host, entries, vocabulary->count, &vocabulary->trie));
    if (vocabulary->count > 0)
        qsort(vocabulary->tokens, vocabulary->count, sizeof *vocabulary->tokens, compare_ids);
fail:
    vkf__free(vocabulary->host, entries);
    return status;
}

vkf_status vkf__vocabulary_load_object(const vkf__json_section *section, vkf__token_vocabulary *out_vocabulary)
{
    size_t bytes = 0;
    size_t at = 0;
    const char *key;
    json_t *value;
    json_t *object = (json_t *)(uintptr_t)section->object; // jansson's loops take no const
    VKF_RETURN_IF_ERROR(vkf__section_is_object(section));
    json_object_foreach(object, key, value) bytes += strlen(key);
    VKF_RETURN_IF_ERROR(allocate(section->host, json_object_size(object), bytes, out_vocabulary));
    json_object_foreach(object, key, value)
    {
        uint32_t id = 0;
        VKF_RETURN_IF_ERROR(vkf__json_u32(section->host, section->where, object, key, 0, VKF_TOKEN_MAX_ID, &id));
        add(out_vocabulary, &at, key, strlen(key), (int32_t)id);
    }
    return build_trie(out_vocabulary);
}

vkf_status vkf__vocabulary_load_list(const vkf__json_section *section, vkf__token_vocabulary *out_vocabulary)
{
    size_t bytes = 0;
    size_t at = 0;
    VKF_RETURN_IF_ERROR(vkf__section_is_array(section));
    size_t count = json_array_size(section->object);
    for (size_t i = 0; i < count; i++) {
        const json_t *row = json_array_get(section->object, i);
        const json_t *text = json_array_get(row, 0);
        if (json_array_size(row) != 2 || !json_is_string(text) || !json_is_number(json_array_get(row, 1)))
            return vkf__fail(section->host, VKF_ERROR_FORMAT, "%s[%zu] must be a text and a number", section->where, i);
        bytes += json_string_length(text);
    }
    VKF_RETURN_IF_ERROR(allocate(section->host, count, bytes, out_vocabulary));
    for (size_t i = 0; i < count; i++) {
        const json_t *text = json_array_get(json_array_get(section->object, i), 0);
        add(out_vocabulary, &at, json_string_value(text), json_string_length(text), (int32_t)i);
    }
    return build_trie(out_vocabulary);
}

void vkf__vocabulary_free(vkf__token_vocabulary *vocabulary)
{
    if (!vocabulary->host)
        return;
    vkf__free(vocabulary->host, vocabulary->arena);
    vkf__free(vocabulary->host, vocabulary->tokens);
    vkf__trie_free(&vocabulary->trie);
    *vocabulary = (vkf__token_vocabulary){0};
}

const vkf__token_text *vkf__vocabulary_token(const vkf__token_vocabulary *vocabulary, int32_t id)
{
    // Ids are usually dense, and then a token is at the place of its id.
    if (id >= 0 && (size_t)id < vocabulary->count && vocabulary->tokens[id].id == id)
        return &vocabulary->tokens[id];
    size_t begin = 0;
    size_t end = vocabulary->count;
    while (begin < end) {
        size_t middle = begin + (end - begin) / 2;
        if (vocabulary->tokens[middle].id < id)
            begin = middle + 1;
        else
            end = middle;
    }
    return begin < vocabulary->count && vocabulary->tokens[begin].id == id ? &vocabulary->tokens[begin] : NULL;
}

int32_t vkf__vocabulary_byte(const vkf__token_vocabulary *vocabulary, unsigned char byte)
{
    char text[8];
    snprintf(text, sizeof text, "<0x%02X>", byte);
    return vkf__trie_find(&vocabulary->trie, text, 6);
}
