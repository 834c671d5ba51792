#define _POSIX_C_SOURCE 200809L

#include "shape_list.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"

#define MAX_SHAPES 65536u
#define MAX_SIZE (1u << 24)

void vkf_shape_list_free(vkf_shape_list *list)
{
    free(list->items);
    *list = (vkf_shape_list){0};
}

static bool same(const vkf_tune_problem *a, const vkf_tune_problem *b)
{
    return a->m == b->m && a->n == b->n && a->k == b->k && a->x == b->x && a->weight == b->weight && a->out == b->out;
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

static bool parse_shape(const char *option, const char *text, vkf_tune_problem *out_problem)
{
    uint32_t *const sizes[] = {&out_problem->m, &out_problem->n, &out_problem->k};
    char word[16];
    const char *at = text;
    for (size_t i = 0; i < 3; i++) {
        size_t length = strspn(at, "0123456789");
        bool ends = i < 2 ? at[length] == 'x' : at[length] == '\0';
        if (length == 0 || length >= sizeof word || !ends) {
            vkf_print_error("%s: '%.200s' is no shape MxNxK", option, text);
            return false;
        }
        memcpy(word, at, length);
        word[length] = '\0';
        if (!vkf_parse_u32(option, word, 1, MAX_SIZE, sizes[i]))
            return false;
        at += length + 1;
    }
    return true;
}

// Takes the line apart.
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
    char *line = NULL;
    size_t capacity = 0;
    bool good = true;
    FILE *file = fopen(path, "r");
    if (!file) {
        vkf_print_error("%s: %.200s is no list of shapes MxNxK, nor a file: %s", option, path, strerror(errno));
        return false;
    }
    while (good && getline(&line, &capacity, file) >= 0)
        good = parse_line(option, line, types, list);
    if (good && ferror(file)) {
        vkf_print_error("%s: %.200s cannot be read: %s", option, path, strerror(errno));
        good = false;
    }
    free(line);
    fclose(file);
    return good;
}

bool vkf_shape_list_parse(const char *option, const char *text, const vkf_tune_problem *types, vkf_shape_list *list)
{
    if (text[0] == '\0' || strspn(text, "0123456789x,") != strlen(text))
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
