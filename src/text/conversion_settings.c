// Collects the arguments with which transformers' from_pretrained() calls a tokenizer's class. They come from
// tokenizer_config.json, special_tokens_map.json and added_tokens.json, in its order.
#include <stdlib.h>
#include <string.h>

#include "io/file.h"
#include "io/path.h"
#include "text/conversion.h"

static const char *const named[] = {"bos_token", "eos_token", "unk_token", "sep_token",
                                    "pad_token", "cls_token", "mask_token"};

static vkf_status no_memory(const vkf__host *host)
{
    return vkf__no_memory(host, "the settings of a tokenizer", 1, sizeof(json_t *));
}

// Loads a file; a missing one gives an empty object.
static vkf_status load_file(const vkf__conversion *conversion, const char *name, json_t **out_root)
{
    vkf_status status = VKF_OK;
    char *path = NULL;
    VKF_TRY(vkf__path_join(conversion->host, conversion->directory, name, &path));
    if (vkf__file_is_there(conversion->host, path))
        VKF_TRY(vkf__json_load(conversion->host, path, out_root));
    else if (!(*out_root = json_object()))
        status = no_memory(conversion->host);
fail:
    vkf__free(conversion->host, path);
    return status;
}

static bool is_named(const char *key)
{
    for (size_t i = 0; i < sizeof named / sizeof *named; i++)
        if (strcmp(key, named[i]) == 0)
            return true;
    return false;
}

static bool is_token_key(const char *key)
{
    size_t bytes = strlen(key);
    return bytes > 6 && strcmp(key + bytes - 6, "_token") == 0;
}

static bool is_token(const json_t *value)
{
    return json_is_string(value) || json_is_string(json_object_get(value, "content"));
}

static vkf_status set(const vkf__conversion *conversion, json_t *object, const char *key, json_t *value)
{
    return json_object_set_new(object, key, value) == 0 ? VKF_OK : no_memory(conversion->host);
}

static vkf_status add_own(vkf__conversion *conversion, const char *name, const json_t *value)
{
    if (!is_token(value))
        return vkf__fail(conversion->host, VKF_ERROR_FORMAT,
                         "%s: special token '%s' must be a text or an object with 'content'", conversion->directory,
                         name);
    json_t *token =
        json_is_string(value) ? json_pack("{s:s}", "content", json_string_value(value)) : json_deep_copy(value);
    return set(conversion, conversion->own, name, token);
}

// extra_special_tokens may be an object, which gives its tokens names.
static vkf_status take_named_extras(vkf__conversion *conversion)
{
    const char *key;
    json_t *value;
    json_t *extra = json_object_get(conversion->settings, "extra_special_tokens");
    if (!json_is_object(extra))
        return VKF_OK;
    json_object_foreach(extra, key, value)
    {
        VKF_RETURN_IF_ERROR(add_own(conversion, key, value));
    }
    json_object_del(conversion->settings, "extra_special_tokens");
    return VKF_OK;
}

static bool is_filled(const json_t *value)
{
    return json_array_size(value) > 0 || json_object_size(value) > 0;
}

static vkf_status rename_extras(vkf__conversion *conversion)
{
    json_t *old = json_object_get(conversion->settings, "additional_special_tokens");
    if (!old || is_filled(json_object_get(conversion->settings, "extra_special_tokens")))
        return VKF_OK;
    if (json_object_set(conversion->settings, "extra_special_tokens", old) != 0)
        return no_memory(conversion->host);
    json_object_del(conversion->settings, "additional_special_tokens");
    return VKF_OK;
}

// --- tokens with their places

typedef struct placed_token {
    long long place;
    const char *content;
    json_t *token; // borrowed
} placed_token;

static int compare_places(const void *a, const void *b)
{
    const placed_token *x = a;
    const placed_token *y = b;
    return x->place < y->place ? -1 : x->place > y->place;
}

