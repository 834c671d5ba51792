// The part of a conversion to tokenizer.json that all classes share: added tokens and templates.
#include "text/conversion.h"

#include <string.h>

static const char *const names[VKF_NAMED_COUNT] = {
    "bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token",
};

static vkf_status no_memory(const vkf__host *host)
{
    return vkf__no_memory(host, "the conversion of a tokenizer", 1, sizeof(json_t *));
}

vkf_status vkf__conversion_bool(const vkf__conversion *conversion, const char *key, bool *inout_value)
{
    const json_t *value = json_object_get(conversion->settings, key);
    if (!value || json_is_null(value))
        return VKF_OK;
    if (!json_is_boolean(value))
        return vkf__fail(conversion->host, VKF_ERROR_FORMAT, "%s/tokenizer_config.json: key '%s' must be true or false",
                         conversion->directory, key);
    *inout_value = json_is_true(value);
    return VKF_OK;
}

const char *vkf__conversion_token(const vkf__conversion *conversion, vkf__named_token which)
{
    const json_t *given = json_object_get(conversion->settings, names[which]);
    if (!given)
        return conversion->kind->tokens[which];
    return json_string_value(json_is_object(given) ? json_object_get(given, "content") : given);
}

// --- the tokens that are added

// The added token that a text or an object in a file stands for. What is left out has AddedToken's default.
static json_t *make_token(const json_t *given, bool special)
{
    if (json_is_string(given))
        return json_pack("{s:s, s:b}", "content", json_string_value(given), "special", true);
    return json_pack("{s:s, s:b, s:b, s:b, s:o*, s:b}", "content", json_string_value(json_object_get(given, "content")),
                     "single_word", json_is_true(json_object_get(given, "single_word")), "lstrip",
                     json_is_true(json_object_get(given, "lstrip")), "rstrip",
                     json_is_true(json_object_get(given, "rstrip")), "normalized",
                     json_incref(json_object_get(given, "normalized")), "special",
                     special || json_is_true(json_object_get(given, "special")));
}

// Whether a token with this content is one of the model's special ones.
static bool is_named(const vkf__conversion *conversion, const char *content)
{
    const char *key;
    json_t *token;
    for (unsigned i = 0; i < VKF_NAMED_COUNT; i++) {
        const char *named = vkf__conversion_token(conversion, (vkf__named_token)i);
        if (named && strcmp(named, content) == 0)
            return true;
    }
    json_object_foreach(conversion->own, key, token)
    {
        if (strcmp(json_string_value(json_object_get(token, "content")), content) == 0)
            return true;
    }
    return false;
}

static json_int_t id_of(vkf__conversion *conversion, const char *content, const json_t *before)
{
    const json_t *known = before ? json_object_get(before, "id") : json_object_get(conversion->ids, content);
    json_int_t id = known ? json_integer_value(known) : conversion->next_id;
    conversion->next_id = id >= conversion->next_id ? id + 1 : conversion->next_id;
    return id;
}

// Takes ownership of the token. Of several tokens with the same text the last one counts, but a token that the files
// list stays as listed.
static vkf_status add_token(vkf__conversion *conversion, json_t *token, bool is_final)
{
    const char *content = json_string_value(json_object_get(token, "content"));
    const json_t *before = content ? json_object_get(conversion->added, content) : NULL;
    if (!content) {
        json_decref(token);
        return no_memory(conversion->host);
    }
    if (!*content || (before && !is_final && json_object_get(conversion->listed, content))) {
        json_decref(token);
        return VKF_OK;
    }
    if (!before && json_object_size(conversion->added) >= VKF_MAX_ADDED_TOKENS) {
        json_decref(token);
        return vkf__fail(conversion->host, VKF_ERROR_FORMAT, "%s: more than %d tokens are to be added",
                         conversion->directory, VKF_MAX_ADDED_TOKENS);
    }
    bool special = json_is_true(json_object_get(token, "special")) || is_named(conversion, content);
    int failed = json_object_set_new(token, "special", json_boolean(special));
    if (!json_is_boolean(json_object_get(token, "normalized")))
        failed |= json_object_set_new(token, "normalized", json_boolean(!special));
    failed |= json_object_set_new(token, "id", json_integer(id_of(conversion, content, before)));
    failed |= json_object_set_new(conversion->added, content, token);
    return failed ? no_memory(conversion->host) : VKF_OK;
}

