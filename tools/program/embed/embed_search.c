// vkformer embed --search: finds the entries of an index that are nearest to each text.
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "embed/embed_state.h"
#include "input/line_reader.h"
#include "output/standard_output.h"
#include "output/visible_text.h"
#include "system/open_input.h"

typedef struct hit {
    double similarity;
    char *name; // as name_of() says; it may contain zeros
    size_t name_bytes;
} hit;

// The nearest entries so far to one text, nearest first.
typedef struct ranking {
    hit *hits; // (top)
    uint32_t count;
} ranking;

static void free_rankings(ranking *rankings, uint32_t count)
{
    for (uint32_t i = 0; rankings && i < count; i++) {
        for (uint32_t j = 0; j < rankings[i].count; j++)
            free(rankings[i].hits[j].name);
        free(rankings[i].hits);
    }
    free(rankings);
}

static ranking *make_rankings(const vkf_embed_state *state)
{
    ranking *rankings = calloc(state->count, sizeof *rankings);
    for (uint32_t i = 0; rankings && i < state->count; i++) {
        rankings[i].hits = calloc(state->options->top, sizeof *rankings[i].hits);
        if (!rankings[i].hits) {
            free_rankings(rankings, i);
            return NULL;
        }
    }
    return rankings;
}

// Whether a goes before b. An undefined similarity is farther than anything.
static bool nearer(double a, double b)
{
    return isnan(b) ? !isnan(a) : a > b;
}

// Puts an entry in its place; false when memory is exhausted.
static bool offer(ranking *r, uint32_t top, double similarity, const json_t *name)
{
    uint32_t place = r->count;
    while (place > 0 && nearer(similarity, r->hits[place - 1].similarity))
        place--;
    if (place == top)
        return true;
    size_t bytes = json_string_length(name);
    char *copy = malloc(bytes + 1);
    if (!copy)
        return false;
    memcpy(copy, json_string_value(name), bytes + 1);
    if (r->count == top)
        free(r->hits[--r->count].name);
    memmove(r->hits + place + 1, r->hits + place, (r->count - place) * sizeof *r->hits);
    r->hits[place] = (hit){similarity, copy, bytes};
    r->count++;
    return true;
}

// The index of the first element that is not a number, or not one that an embedding can hold; dim when all are valid.
static uint32_t read_embedding(const json_t *array, float *out_values, uint32_t dim)
{
    uint32_t i = 0;
    for (; i < dim; i++) {
        const json_t *value = json_array_get(array, i);
        out_values[i] = (float)json_number_value(value);
        if (!json_is_number(value) || !isfinite(out_values[i]))
            break;
    }
    return i;
}

static bool read_entry(const vkf_embed_state *state, const json_t *entry, const json_t *name, uint64_t number,
                       float *out_values)
{
    const json_t *array = json_object_get(entry, "embedding");
    if (json_is_null(name)) {
        vkf_print_error("%s:%llu: its file or text is null, as vkformer embed writes what is not UTF-8; take the line "
                        "out, or embed it again as UTF-8",
                        state->options->index_path, (unsigned long long)number);
        return false;
    }
    if (!json_is_string(name) || !json_is_array(array) || json_array_size(array) != state->dim) {
        vkf_print_error("%s:%llu: no object with a file or text and an embedding of %u numbers, as vkformer embed "
                        "writes them with this model",
                        state->options->index_path, (unsigned long long)number, state->dim);
        return false;
    }
    uint32_t read = read_embedding(array, out_values, state->dim);
    if (read < state->dim)
        vkf_print_error("%s:%llu: element %u of the embedding is not a finite number; embed that text again",
                        state->options->index_path, (unsigned long long)number, read);
    return read == state->dim;
}

// What an entry is called, released with json_decref(): its file, with the part of it that it is, or its text.
static json_t *name_of(const json_t *entry)
{
    const json_t *file = json_object_get(entry, "file"), *begin = json_object_get(entry, "begin"),
                 *end = json_object_get(entry, "end");
    char part[64]; // jansson prints by the system's own printf, which may know other lengths of integers
    if (json_is_string(file) && json_is_integer(begin) && json_is_integer(end)) {
        (void)snprintf(part, sizeof part, "%lld-%lld", (long long)json_integer_value(begin),
                       (long long)json_integer_value(end));
        return json_sprintf("%s:%s", json_string_value(file), part);
    }
    return json_incref(file ? (json_t *)file : json_object_get(entry, "text"));
}

// Compares one line of the index with every text.
static bool rank_line(const vkf_embed_state *state, const char *line, size_t size, uint64_t number, float *values,
                      ranking *rankings)
{
    json_error_t error;
    json_t *entry = json_loadb(line, size, JSON_ALLOW_NUL, &error);
    json_t *name = name_of(entry);
    bool ranked = read_entry(state, entry, name, number, values);
    for (uint32_t i = 0; ranked && i < state->count; i++) {
        double similarity =
            vkf_embed_similarity(state->similarity, state->embeddings + (size_t)i * state->dim, values, state->dim);
        ranked = offer(&rankings[i], state->options->top, similarity, name);
        if (!ranked)
            vkf_print_error("memory is exhausted");
    }
    json_decref(name);
    json_decref(entry);
    return ranked;
}

static bool rank_all(const vkf_embed_state *state, FILE *stream, ranking *rankings)
{
    vkf_line_reader reader = {.stream = stream, .name = state->options->index_path, .max_bytes = VKF_LINE_MAX_BYTES};
    vkf_line_result result = VKF_LINE_TAKEN;
    bool ranked = true;
    float *values = calloc(state->dim, sizeof *values);
    if (!values) {
        vkf_print_error("memory is exhausted");
        return false;
    }
    while (ranked && (result = vkf_line_next(&reader)) == VKF_LINE_TAKEN)
        ranked = rank_line(state, reader.text, reader.size_bytes, reader.number, values, rankings);
    vkf_line_reader_free(&reader);
    free(values);
    return ranked && result == VKF_LINE_END;
}

// Zeros in the text are printed like any other byte.
static void print_line(const char *text, size_t size_bytes)
{
    vkf_print_text(text, size_bytes);
    putchar('\n');
}

static bool print_rankings(const vkf_embed_state *state, const ranking *rankings)
{
    for (uint32_t i = 0; i < state->count; i++) {
        const char *file = vkf_embed_file_of(state, i);
        const vkf_text text = vkf_embed_text_of(state, i);
        if (state->count > 1 && i > 0)
            putchar('\n');
        if (state->count > 1)
            print_line(file ? file : text.bytes, file ? strlen(file) : text.size_bytes);
        for (uint32_t j = 0; j < rankings[i].count; j++) {
            const hit *h = &rankings[i].hits[j];
            if (isnan(h->similarity))
                fputs("undefined  ", stdout);
            else
                printf("%8.4f  ", h->similarity);
            print_line(h->name, h->name_bytes);
        }
    }
    return vkf_flush_stdout();
}

bool vkf_embed_search(const vkf_embed_state *state)
{
    const char *why = NULL;
    FILE *stream = vkf_open_input(state->options->index_path, &why);
    if (!stream) {
        vkf_print_error("%s: cannot be opened: %s", state->options->index_path, why);
        return false;
    }
    ranking *rankings = make_rankings(state);
    if (!rankings)
        vkf_print_error("memory is exhausted");
    bool done = rankings && rank_all(state, stream, rankings) && print_rankings(state, rankings);
    free_rankings(rankings, state->count);
    fclose(stream);
    return done;
}