// Makes `listed` of the tokens, in the order of their places.
static vkf_status list_tokens(vkf__conversion *conversion, placed_token *tokens, size_t count)
{
    qsort(tokens, count, sizeof *tokens, compare_places);
    for (size_t i = 0; i < count; i++) {
        if (json_object_get(conversion->listed, tokens[i].content))
            continue;
        if (json_object_set(conversion->listed, tokens[i].content, tokens[i].token) != 0)
            return no_memory(conversion->host);
    }
    return VKF_OK;
}

static vkf_status read_decoder(vkf__conversion *conversion, const json_t *decoder)
{
    vkf_status status = VKF_OK;
    const char *key;
    json_t *value;
    size_t count = 0;
    placed_token *tokens = NULL;
    VKF_ALLOC(conversion->host, tokens, json_object_size(decoder) + 1);
    json_object_foreach((json_t *)(uintptr_t)decoder, key, value)
    {
        char *end = NULL;
        long long place = strtoll(key, &end, 10);
        const char *content = json_string_value(json_object_get(value, "content"));
        if (end == key || *end || !content) {
            status =
                vkf__fail(conversion->host, VKF_ERROR_FORMAT,
                          "%s/tokenizer_config.json: added_tokens_decoder: '%.40s' must be an id, and its value an "
                          "object with 'content'",
                          conversion->directory, key);
            goto fail;
        }
        tokens[count++] = (placed_token){place, content, value};
    }
    status = list_tokens(conversion, tokens, count);
fail:
    vkf__free(conversion->host, tokens);
    return status;
}

static bool says(const json_t *value, const char *content)
{
    const char *text = json_string_value(json_is_object(value) ? json_object_get(value, "content") : value);
    return text && strcmp(text, content) == 0;
}

static bool is_special(const vkf__conversion *conversion, const char *content)
{
    const json_t *extra = json_object_get(conversion->settings, "extra_special_tokens");
    for (size_t i = 0; i < sizeof named / sizeof *named; i++)
        if (says(json_object_get(conversion->settings, named[i]), content))
            return true;
    for (size_t i = 0; i < json_array_size(extra); i++)
        if (says(json_array_get(extra, i), content))
            return true;
    return false;
}

// Reads added_tokens.json: texts and their ids.
static vkf_status read_added(vkf__conversion *conversion, json_t *file)
{
    vkf_status status = VKF_OK;
    const char *key;
    json_t *value;
    size_t count = 0;
    placed_token *tokens = NULL;
    json_t *made = json_object();
    if (json_object_size(file) > VKF_MAX_ADDED_TOKENS) {
        status = vkf__fail(conversion->host, VKF_ERROR_FORMAT, "%s/added_tokens.json has more than %d tokens",
                           conversion->directory, VKF_MAX_ADDED_TOKENS);
        goto fail;
    }
    VKF_ALLOC(conversion->host, tokens, json_object_size(file) + 1);
    json_object_foreach(file, key, value)
    {
        bool special = is_special(conversion, key);
        if (!json_is_integer(value)) {
            status = vkf__fail(conversion->host, VKF_ERROR_FORMAT,
                               "%s/added_tokens.json: the id of '%.100s' must be a whole number", conversion->directory,
                               key);
            goto fail;
        }
        VKF_TRY(set(conversion, made, key,
                    json_pack("{s:s, s:b, s:b}", "content", key, "normalized", !special, "special", special)));
        tokens[count++] = (placed_token){json_integer_value(value), key, json_object_get(made, key)};
    }
    status = list_tokens(conversion, tokens, count);
fail:
    vkf__free(conversion->host, tokens);
    json_decref(made);
    return status;
}

// --- special_tokens_map.json

static vkf_status merge_extras(vkf__conversion *conversion, const json_t *list)
{
    json_t *all = json_array();
    const json_t *lists[] = {json_object_get(conversion->settings, "extra_special_tokens"), list};
    for (size_t i = 0; i < 2; i++) {
        for (size_t j = 0; j < json_array_size(lists[i]); j++) {
            if (json_array_append(all, json_array_get(lists[i], j)) != 0) {
                json_decref(all);
                return no_memory(conversion->host);
            }
        }
    }
    return set(conversion, conversion->settings, "extra_special_tokens", all);
}