static vkf_status add_named(vkf__conversion *conversion, vkf__named_token which)
{
    const char *content = vkf__conversion_token(conversion, which);
    const json_t *given = json_object_get(conversion->settings, names[which]);
    if (!content)
        return VKF_OK;
    if (json_is_object(given))
        return add_token(conversion, make_token(given, false), false);
    bool takes_blank = which == VKF_NAMED_MASK && conversion->kind->mask_takes_blank;
    return add_token(conversion,
                     json_pack("{s:s, s:b, s:b}", "content", content, "special", true, "lstrip", takes_blank), false);
}

static vkf_status add_list(vkf__conversion *conversion, const json_t *list)
{
    vkf_status status = VKF_OK;
    for (size_t i = 0; i < json_array_size(list) && status == VKF_OK; i++) {
        const json_t *given = json_array_get(list, i);
        if (!json_is_string(given) && !json_is_string(json_object_get(given, "content")))
            return vkf__fail(conversion->host, VKF_ERROR_FORMAT,
                             "%s: element %zu of the additional special tokens must be a text or an object with "
                             "'content'",
                             conversion->directory, i);
        status = add_token(conversion, make_token(given, false), false);
    }
    return status;
}

static const json_t *extras_of(const vkf__conversion *conversion)
{
    const json_t *extra = json_object_get(conversion->settings, "extra_special_tokens");
    if (extra)
        return extra;
    return conversion->extras ? conversion->extras : json_object_get(conversion->settings, "additional_special_tokens");
}

// Adds tokens in the order in which transformers adds them, because new ids follow that order.
static vkf_status add_tokens(vkf__conversion *conversion)
{
    vkf_status status = VKF_OK;
    const char *key;
    json_t *token;
    json_object_foreach(conversion->listed, key, token)
    {
        VKF_RETURN_IF_ERROR(add_token(conversion, json_copy(token), false));
    }
    for (unsigned i = 0; i < VKF_NAMED_COUNT; i++)
        VKF_RETURN_IF_ERROR(add_named(conversion, (vkf__named_token)i));
    json_object_foreach(conversion->own, key, token)
    {
        VKF_RETURN_IF_ERROR(add_token(conversion, json_copy(token), false));
    }
    status = add_list(conversion, extras_of(conversion));
    return status;
}

static vkf_status make_plain(vkf__conversion *conversion, const json_t *given)
{
    const char *content = json_string_value(json_is_object(given) ? json_object_get(given, "content") : given);
    return content ? add_token(conversion, json_pack("{s:s, s:b}", "content", content, "special", true), true) : VKF_OK;
}

// Adds the special tokens once more, by their texts alone.
static vkf_status make_all_plain(vkf__conversion *conversion)
{
    const char *key;
    json_t *token;
    const json_t *extras = extras_of(conversion);
    json_object_foreach(conversion->added, key, token)
    {
        if (is_named(conversion, key))
            VKF_RETURN_IF_ERROR(make_plain(conversion, token));
    }
    for (size_t i = 0; i < json_array_size(extras); i++)
        VKF_RETURN_IF_ERROR(make_plain(conversion, json_array_get(extras, i)));
    return VKF_OK;
}

static vkf_status put_added(vkf__conversion *conversion)
{
    const char *key;
    json_t *token;
    json_t *list = json_array();
    json_object_foreach(conversion->added, key, token)
    {
        if (json_array_append(list, token) != 0) {
            json_decref(list);
            return no_memory(conversion->host);
        }
    }
    return vkf__conversion_put(conversion, "added_tokens", list);
}

vkf_status vkf__conversion_add_model(vkf__conversion *conversion, json_t *model, json_t *ids)
{
    vkf_status status = VKF_OK;
    const char *key;
    json_t *id;
    if (!model || !ids)
        return no_memory(conversion->host);
    json_object_foreach(ids, key, id)
    {
        uint32_t value;
        VKF_RETURN_IF_ERROR(vkf__json_u32(conversion->host, conversion->path, ids, key, 0, VKF_TOKEN_MAX_ID, &value));
    }
    conversion->ids = json_incref(ids);
    conversion->next_id = (json_int_t)json_object_size(ids);
    VKF_RETURN_IF_ERROR(vkf__conversion_put(conversion, "model", json_incref(model)));
    VKF_RETURN_IF_ERROR(add_tokens(conversion));
    if (conversion->kind->plain_tokens)
        VKF_RETURN_IF_ERROR(make_all_plain(conversion));
    status = put_added(conversion);
    return status;
}

// --- the other parts

