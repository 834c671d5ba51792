// Typed reads of a tokenizer file's sections, with messages that say where in the file they fail.
#include "text/json_section.h"

#include <stdio.h>
#include <string.h>

#include "text/code_point.h"

static void name_key(const vkf__json_section *section, const char *key, vkf__json_section *out_section)
{
    vkf__json_section named = {.host = section->host, .depth = section->depth + 1};
    // A name that is too long is cut, because it only serves messages.
    snprintf(named.where, sizeof named.where, "%.*s%s%.100s", (int)(sizeof named.where - 110), section->where,
             section->depth == 0 ? ": " : ".", key);
    *out_section = named;
}

vkf_status vkf__section_find(const vkf__json_section *section, const char *key, bool *out_found,
                             vkf__json_section *out_section)
{
    const json_t *value = json_object_get(section->object, key);
    *out_found = value && !json_is_null(value);
    if (!*out_found)
        return VKF_OK;
    if (section->depth >= VKF_SECTION_MAX_DEPTH)
        return vkf__fail(section->host, VKF_ERROR_FORMAT, "%s: nested too deeply", section->where);
    name_key(section, key, out_section);
    out_section->object = value;
    return VKF_OK;
}

vkf_status vkf__section_get(const vkf__json_section *section, const char *key, vkf__json_section *out_section)
{
    bool found = false;
    vkf_status status = vkf__section_find(section, key, &found, out_section);
    if (status == VKF_OK && !found)
        return vkf__fail(section->host, VKF_ERROR_FORMAT, "%s: key '%s' is missing", section->where, key);
    return status;
}

void vkf__section_element(const vkf__json_section *section, size_t index, vkf__json_section *out_section)
{
    vkf__json_section element = {.host = section->host, .depth = section->depth};
    snprintf(element.where, sizeof element.where, "%.*s[%zu]", (int)(sizeof element.where - 30), section->where, index);
    element.object = json_array_get(section->object, index);
    *out_section = element;
}

vkf_status vkf__section_is_object(const vkf__json_section *section)
{
    if (json_is_object(section->object))
        return VKF_OK;
    return vkf__fail(section->host, VKF_ERROR_FORMAT, "%s must be an object", section->where);
}

vkf_status vkf__section_is_array(const vkf__json_section *section)
{
    if (json_is_array(section->object))
        return VKF_OK;
    return vkf__fail(section->host, VKF_ERROR_FORMAT, "%s must be an array", section->where);
}

static bool is_given(const vkf__json_section *section, const char *key)
{
    const json_t *value = json_object_get(section->object, key);
    return value && !json_is_null(value);
}

vkf_status vkf__section_bool(const vkf__json_section *section, const char *key, bool *inout_value)
{
    if (!is_given(section, key))
        return VKF_OK;
    return vkf__json_bool(section->host, section->where, section->object, key, inout_value);
}

vkf_status vkf__section_u32(const vkf__json_section *section, const char *key, uint32_t max, uint32_t *inout_value)
{
    if (!is_given(section, key))
        return VKF_OK;
    return vkf__json_u32(section->host, section->where, section->object, key, 0, max, inout_value);
}

vkf_status vkf__section_string(const vkf__json_section *section, const char *key, const char **inout_value)
{
    if (!is_given(section, key))
        return VKF_OK;
    return vkf__json_string(section->host, section->where, section->object, key, inout_value);
}

vkf_status vkf__section_code_point(const vkf__json_section *section, const char *key, uint32_t *out_value)
{
    const char *text = NULL;
    vkf_status status = vkf__json_string(section->host, section->where, section->object, key, &text);
    if (status != VKF_OK)
        return status;
    if (!*text || text[vkf__utf8_bytes(text)])
        return vkf__fail(section->host, VKF_ERROR_FORMAT, "%s: key '%s' must be one character", section->where, key);
    *out_value = vkf__utf8_read(text);
    return VKF_OK;
}

// The row whose name is `name`; `count` when there is none. The list of all names goes to `names` unless that is NULL.
static size_t find_row(const void *table, size_t stride, size_t count, const char *name, char *names, size_t names_size)
{
    size_t length = 0;
    size_t found = count;
    for (size_t i = 0; i < count; i++) {
        const char *row = *(const char *const *)((const char *)table + i * stride);
        if (strcmp(row, name) == 0)
            found = i;
        int written = snprintf(names + length, names_size - length, "%s%s", i > 0 ? ", " : "", row);
        if (written > 0 && (size_t)written < names_size - length)
            length += (size_t)written;
    }
    return found;
}

static vkf_status choose(const vkf__json_section *section, const char *key, const void *table, size_t stride,
                         size_t count, size_t *out_index)
{
    const char *name = NULL;
    vkf_status status = vkf__json_string(section->host, section->where, section->object, key, &name);
    if (status != VKF_OK)
        return status;
    char names[512] = "";
    size_t found = find_row(table, stride, count, name, names, sizeof names);
    if (found == count)
        return vkf__fail(section->host, VKF_ERROR_UNSUPPORTED,
                         "%s: key '%s' is '%.100s', which is not supported; "
                         "supported are %s",
                         section->where, key, name, names);
    *out_index = found;
    return VKF_OK;
}

vkf_status vkf__section_choice(const vkf__json_section *section, const char *key, const char *const *names,
                               size_t count, size_t *inout_value)
{
    return is_given(section, key) ? choose(section, key, names, sizeof *names, count, inout_value) : VKF_OK;
}

vkf_status vkf__section_type(const vkf__json_section *section, const void *table, size_t stride, size_t count,
                             size_t *out_index)
{
    vkf_status status = vkf__section_is_object(section);
    return status == VKF_OK ? choose(section, "type", table, stride, count, out_index) : status;
}

typedef struct step_list {
    const char *key;
    vkf__section_fn load;
    void *user;
    unsigned count;
} step_list;

static vkf_status load_steps(const vkf__json_section *section, step_list *steps)
{
    vkf_status status = vkf__section_is_object(section);
    if (status != VKF_OK)
        return status;
    const json_t *type = json_object_get(section->object, "type");
    if (!json_is_string(type) || strcmp(json_string_value(type), "Sequence") != 0) {
        if (steps->count++ == VKF_SECTION_MAX_STEPS)
            return vkf__fail(section->host, VKF_ERROR_FORMAT, "%s is step %u of a sequence; at most %d are read",
                             section->where, steps->count, VKF_SECTION_MAX_STEPS);
        return steps->load(section, steps->user);
    }
    vkf__json_section list;
    status = vkf__section_get(section, steps->key, &list);
    if (status == VKF_OK)
        status = vkf__section_is_array(&list);
    for (size_t i = 0; status == VKF_OK && i < json_array_size(list.object); i++) {
        vkf__json_section element;
        vkf__section_element(&list, i, &element);
        status = load_steps(&element, steps);
    }
    return status;
}

vkf_status vkf__section_each(const vkf__json_section *section, const char *key, vkf__section_fn load, void *user)
{
    step_list steps = {key, load, user, 0};
    return load_steps(section, &steps);
}
