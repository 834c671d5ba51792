// Parses a line of training data.
#include "train/example_text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/host.h"
#include "text/code_point.h"

// What the two sides are called: of a JSON object the keys, and in messages.
typedef struct side_names {
    const char *source, *target; // target NULL: there is one side
} side_names;

static const side_names names_of[VKF_EXAMPLE_KIND_COUNT] = {
    [VKF_EXAMPLE_PAIR] = {"source", "target"},       [VKF_EXAMPLE_TEXT] = {"text", NULL},
    [VKF_EXAMPLE_CLASS] = {"text", "label"},         [VKF_EXAMPLE_TAGS] = {"tokens", "labels"},
    [VKF_EXAMPLE_PROMPT] = {"prompt", "completion"},
};

#define OTHER_LABELS "ner_tags"

static vkf_status refuse(char *out_problem, const char *name, const char *problem)
{
    snprintf(out_problem, VKF_EXAMPLE_PROBLEM_BYTES, "its %s %s", name, problem);
    return VKF_ERROR_FORMAT;
}

// Finds the first byte that is not UTF-8; size_bytes where there is none.
static size_t valid_bytes(const char *text, size_t size_bytes)
{
    bool valid = true;
    size_t at = 0;
    while (at < size_bytes) {
        size_t bytes = vkf__utf8_check(text + at, size_bytes - at, &valid);
        if (!valid)
            break;
        at += bytes;
    }
    return at;
}

// Finds a byte that no text has.
static vkf_status check_bytes(const char *line, size_t size_bytes, char *out_problem)
{
    const size_t valid = valid_bytes(line, size_bytes);
    const char *zero = memchr(line, '\0', size_bytes);
    if (valid < size_bytes)
        snprintf(out_problem, VKF_EXAMPLE_PROBLEM_BYTES, "byte %zu is not UTF-8", valid + 1);
    else if (zero)
        snprintf(out_problem, VKF_EXAMPLE_PROBLEM_BYTES, "byte %zu is zero", (size_t)(zero - line) + 1);
    return valid == size_bytes && !zero ? VKF_OK : VKF_ERROR_FORMAT;
}

static vkf_status parse_columns(const char *line, size_t size_bytes, const side_names *names, vkf_example *out_example,
                                char *out_problem)
{
    const char *end = line + size_bytes, *tab = names->target ? memchr(line, '\t', size_bytes) : end;
    VKF_RETURN_IF_ERROR(check_bytes(line, size_bytes, out_problem));
    if (!tab || (names->target && memchr(tab + 1, '\t', (size_t)(end - tab - 1)))) {
        snprintf(out_problem, VKF_EXAMPLE_PROBLEM_BYTES, "it has %s tab between %s and %s",
                 tab ? "more than one" : "no", names->source, names->target);
        return VKF_ERROR_FORMAT;
    }
    out_example->source = line;
    out_example->source_bytes = (size_t)(tab - line);
    if (names->target) {
        out_example->target = tab + 1;
        out_example->target_bytes = (size_t)(end - tab - 1);
    }
    return VKF_OK;
}

static vkf_status take_string(const json_t *value, const char *key, const char **out_text, size_t *out_bytes,
                              char *out_problem)
{
    if (!json_is_string(value))
        return refuse(out_problem, key, value ? "is no string" : "is missing");
    *out_text = json_string_value(value);
    *out_bytes = json_string_length(value);
    return VKF_OK;
}

// The number of a class, as writers of JSON have it: 1, 1.0 or true. Negative: the value is none.
static double class_number(const json_t *value)
{
    const double number = json_is_boolean(value) ? json_is_true(value) : json_number_value(value);
    const bool whole = number >= 0 && number <= UINT32_MAX && number == floor(number);
    return (json_is_boolean(value) || json_is_number(value)) && whole ? number : -1;
}

static size_t write_number(const json_t *value, char out_number[VKF_EXAMPLE_NUMBER_BYTES])
{
    return (size_t)snprintf(out_number, VKF_EXAMPLE_NUMBER_BYTES, "%.0f", class_number(value));
}

// A label may be a number, too.
static vkf_status take_label(vkf_example *example, const json_t *value, const char *key, char *out_problem)
{
    if (json_is_string(value))
        return take_string(value, key, &example->target, &example->target_bytes, out_problem);
    if (!value)
        return refuse(out_problem, key, "is missing");
    if (class_number(value) < 0)
        return refuse(out_problem, key, "is neither a name nor the number of a class, which is whole and not below 0");
    example->target_bytes = write_number(value, example->number);
    example->target = example->number;
    return VKF_OK;
}

// An array of strings or, of labels, of numbers.
static vkf_status take_array(const json_t *array, const char *key, bool numbers, const json_t **out_array,
                             char *out_problem)
{
    const json_t *item;
    size_t i;
    if (!json_is_array(array))
        return refuse(out_problem, key, array ? "is no array" : "is missing");
    json_array_foreach(array, i, item)
    {
        if (!json_is_string(item) && !(numbers && class_number(item) >= 0))
            return refuse(out_problem, key, numbers ? "has what is no name and no number" : "has what is no string");
    }
    *out_array = array;
    return VKF_OK;
}

static vkf_status take_arrays(vkf_example *example, const side_names *names, char *out_problem)
{
    const json_t *labels = json_object_get(example->object, names->target);
    const json_t *others = labels ? NULL : json_object_get(example->object, OTHER_LABELS);
    VKF_RETURN_IF_ERROR(take_array(json_object_get(example->object, names->source), names->source, false,
                                   &example->words, out_problem));
    return take_array(others ? others : labels, others ? OTHER_LABELS : names->target, true, &example->labels,
                      out_problem);
}