vkf_status vkf__conversion_put(vkf__conversion *conversion, const char *key, json_t *part)
{
    return json_object_set_new(conversion->root, key, part) == 0 ? VKF_OK : no_memory(conversion->host);
}

vkf_status vkf__conversion_pair(const vkf__conversion *conversion, vkf__named_token which, json_t **out_pair)
{
    const char *content = vkf__conversion_token(conversion, which);
    const json_t *token = content ? json_object_get(conversion->added, content) : NULL;
    if (!token)
        return vkf__fail(conversion->host, VKF_ERROR_FORMAT, "%s: %s needs a text as '%s'", conversion->directory,
                         conversion->kind->name, names[which]);
    *out_pair = json_pack("[s, O]", content, json_object_get(token, "id"));
    return *out_pair ? VKF_OK : no_memory(conversion->host);
}

// Makes one place of a template from its token type and one of A, B, C and S.
static json_t *make_place(const char place[2], const json_t *first, const json_t *second)
{
    int type = place[0] - '0';
    const char *text = json_string_value(json_array_get(place[1] == 'C' ? first : second, 0));
    if (place[1] == 'A' || place[1] == 'B')
        return json_pack("{s:{s:s#, s:i}}", "Sequence", "id", place + 1, 1, "type_id", type);
    return json_pack("{s:{s:s, s:i}}", "SpecialToken", "id", text, "type_id", type);
}

static json_t *make_places(const char *form, const json_t *first, const json_t *second)
{
    json_t *places = json_array();
    for (; *form && places; form += 2) {
        if (json_array_append_new(places, make_place(form, first, second)) != 0) {
            json_decref(places);
            return NULL;
        }
    }
    return places;
}

static json_t *make_special(const json_t *pair)
{
    json_t *text = json_array_get(pair, 0);
    return json_pack("{s:O, s:[O], s:[O]}", "id", text, "ids", json_array_get(pair, 1), "tokens", text);
}

// `first` and `second` may be NULL where the forms do not name that token.
static vkf_status put_template(vkf__conversion *conversion, const char *single, const char *pair, const json_t *first,
                               const json_t *second)
{
    int failed = 0;
    json_t *specials = json_object();
    if (first)
        failed |= json_object_set_new(specials, json_string_value(json_array_get(first, 0)), make_special(first));
    if (second)
        failed |= json_object_set_new(specials, json_string_value(json_array_get(second, 0)), make_special(second));
    if (failed) {
        json_decref(specials);
        return no_memory(conversion->host);
    }
    return vkf__conversion_put(conversion, "post_processor",
                               json_pack("{s:s, s:o, s:o, s:o}", "type", "TemplateProcessing", "single",
                                         make_places(single, first, second), "pair", make_places(pair, first, second),
                                         "special_tokens", specials));
}

vkf_status vkf__conversion_template(vkf__conversion *conversion, const char *single, const char *pair,
                                    vkf__named_token first, vkf__named_token second)
{
    vkf_status status = VKF_OK;
    json_t *one = NULL, *other = NULL;
    VKF_TRY(vkf__conversion_pair(conversion, first, &one));
    VKF_TRY(vkf__conversion_pair(conversion, second, &other));
    status = put_template(conversion, single, pair, one, other);
fail:
    json_decref(one);
    json_decref(other);
    return status;
}

vkf_status vkf__conversion_ends(vkf__conversion *conversion)
{
    static const char *const forms[4][2] = {
        {"0A", "0A1B"}, {"0C0A", "0C0A1C1B"}, {"0A0S", "0A0S1B1S"}, {"0C0A0S", "0C0A0S1C1B1S"}};
    vkf_status status = VKF_OK;
    bool begins = false, ends = false;
    json_t *first = NULL, *last = NULL;
    VKF_TRY(vkf__conversion_bool(conversion, "add_bos_token", &begins));
    VKF_TRY(vkf__conversion_bool(conversion, "add_eos_token", &ends));
    begins = begins && vkf__conversion_token(conversion, VKF_NAMED_BOS);
    ends = ends && vkf__conversion_token(conversion, VKF_NAMED_EOS);
    if (begins)
        VKF_TRY(vkf__conversion_pair(conversion, VKF_NAMED_BOS, &first));
    if (ends)
        VKF_TRY(vkf__conversion_pair(conversion, VKF_NAMED_EOS, &last));
    const char *const *form = forms[(begins ? 1 : 0) + (ends ? 2 : 0)];
    status = put_template(conversion, form[0], form[1], first, last);
fail:
    json_decref(first);
    json_decref(last);
    return status;
}
