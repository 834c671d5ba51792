// Parses shapes from arguments and files.
#include "lab/bench/bench_shapes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/options.h"
#include "input/line_reader.h"
#include "system/open_input.h"

#define SEPARATORS ", \t\r\n"
#define MAX_LINE 4096

void vkf_bench_shapes_free(vkf_bench_shapes *shapes)
{
    free(shapes->list);
    *shapes = (vkf_bench_shapes){0};
}

static uint32_t index_of(const vkf_bench_extents *extents, char letter)
{
    uint32_t i = 0;
    while (i < extents->count && extents->list[i].letter != letter)
        i++;
    return i;
}

bool vkf_bench_shape_complete(const vkf_bench_extents *extents, vkf_bench_shape *shape)
{
    for (uint32_t i = 0; i < extents->count; i++) {
        if (shape->values[i] == 0)
            shape->values[i] = extents->list[i].fallback;
    }
    for (uint32_t i = 0; i < extents->count; i++) {
        if (shape->values[i] == 0 && extents->list[i].fallback_letter)
            shape->values[i] = shape->values[index_of(extents, extents->list[i].fallback_letter)];
    }
    for (uint32_t i = 0; i < extents->count; i++) {
        if (shape->values[i] == 0) {
            vkf_print_error("--%s is missing", extents->list[i].name);
            return false;
        }
    }
    return true;
}

void vkf_bench_forms_text(const vkf_bench_extents *extents, char *out_text, size_t size_bytes)
{
    size_t length = 0;
    out_text[0] = '\0';
    for (size_t f = 0; f < sizeof extents->forms / sizeof extents->forms[0] && extents->forms[f]; f++) {
        for (const char *letter = extents->forms[f]; *letter && length < size_bytes; letter++)
            length += (size_t)snprintf(out_text + length, size_bytes - length, "%s%c",
                                       letter != extents->forms[f] ? "x"
                                       : f > 0                     ? ", "
                                                                   : "",
                                       *letter);
    }
}

static const char *form_of_length(const vkf_bench_extents *extents, size_t length)
{
    for (size_t f = 0; f < sizeof extents->forms / sizeof extents->forms[0] && extents->forms[f]; f++) {
        if (strlen(extents->forms[f]) == length)
            return extents->forms[f];
    }
    return NULL;
}

// Reads numbers separated by x; false for anything else. *out_count may exceed what out_numbers holds.
static bool split_numbers(const char *text, size_t length, uint32_t *out_numbers, size_t *out_count)
{
    size_t count = 0;
    bool digits = false; // since the last x
    uint64_t number = 0;
    for (size_t i = 0; i <= length; i++) {
        if (i == length || text[i] == 'x') {
            if (!digits || number == 0 || number > UINT32_MAX)
                return false;
            if (count < VKF_BENCH_MAX_EXTENTS)
                out_numbers[count] = (uint32_t)number;
            count++;
            digits = false;
            number = 0;
        } else if (text[i] >= '0' && text[i] <= '9') {
            digits = true;
            number = number <= UINT32_MAX ? number * 10 + (uint64_t)(text[i] - '0') : number;
        } else {
            return false;
        }
    }
    *out_count = count;
    return true;
}

static bool append(vkf_bench_shapes *shapes, const vkf_bench_shape *shape)
{
    vkf_bench_shape *list = realloc(shapes->list, (shapes->count + 1) * sizeof *list);
    if (!list) {
        vkf_print_error("memory is exhausted");
        return false;
    }
    shapes->list = list;
    shapes->list[shapes->count++] = *shape;
    return true;
}

static bool add_one(vkf_bench_shapes *shapes, const vkf_bench_extents *extents, const char *text, size_t length,
                    const char *where)
{
    char forms[128];
    uint32_t numbers[VKF_BENCH_MAX_EXTENTS];
    size_t count = 0;
    vkf_bench_shape shape = {{0}};
    int shown = length > 100 ? 100 : (int)length;
    vkf_bench_forms_text(extents, forms, sizeof forms);
    const char *form = NULL;
    if (split_numbers(text, length, numbers, &count))
        form = form_of_length(extents, count);
    if (!form) {
        vkf_print_error("%s%s'%.*s' is no shape; shapes here are %s, of numbers above 0", where ? where : "",
                        where ? ": " : "", shown, text, forms);
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        uint32_t extent = index_of(extents, form[i]);
        if (numbers[i] > extents->list[extent].max) {
            vkf_print_error("%s%s'%.*s': %c is %u, and may be %u at most", where ? where : "", where ? ": " : "", shown,
                            text, form[i], numbers[i], extents->list[extent].max);
            return false;
        }
        shape.values[extent] = numbers[i];
    }
    return vkf_bench_shape_complete(extents, &shape) && append(shapes, &shape);
}

bool vkf_bench_shapes_add(vkf_bench_shapes *shapes, const vkf_bench_extents *extents, const char *text,
                          const char *where)
{
    size_t before = shapes->count;
    for (text += strspn(text, SEPARATORS); *text; text += strspn(text, SEPARATORS)) {
        size_t length = strcspn(text, SEPARATORS);
        if (!add_one(shapes, extents, text, length, where))
            return false;
        text += length;
    }
    // A file may have empty lines, but an argument may not be empty.
    if (!where && shapes->count == before) {
        vkf_print_error("an argument without a shape");
        return false;
    }
    return true;
}

static vkf_bench_file read_lines(vkf_bench_shapes *shapes, const vkf_bench_extents *extents, const char *path,
                                 FILE *file)
{
    vkf_line_reader reader = {.stream = file, .name = path, .max_bytes = MAX_LINE, .text_only = true};
    vkf_line_result result = VKF_LINE_TAKEN;
    char where[512];
    bool good = true;
    while (good && (result = vkf_line_next(&reader)) == VKF_LINE_TAKEN) {
        snprintf(where, sizeof where, "%.400s:%llu", path, (unsigned long long)reader.number);
        reader.text[strcspn(reader.text, "#")] = '\0';
        good = vkf_bench_shapes_add(shapes, extents, reader.text, where);
    }
    vkf_line_reader_free(&reader);
    if (!good || reader.malformed)
        return VKF_BENCH_FILE_MALFORMED;
    return result == VKF_LINE_END ? VKF_BENCH_FILE_READ : VKF_BENCH_FILE_UNREADABLE;
}

vkf_bench_file vkf_bench_shapes_read(vkf_bench_shapes *shapes, const vkf_bench_extents *extents, const char *path)
{
    size_t before = shapes->count;
    const char *why = NULL;
    FILE *file = vkf_open_input(path, &why);
    if (!file) {
        vkf_print_error("'%s' cannot be opened: %s", path, why);
        return VKF_BENCH_FILE_UNREADABLE;
    }
    vkf_bench_file result = read_lines(shapes, extents, path, file);
    fclose(file);
    if (result == VKF_BENCH_FILE_READ && shapes->count == before) {
        vkf_print_error("'%s' has no shapes", path);
        result = VKF_BENCH_FILE_MALFORMED;
    }
    return result;
}
