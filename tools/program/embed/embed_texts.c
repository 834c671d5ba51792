// vkformer embed: takes the texts from arguments, files or the standard input.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/system_file.h"
#include "embed/embed_state.h"
#include "input/text_lines.h"

#define MAX_FILE_BYTES ((size_t)1 << 28)

// Takes ownership of `text`.
static bool add(vkf_embed_state *state, char *text, size_t size_bytes, const char *file)
{
    if (text && state->count == state->capacity) {
        uint32_t capacity = state->capacity > 0 ? 2 * state->capacity : 64;
        vkf_embed_item *items = capacity > state->capacity ? realloc(state->items, capacity * sizeof *items) : NULL;
        if (items) {
            state->items = items;
            state->capacity = capacity;
        }
    }
    if (!text || state->count == state->capacity) {
        free(text);
        vkf_print_error("memory is exhausted");
        return false;
    }
    state->items[state->count++] = (vkf_embed_item){text, size_bytes, file, 0};
    return true;
}

static bool add_file(vkf_embed_state *state, const char *path)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = vkf__stream_open(path, "rb");
    if (!stream) {
        vkf_print_error("%s: cannot be read: %s", path, strerror(errno));
        return false;
    }
    bool read = vkf_read_stream(stream, path, MAX_FILE_BYTES, &text, &size);
    fclose(stream);
    return read && add(state, text, size, path);
}

static bool add_lines(vkf_embed_state *state)
{
    vkf_text_source source = {.file = stdin, .unit = "line"};
    vkf_text_line line;
    vkf_line_result result;
    while ((result = vkf_text_source_next(&source, &line)) == VKF_LINE_TAKEN)
        if (!add(state, line.text, line.size_bytes, NULL))
            return false;
    return result == VKF_LINE_END;
}

bool vkf_embed_collect(vkf_embed_state *state)
{
    const vkf_embed_options *options = state->options;
    bool collected = true;
    if (options->argument_count == 0)
        collected = add_lines(state);
    for (uint32_t i = 0; collected && i < options->argument_count; i++) {
        char *argument = options->arguments[i];
        collected = options->files ? add_file(state, argument) : add(state, strdup(argument), strlen(argument), NULL);
    }
    if (collected && state->count == 0)
        vkf_print_error("there is no text to embed");
    return collected && state->count > 0;
}

void vkf_embed_free(vkf_embed_state *state)
{
    for (uint32_t i = 0; i < state->count; i++)
        free(state->items[i].text);
    free(state->items);
    free(state->embeddings);
    *state = (vkf_embed_state){0};
}