static vkf_status load_object(const char *line, size_t size_bytes, json_t **out_object, char *out_problem)
{
    json_error_t error;
    *out_object = json_loadb(line, size_bytes, JSON_REJECT_DUPLICATES, &error);
    if (json_is_object(*out_object))
        return VKF_OK;
    const enum json_error_code code = *out_object ? json_error_wrong_type : json_error_code(&error);
    if (*out_object || line[0] == '[')
        snprintf(out_problem, VKF_EXAMPLE_PROBLEM_BYTES,
                 "it is no JSON object: an array's elements stand in a line each");
    else
        snprintf(out_problem, VKF_EXAMPLE_PROBLEM_BYTES, "it is not valid %s, at byte %d: %.100s",
                 code == json_error_invalid_utf8 ? "UTF-8" : "JSON", error.position, error.text);
    return code == json_error_out_of_memory ? VKF_ERROR_OUT_OF_HOST_MEMORY : VKF_ERROR_FORMAT;
}

// Chats are for a template to render, which is not done here.
static vkf_status check_chat(const json_t *object, const side_names *names, char *out_problem)
{
    if (json_object_get(object, names->source) || !json_object_get(object, "messages"))
        return VKF_OK;
    snprintf(out_problem, VKF_EXAMPLE_PROBLEM_BYTES,
             "it has messages, which no chat template is rendered for here: write them as prompt and completion");
    return VKF_ERROR_FORMAT;
}

static vkf_status parse_object(const char *line, size_t size_bytes, vkf_example_kind kind, vkf_example *out_example,
                               char *out_problem)
{
    const side_names *names = &names_of[kind];
    VKF_RETURN_IF_ERROR(load_object(line, size_bytes, &out_example->object, out_problem));
    VKF_RETURN_IF_ERROR(check_chat(out_example->object, names, out_problem));
    if (kind == VKF_EXAMPLE_TAGS)
        return take_arrays(out_example, names, out_problem);
    VKF_RETURN_IF_ERROR(take_string(json_object_get(out_example->object, names->source), names->source,
                                    &out_example->source, &out_example->source_bytes, out_problem));
    if (!names->target)
        return VKF_OK;
    const json_t *value = json_object_get(out_example->object, names->target);
    if (kind == VKF_EXAMPLE_CLASS)
        return take_label(out_example, value, names->target, out_problem);
    return take_string(value, names->target, &out_example->target, &out_example->target_bytes, out_problem);
}

// ---- words and their labels

static vkf_example_items items_of(const json_t *array, const char *text, size_t size_bytes)
{
    if (array)
        return (vkf_example_items){.array = array};
    return (vkf_example_items){.at = text, .end = text + size_bytes};
}

vkf_example_items vkf_example_words(const vkf_example *example)
{
    return items_of(example->words, example->source, example->source_bytes);
}

vkf_example_items vkf_example_labels(const vkf_example *example)
{
    return items_of(example->labels, example->target, example->target_bytes);
}

static bool next_of_array(vkf_example_items *items, const char **out_text, size_t *out_bytes)
{
    const json_t *item = json_array_get(items->array, items->index++);
    const bool is_number = item && !json_is_string(item);
    *out_text = is_number ? items->number : json_string_value(item);
    *out_bytes = is_number ? write_number(item, items->number) : json_string_length(item);
    return item != NULL;
}

bool vkf_example_next(vkf_example_items *items, const char **out_text, size_t *out_bytes)
{
    if (items->array)
        return next_of_array(items, out_text, out_bytes);
    while (items->at < items->end && *items->at == ' ')
        items->at++;
    *out_text = items->at;
    while (items->at < items->end && *items->at != ' ')
        items->at++;
    *out_bytes = (size_t)(items->at - *out_text);
    return *out_bytes > 0;
}

static size_t count_items(vkf_example_items items)
{
    const char *text;
    size_t count = 0, bytes;
    while (vkf_example_next(&items, &text, &bytes))
        count++;
    return count;
}

static vkf_status check_counts(const vkf_example *example, const side_names *names, char *out_problem)
{
    const size_t words = count_items(vkf_example_words(example)), labels = count_items(vkf_example_labels(example));
    if (words == 0)
        return refuse(out_problem, names->source, "is empty");
    if (words == labels)
        return VKF_OK;
    snprintf(out_problem, VKF_EXAMPLE_PROBLEM_BYTES, "it has %zu words and %zu labels", words, labels);
    return VKF_ERROR_FORMAT;
}

// ---- a line

bool vkf_example_is_json(const char *path)
{
    static const char *const endings[] = {".jsonl", ".ndjson", ".json"};
    const char *end = strrchr(path, '.');
    for (size_t i = 0; end && i < sizeof endings / sizeof endings[0]; i++)
        if (strcmp(end, endings[i]) == 0)
            return true;
    return false;
}

vkf_status vkf_example_parse(const char *line, size_t size_bytes, vkf_example_kind kind, bool json,
                             vkf_example *out_example, char out_problem[VKF_EXAMPLE_PROBLEM_BYTES])
{
    const side_names *names = &names_of[kind];
    *out_example = (vkf_example){0};
    VKF_RETURN_IF_ERROR(json ? parse_object(line, size_bytes, kind, out_example, out_problem)
                             : parse_columns(line, size_bytes, names, out_example, out_problem));
    if (kind == VKF_EXAMPLE_TAGS)
        return check_counts(out_example, names, out_problem);
    if (out_example->source_bytes == 0)
        return refuse(out_problem, names->source, "is empty");
    if (names->target && out_example->target_bytes == 0)
        return refuse(out_problem, names->target, "is empty");
    return VKF_OK;
}

void vkf_example_clear(vkf_example *example)
{
    json_decref(example->object);
    *example = (vkf_example){0};
}
