// vkformer embed --search: the entries of an index that are nearest to each text.
#define _POSIX_C_SOURCE 200809L

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "embed_state.h"

typedef struct hit {
    double cosine;
    char *name; // the entry's file, or else its text
} hit;

// The best so far for one text, best first.
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

// Puts an entry into its place; false when memory is exhausted.
static bool offer(ranking *r, uint32_t top, double cosine, const char *name)
{
    uint32_t place = r->count;
    while (place > 0 && r->hits[place - 1].cosine < cosine)
        place--;
    if (place == top)
        return true;
    char *copy = strdup(name);
    if (!copy)
        return false;
    if (r->count == top)
        free(r->hits[--r->count].name);
    memmove(r->hits + place + 1, r->hits + place, (r->count - place) * sizeof *r->hits);
    r->hits[place] = (hit){cosine, copy};
    r->count++;
    return true;
}

static bool read_embedding(const json_t *entry, float *out_values, uint32_t dim)
{
    const json_t *array = json_object_get(entry, "embedding");
    if (!json_is_array(array) || json_array_size(array) != dim)
        return false;
    for (uint32_t i = 0; i < dim; i++) {
        const json_t *value = json_array_get(array, i);
        if (!json_is_number(value))
            return false;
        out_values[i] = (float)json_number_value(value);
    }
    return true;
}

// One line of the index, against every text.
static bool rank_line(const vkf_embed_state *state, const char *line, size_t size, uint64_t number, float *values,
                      ranking *rankings)
{
    json_error_t error;
    json_t *entry = json_loadb(line, size, 0, &error);
    const char *name = json_string_value(json_object_get(entry, "file"));
    if (!name)
        name = json_string_value(json_object_get(entry, "text"));
    bool ranked = name && read_embedding(entry, values, state->dim);
    if (!ranked)
        vkf_print_error("%s:%llu: no object with a file or text and an embedding of %u numbers, as vkformer embed "
                        "writes them with this model",
                        state->options->index_path, (unsigned long long)number, state->dim);
    for (uint32_t i = 0; ranked && i < state->count; i++) {
        double cosine = vkf_cosine(state->embeddings + (size_t)i * state->dim, values, state->dim);
        ranked = offer(&rankings[i], state->options->top, cosine, name);
        if (!ranked)
            vkf_print_error("memory is exhausted");
    }
    json_decref(entry);
    return ranked;
}

static bool rank_all(const vkf_embed_state *state, FILE *stream, ranking *rankings)
{
    char *line = NULL;
    size_t capacity = 0;
    ssize_t size;
    bool ranked = true;
    float *values = calloc(state->dim, sizeof *values);
    if (!values) {
        vkf_print_error("memory is exhausted");
        return false;
    }
    for (uint64_t number = 1; ranked && (size = getline(&line, &capacity, stream)) >= 0; number++)
        ranked = rank_line(state, line, (size_t)size, number, values, rankings);
    if (ranked && ferror(stream)) {
        vkf_print_error("%s: cannot be read: %s", state->options->index_path, strerror(errno));
        ranked = false;
    }
    free(values);
    free(line);
    return ranked;
}

static bool print_rankings(const vkf_embed_state *state, const ranking *rankings)
{
    for (uint32_t i = 0; i < state->count; i++) {
        if (state->count > 1)
            printf("%s%s\n", i > 0 ? "\n" : "", state->items[i].file ? state->items[i].file : state->items[i].text);
        for (uint32_t j = 0; j < rankings[i].count; j++)
            printf("%8.4f  %s\n", rankings[i].hits[j].cosine, rankings[i].hits[j].name);
    }
    return fflush(stdout) == 0;
}

bool vkf_embed_search(const vkf_embed_state *state)
{
    FILE *stream = fopen(state->options->index_path, "rb");
    if (!stream) {
        vkf_print_error("%s: cannot be opened: %s", state->options->index_path, strerror(errno));
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
