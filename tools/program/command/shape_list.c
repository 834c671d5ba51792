// Parses lists of shapes, and files of lists.
#include "command/shape_list.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/options.h"
#include "input/line_reader.h"
#include "system/open_input.h"

#define MAX_SHAPES 65536u
#define MAX_SIZE (1u << 24)
#define MAX_LINE_BYTES (1u << 22) // room for more shapes than MAX_SHAPES
#define ATTENTION "attention:"

void vkf_shape_list_free(vkf_shape_list *list)
{
    free(list->items);
    *list = (vkf_shape_list){0};
}

static bool same(const vkf_tune_problem *a, const vkf_tune_problem *b)
{
    return a->kind == b->kind && a->heads == b->heads && a->m == b->m && a->n == b->n && a->k == b->k && a->x == b->x &&
           a->weight == b->weight && a->out == b->out;
}

bool vkf_shape_list_add(vkf_shape_list *list, const vkf_tune_problem *problem)
{
    for (uint32_t i = 0; i < list->count; i++) {
        if (same(&list->items[i], problem))
            return true;
    }
    if (list->count == list->capacity) {
        uint32_t capacity = list->capacity > 0 ? 2 * list->capacity : 16;
        vkf_tune_problem *items = realloc(list->items, capacity * sizeof *items);
        if (!items) {
            vkf_print_error("memory is exhausted");
            return false;
        }
        list->items = items;
        list->capacity = capacity;
    }
    list->items[list->count++] = *problem;
    return true;
}

// Parses 128x768x768: three or four sizes. Returns their number, 0 for any other text (message printed).
static size_t parse_sizes(const char *option, const char *text, size_t most, uint32_t out_sizes[4])
{
    char word[16];
    const char *at = text;
    for (size_t i = 0; i < most; i++) {
        size_t length = strspn(at, "0123456789");
        bool ends = at[length] == '\0' && i >= 2;
        if (length == 0 || length >= sizeof word || (!ends && at[length] != 'x'))
            break;
        memcpy(word, at, length);
        word[length] = '\0';
        if (!vkf_parse_u32(option, word, 1, MAX_SIZE, &out_sizes[i]))
            return 0;
        if (ends)
            return i + 1;
        at += length + 1;
    }
    vkf_print_error("%s: '%.200s' is no shape %s", option, text, most == 3 ? "MxNxK" : "HxLxD or HxLxSxD");
    return 0;
}

static bool parse_shape(const char *option, const char *text, vkf_tune_problem *out_problem)
{
    uint32_t sizes[4];
    bool attention = strncmp(text, ATTENTION, strlen(ATTENTION)) == 0;
    size_t count = parse_sizes(option, attention ? text + strlen(ATTENTION) : text, attention ? 4 : 3, sizes);
    if (count == 0)
        return false;
    out_problem->kind = attention ? VKF_TUNE_ATTENTION : VKF_TUNE_LINEAR;
    out_problem->heads = attention ? sizes[0] : 0;
    out_problem->m = sizes[attention ? 1 : 0];
    out_problem->n = sizes[attention ? count - 2 : 1];
    out_problem->k = sizes[count - 1];
    return true;
}

void vkf_shape_text(const vkf_tune_problem *problem, char out_text[64])
{
    const vkf_tune_problem *p = problem;
    if (p->kind == VKF_TUNE_LINEAR)
        snprintf(out_text, 64, "%ux%ux%u", p->m, p->n, p->k);
    else if (p->m == p->n)
        snprintf(out_text, 64, ATTENTION "%ux%ux%u", p->heads, p->m, p->k);
    else
        snprintf(out_text, 64, ATTENTION "%ux%ux%ux%u", p->heads, p->m, p->n, p->k);
}

// Parses a line, and changes it while doing so.
static bool parse_line(const char *option, char *line, const vkf_tune_problem *types, vkf_shape_list *list)
{
    char *rest = NULL;
    line[strcspn(line, "#")] = '\0';
    for (char *word = strtok_r(line, ", \t\r\n", &rest); word; word = strtok_r(NULL, ", \t\r\n", &rest)) {
        vkf_tune_problem problem = *types;
        if (!parse_shape(option, word, &problem) || !vkf_shape_list_add(list, &problem))
            return false;
        if (list->count > MAX_SHAPES) {
            vkf_print_error("%s: more than %u shapes", option, MAX_SHAPES);
            return false;
        }
    }
    return true;
}

static bool parse_file(const char *option, const char *path, const vkf_tune_problem *types, vkf_shape_list *list)
{
    vkf_line_reader reader = {.name = path, .max_bytes = MAX_LINE_BYTES, .text_only = true};
    vkf_line_result result = VKF_LINE_TAKEN;
    bool good = true;
    const char *why = NULL;
    reader.stream = vkf_open_input(path, &why);
    if (!reader.stream) {
        vkf_print_error("%s: %.200s is no list of shapes such as 128x768x768, nor a file: %s", option, path, why);
        return false;
    }
    while (good && (result = vkf_line_next(&reader)) == VKF_LINE_TAKEN)
        good = parse_line(option, reader.text, types, list);
    vkf_line_reader_free(&reader);
    fclose(reader.stream);
    return good && result == VKF_LINE_END;
}

// Whether the text has only shapes and commas. Anything else is a file's path.
static bool is_list(const char *text)
{
    const char *at = text;
    for (;;) {
        if (strncmp(at, ATTENTION, strlen(ATTENTION)) == 0)
            at += strlen(ATTENTION);
        at += strspn(at, "0123456789x");
        if (*at != ',')
            return at != text && *at == '\0';
        at++;
    }
}

bool vkf_shape_list_parse(const char *option, const char *text, const vkf_tune_problem *types, vkf_shape_list *list)
{
    if (!is_list(text))
        return parse_file(option, text, types, list);
    char *copy = strdup(text);
    if (!copy) {
        vkf_print_error("memory is exhausted");
        return false;
    }
    bool good = parse_line(option, copy, types, list);
    free(copy);
    return good;
}

bool vkf_parse_types(const char *option, const char *text, vkf_tune_problem *inout_problem)
{
    vkf_dtype *const types[] = {&inout_problem->x, &inout_problem->weight, &inout_problem->out};
    const char *at = text;
    for (size_t i = 0; i < 3; i++) {
        size_t length = strcspn(at, ",");
        vkf_dtype type = VKF_DTYPE_COUNT;
        for (vkf_dtype d = 0; d < VKF_DTYPE_COUNT; d++) {
            const char *name = vkf_dtype_name(d);
            if (d != VKF_DTYPE_I32 && d != VKF_DTYPE_BOOL && strlen(name) == length && memcmp(at, name, length) == 0)
                type = d;
        }
        bool ends = i < 2 ? at[length] == ',' : at[length] == '\0';
        if (type == VKF_DTYPE_COUNT || !ends) {
            vkf_print_error("%s: '%.200s' is not three types such as f32,f16,f32", option, text);
            return false;
        }
        *types[i] = type;
        at += length + 1;
    }
    return true;
}