static vkf_status merge_map(vkf__conversion *conversion, json_t *map)
{
    vkf_status status = VKF_OK;
    const char *key;
    json_t *value;
    json_object_foreach(map, key, value)
    {
        if (strcmp(key, "extra_special_tokens") == 0 && json_is_array(value)) {
            VKF_RETURN_IF_ERROR(merge_extras(conversion, value));
            continue;
        }
        json_t *merged = json_is_object(value) ? json_deep_copy(value) : json_incref(value);
        if (json_is_object(merged) && strcmp(key, "extra_special_tokens") != 0)
            VKF_RETURN_IF_ERROR(set(conversion, merged, "special", json_true()));
        VKF_RETURN_IF_ERROR(set(conversion, conversion->settings, key, merged));
    }
    status = take_named_extras(conversion);
    return status;
}

// --- the whole

// Replaces each named token by its entry in the list of tokens, where it has one.
static vkf_status resolve_named(vkf__conversion *conversion)
{
    for (size_t i = 0; i < sizeof named / sizeof *named; i++) {
        const json_t *given = json_object_get(conversion->settings, named[i]);
        if (!given || json_is_null(given))
            continue;
        if (!is_token(given))
            return vkf__fail(conversion->host, VKF_ERROR_FORMAT,
                             "%s: special token '%s' must be a text or an object with 'content'", conversion->directory,
                             named[i]);
        const char *content = json_string_value(json_is_object(given) ? json_object_get(given, "content") : given);
        json_t *listed = json_object_get(conversion->listed, content);
        if (listed && json_object_set(conversion->settings, named[i], listed) != 0)
            return no_memory(conversion->host);
    }
    return VKF_OK;
}

// Sets the special tokens aside that tokenizer_config.json itself gives as texts: take_others() puts them behind those
// from elsewhere. A name that both have keeps its earlier place.
static vkf_status take_texts(vkf__conversion *conversion)
{
    const char *key;
    json_t *value;
    void *next;
    json_object_foreach_safe(conversion->settings, next, key, value)
    {
        if (!is_token_key(key) || is_named(key) || !json_is_string(value))
            continue;
        VKF_RETURN_IF_ERROR(add_own(conversion, key, value));
        json_object_del(conversion->settings, key);
    }
    return VKF_OK;
}

static vkf_status take_others(vkf__conversion *conversion)
{
    const char *key;
    json_t *value;
    vkf_status status = VKF_OK;
    json_t *first = conversion->own;
    conversion->own = json_object();
    json_object_foreach(conversion->settings, key, value)
    {
        if (is_token_key(key) && !is_named(key) && is_token(value))
            VKF_TRY(add_own(conversion, key, value));
    }
    if (json_object_update(conversion->own, first) != 0)
        status = no_memory(conversion->host);
fail:
    json_decref(first);
    return status;
}

vkf_status vkf__conversion_settings(vkf__conversion *conversion)
{
    vkf_status status = VKF_OK;
    json_t *map = NULL, *added = NULL;
    VKF_TRY(load_file(conversion, "tokenizer_config.json", &conversion->settings));
    VKF_TRY(load_file(conversion, "special_tokens_map.json", &map));
    VKF_TRY(load_file(conversion, "added_tokens.json", &added));
    VKF_TRY(rename_extras(conversion));
    VKF_TRY(take_texts(conversion));
    VKF_TRY(take_named_extras(conversion));
    const json_t *decoder = json_object_get(conversion->settings, "added_tokens_decoder");
    if (decoder) {
        VKF_TRY(read_decoder(conversion, decoder));
    } else {
        VKF_TRY(merge_map(conversion, map));
        VKF_TRY(read_added(conversion, added));
    }
    VKF_TRY(resolve_named(conversion));
    VKF_TRY(take_others(conversion));
fail:
    json_decref(map);
    json_decref(added);
    return status;
}
