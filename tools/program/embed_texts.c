// vkformer embed: the texts, from arguments, files or the standard input.
#define _POSIX_C_SOURCE 200809L

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "embed_state.h"
#include "text_lines.h"

#define MAX_FILE_BYTES (1L << 28)

// Takes `text` over.
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

static bool read_open_file(FILE *stream, char **out_text, size_t *out_size)
{
    long size = fseek(stream, 0, SEEK_END) == 0 ? ftell(stream) : -1;
    if (size < 0 || size > MAX_FILE_BYTES || fseek(stream, 0, SEEK_SET) != 0) {
        errno = size > MAX_FILE_BYTES ? EFBIG : errno;
        return false;
    }
    *out_text = malloc((size_t)size + 1);
    *out_size = *out_text ? fread(*out_text, 1, (size_t)size, stream) : 0;
    return *out_text && *out_size == (size_t)size && !ferror(stream);
}

static bool add_file(vkf_embed_state *state, const char *path)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = fopen(path, "rb");
    bool read = stream && read_open_file(stream, &text, &size);
    int error = errno;
    if (stream)
        fclose(stream);
    if (!read) {
        vkf_print_error("%s: cannot be read: %s", path, strerror(error));
        free(text);
        return false;
    }
    return add(state, text, size, path);
}

static bool add_lines(vkf_embed_state *state)
{
    vkf_text_source source = {.file = stdin, .unit = "line"};
    vkf_text_line line;
    vkf_text_result result;
    while ((result = vkf_text_source_next(&source, &line)) == VKF_TEXT_TAKEN)
        if (!add(state, line.text, line.size_bytes, NULL))
            return false;
    return result == VKF_TEXT_END;
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
