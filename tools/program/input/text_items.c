// Takes texts from arguments, files or the standard input.
#include "input/text_items.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/options.h"
#include "input/input_text.h"
#include "input/text_lines.h"

#define MAX_FILE_BYTES ((size_t)1 << 28)

// Takes ownership of `text`.
static bool add(vkf_text_items *items, char *text, size_t size_bytes, const char *file)
{
    if (text && items->count == items->capacity) {
        uint32_t capacity = items->capacity > 0 ? 2 * items->capacity : 64;
        vkf_text_item *list = capacity > items->capacity ? realloc(items->list, capacity * sizeof *list) : NULL;
        if (list) {
            items->list = list;
            items->capacity = capacity;
        }
    }
    if (!text || items->count == items->capacity) {
        free(text);
        vkf_print_error("memory is exhausted");
        return false;
    }
    items->list[items->count++] = (vkf_text_item){text, size_bytes, file};
    return true;
}

static bool add_file(vkf_text_items *items, const char *path)
{
    char *text = NULL;
    size_t size = 0;
    return vkf_read_input(path, MAX_FILE_BYTES, &text, &size) && add(items, text, size, path);
}

static bool add_lines(vkf_text_items *items)
{
    vkf_text_source source = {.file = stdin, .unit = "line"};
    vkf_text_line line;
    vkf_line_result result;
    while ((result = vkf_text_source_next(&source, &line)) == VKF_LINE_TAKEN)
        if (!add(items, line.text, line.size_bytes, NULL))
            return false;
    return result == VKF_LINE_END;
}

bool vkf_text_items_collect(vkf_text_items *items, char *const *arguments, uint32_t argument_count, bool files)
{
    bool collected = argument_count > 0 || add_lines(items);
    for (uint32_t i = 0; collected && i < argument_count; i++) {
        char *argument = arguments[i];
        collected = files ? add_file(items, argument) : add(items, strdup(argument), strlen(argument), NULL);
    }
    return collected;
}

void vkf_text_items_free(vkf_text_items *items)
{
    for (uint32_t i = 0; i < items->count; i++)
        free(items->list[i].text);
    free(items->list);
    *items = (vkf_text_items){0};
}
