// Reads and writes values by their kinds.
#include "train/train_values.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MAX_CHOICES 8

const vkf_train_row vkf_train_rows[VKF_TRAIN_KEY_COUNT] = {
#define X(id, section, key, flag, kind, member, min, max, help) \
    {section, key, flag, VKF_TRAIN_KIND_##kind, offsetof(vkf_train_config, member), min, max, help},
    VKF_TRAIN_KEYS(X)
#undef X
};

// In the order of the enums of train_config.h.
static const char *const choices[VKF_TRAIN_KIND_COUNT][MAX_CHOICES] = {
    [VKF_TRAIN_KIND_DTYPE] = {"f32", "f16", "bf16"},
    [VKF_TRAIN_KIND_PARAMETERS] = {"all", "head", "lora"},
    [VKF_TRAIN_KIND_MODEL_TYPE] = {"transformer", "gpt2", "llama", "bert", "bart"},
    [VKF_TRAIN_KIND_ACTIVATION] = {"relu", "gelu"},
    [VKF_TRAIN_KIND_OPTIMIZER] = {"adamw", "adam", "sgd"},
    [VKF_TRAIN_KIND_SCHEDULE] = {"constant", "linear", "cosine", "paper"},
    [VKF_TRAIN_KIND_TASK] = {"auto", "translate", "continue", "complete", "classify", "tag", "fill", "embed"},
    [VKF_TRAIN_KIND_LOSS_ON] = {"completion", "all"},
    [VKF_TRAIN_KIND_LONG] = {"auto", "block", "cut", "drop"},
};

void *vkf_train_member(vkf_train_config *config, vkf_train_key key)
{
    return (char *)config + vkf_train_rows[key].offset;
}

static const void *member_of(const vkf_train_config *config, vkf_train_key key)
{
    return (const char *)config + vkf_train_rows[key].offset;
}

void vkf_train_key_name(vkf_train_key key, char out_name[VKF_TRAIN_NAME_BYTES])
{
    const vkf_train_row *row = &vkf_train_rows[key];
    (void)snprintf(out_name, VKF_TRAIN_NAME_BYTES, "%s%s%s", row->section, row->section[0] ? "." : "", row->key);
}

const char *vkf_train_choice(vkf_train_kind kind, uint32_t choice)
{
    return choices[kind][choice];
}

static void list_choices(vkf_train_kind kind, char out_text[VKF_TRAIN_EXPECTED_BYTES])
{
    size_t length = 0;
    for (size_t i = 0; i < MAX_CHOICES && choices[kind][i]; i++) {
        const bool last = i + 1 == MAX_CHOICES || !choices[kind][i + 1];
        length += (size_t)snprintf(out_text + length, VKF_TRAIN_EXPECTED_BYTES - length, "%s\"%s\"",
                                   i == 0 ? ""
                                   : last ? " or "
                                          : ", ",
                                   choices[kind][i]);
    }
}

void vkf_train_expected(vkf_train_key key, char out_text[VKF_TRAIN_EXPECTED_BYTES])
{
    const vkf_train_row *row = &vkf_train_rows[key];
    const size_t size = VKF_TRAIN_EXPECTED_BYTES;
    switch (row->kind) {
    case VKF_TRAIN_KIND_TEXT:
        (void)snprintf(out_text, size, "a string that is not empty");
        break;
    case VKF_TRAIN_KIND_TEXTS:
        (void)snprintf(out_text, size, "an array of strings that are not empty");
        break;
    case VKF_TRAIN_KIND_U32:
    case VKF_TRAIN_KIND_U64:
        (void)snprintf(out_text, size, "a whole number from %.0f to %.0f", row->min, row->max);
        break;
    case VKF_TRAIN_KIND_REAL:
        (void)snprintf(out_text, size, "a number from %g to %.9g", row->min, row->max);
        break;
    case VKF_TRAIN_KIND_PAIR:
        (void)snprintf(out_text, size, "two numbers from %g to %.9g", row->min, row->max);
        break;
    case VKF_TRAIN_KIND_BOOL:
        (void)snprintf(out_text, size, "true or false");
        break;
    default:
        list_choices(row->kind, out_text);
        break;
    }
}

vkf_status vkf_train_texts_add(const vkf__host *host, vkf_train_texts *texts, const char *text)
{
    char **items = vkf__alloc(host, (size_t)texts->count + 1, sizeof *items);
    char *copy = items ? vkf__strdup(host, text) : NULL;
    if (!copy) {
        vkf__free(host, items);
        return VKF_ERROR_OUT_OF_HOST_MEMORY;
    }
    if (texts->count > 0)
        memcpy(items, texts->items, texts->count * sizeof *items);
    vkf__free(host, texts->items);
    texts->items = items;
    texts->items[texts->count++] = copy;
    return VKF_OK;
}

void vkf_train_texts_clear(const vkf__host *host, vkf_train_texts *texts)
{
    for (uint32_t i = 0; i < texts->count; i++)
        vkf__free(host, texts->items[i]);
    vkf__free(host, texts->items);
    *texts = (vkf_train_texts){0};
}

static bool is_text(const json_t *value)
{
    return json_is_string(value) && json_string_length(value) > 0;
}

static vkf_status take_text(const vkf__host *host, const json_t *value, char **inout_text)
{
    if (!is_text(value))
        return VKF_ERROR_FORMAT;
    char *copy = vkf__strdup(host, json_string_value(value));
    if (!copy)
        return VKF_ERROR_OUT_OF_HOST_MEMORY;
    vkf__free(host, *inout_text);
    *inout_text = copy;
    return VKF_OK;
}

static vkf_status take_texts(const vkf__host *host, const json_t *value, vkf_train_texts *inout_texts)
{
    vkf_status status = VKF_OK;
    vkf_train_texts texts = {0};
    const json_t *item;
    size_t i;
    if (!json_is_array(value) || json_array_size(value) == 0)
        return VKF_ERROR_FORMAT;
    json_array_foreach(value, i, item)
        VKF_TRY(is_text(item) ? vkf_train_texts_add(host, &texts, json_string_value(item)) : VKF_ERROR_FORMAT);
    vkf_train_texts_clear(host, inout_texts);
    *inout_texts = texts;
    return VKF_OK;
fail:
    vkf_train_texts_clear(host, &texts);
    return status;
}

static bool number_within(const vkf_train_row *row, const json_t *value)
{
    return json_is_number(value) && json_number_value(value) >= row->min && json_number_value(value) <= row->max;
}

static vkf_status take_pair(const vkf_train_row *row, const json_t *value, double out_pair[2])
{
    if (!json_is_array(value) || json_array_size(value) != 2 || !number_within(row, json_array_get(value, 0)) ||
        !number_within(row, json_array_get(value, 1)))
        return VKF_ERROR_FORMAT;
    for (size_t i = 0; i < 2; i++)
        out_pair[i] = json_number_value(json_array_get(value, i));
    return VKF_OK;
}

static vkf_status take_choice(vkf_train_kind kind, const json_t *value, uint32_t *out_choice)
{
    for (uint32_t i = 0; json_is_string(value) && i < MAX_CHOICES && choices[kind][i]; i++) {
        if (strcmp(json_string_value(value), choices[kind][i]) != 0)
            continue;
        *out_choice = i;
        return VKF_OK;
    }
    return VKF_ERROR_FORMAT;
}

static vkf_status take_number(const vkf_train_row *row, const json_t *value, void *out_member)
{
    if (!number_within(row, value) || (row->kind != VKF_TRAIN_KIND_REAL && !json_is_integer(value)))
        return VKF_ERROR_FORMAT;
    if (row->kind == VKF_TRAIN_KIND_REAL)
        *(double *)out_member = json_number_value(value);
    else if (row->kind == VKF_TRAIN_KIND_U32)
        *(uint32_t *)out_member = (uint32_t)json_integer_value(value);
    else
        *(uint64_t *)out_member = (uint64_t)json_integer_value(value);
    return VKF_OK;
}

vkf_status vkf_train_value_take(vkf_train_config *config, vkf_train_key key, const json_t *value)
{
    const vkf_train_row *row = &vkf_train_rows[key];
    void *member = vkf_train_member(config, key);
    switch (row->kind) {
    case VKF_TRAIN_KIND_TEXT:
        return take_text(config->host, value, member);
    case VKF_TRAIN_KIND_TEXTS:
        return take_texts(config->host, value, member);
    case VKF_TRAIN_KIND_U32:
    case VKF_TRAIN_KIND_U64:
    case VKF_TRAIN_KIND_REAL:
        return take_number(row, value, member);
    case VKF_TRAIN_KIND_PAIR:
        return take_pair(row, value, member);
    case VKF_TRAIN_KIND_BOOL:
        if (!json_is_boolean(value))
            return VKF_ERROR_FORMAT;
        *(bool *)member = json_is_true(value);
        return VKF_OK;
    default:
        return take_choice(row->kind, value, member);
    }
}

bool vkf_train_value_is_empty(const vkf_train_config *config, vkf_train_key key)
{
    const vkf_train_row *row = &vkf_train_rows[key];
    const void *member = member_of(config, key);
    switch (row->kind) {
    case VKF_TRAIN_KIND_TEXT:
        return !*(char *const *)member;
    case VKF_TRAIN_KIND_TEXTS:
        return ((const vkf_train_texts *)member)->count == 0;
    case VKF_TRAIN_KIND_U32:
        return *(const uint32_t *)member < row->min;
    default:
        return false;
    }
}

static json_t *texts_json(const vkf_train_texts *texts)
{
    json_t *array = json_array();
    for (uint32_t i = 0; array && i < texts->count; i++)
        if (json_array_append_new(array, json_string(texts->items[i])) != 0) {
            json_decref(array);
            array = NULL;
        }
    return array;
}

json_t *vkf_train_value_json(const vkf_train_config *config, vkf_train_key key)
{
    const vkf_train_row *row = &vkf_train_rows[key];
    const void *member = member_of(config, key);
    if (vkf_train_value_is_empty(config, key))
        return NULL;
    switch (row->kind) {
    case VKF_TRAIN_KIND_TEXT:
        return json_string(*(char *const *)member);
    case VKF_TRAIN_KIND_TEXTS:
        return texts_json(member);
    case VKF_TRAIN_KIND_U32:
        return json_integer(*(const uint32_t *)member);
    case VKF_TRAIN_KIND_U64:
        return json_integer((json_int_t) * (const uint64_t *)member);
    case VKF_TRAIN_KIND_REAL:
        return json_real(*(const double *)member);
    case VKF_TRAIN_KIND_PAIR:
        return json_pack("[f,f]", ((const double *)member)[0], ((const double *)member)[1]);
    case VKF_TRAIN_KIND_BOOL:
        return json_boolean(*(const bool *)member);
    default:
        return json_string(vkf_train_choice(row->kind, *(const uint32_t *)member));
    }
}
