// vkformer embed: embeddings as JSON or as NumPy's files, and their cosines as a table.
#define _POSIX_C_SOURCE 200809L

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "embed_state.h"
#include "file_output.h"
#include "json_output.h"

#define NPY_ALIGNMENT 64 // of the data, as NumPy's format asks for

static json_t *embedding_of(const vkf_embed_state *state, uint32_t index)
{
    const float *values = state->embeddings + (size_t)index * state->dim;
    json_t *array = json_array();
    for (uint32_t i = 0; array && i < state->dim; i++)
        if (json_array_append_new(array, isfinite(values[i]) ? json_real(values[i]) : json_null()) != 0) {
            json_decref(array);
            return NULL;
        }
    return array;
}

static json_t *object_of(const vkf_embed_state *state, uint32_t index)
{
    const vkf_embed_item *item = &state->items[index];
    json_t *object = json_object();
    if (item->file)
        vkf_json_put_string(object, "file", item->file);
    else
        json_object_set_new(object, "text", json_stringn(item->text, item->size_bytes));
    if (!item->file && !json_object_get(object, "text"))
        json_object_set_new(object, "text", json_null()); // no UTF-8
    vkf_json_put_integer(object, "tokens", item->token_count);
    if (json_object_set_new(object, "embedding", embedding_of(state, index)) != 0) {
        json_decref(object);
        return NULL;
    }
    return object;
}

// Nine digits give every float32 back.
static bool write_json(const vkf_embed_state *state, FILE *stream)
{
    const size_t flags = JSON_COMPACT | JSON_REAL_PRECISION(9);
    bool array = state->options->format == VKF_EMBED_JSON, written = true;
    for (uint32_t i = 0; written && i < state->count; i++) {
        json_t *object = object_of(state, i);
        if (array)
            fputs(i == 0 ? "[" : ",\n", stream);
        written = object && json_dumpf(object, stream, flags) == 0;
        json_decref(object);
        if (!array)
            fputc('\n', stream);
    }
    if (array)
        fputs("]\n", stream);
    return written;
}

// Version 1.0 of the format: magic, version, length of the header, header padded with blanks to the alignment.
static bool write_npy(const vkf_embed_state *state, FILE *stream)
{
    char header[256];
    const uint16_t one = 1;
    int length = snprintf(header, sizeof header, "{'descr': '%sf4', 'fortran_order': False, 'shape': (%u, %u), }",
                          *(const uint8_t *)&one == 1 ? "<" : ">", state->count, state->dim);
    size_t padded = ((size_t)length + 1 + 10 + NPY_ALIGNMENT - 1) / NPY_ALIGNMENT * NPY_ALIGNMENT - 10;
    const uint8_t start[10] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (uint8_t)padded, (uint8_t)(padded >> 8)};
    size_t count = (size_t)state->count * state->dim;
    memset(header + length, ' ', padded - (size_t)length - 1);
    header[padded - 1] = '\n';
    return fwrite(start, 1, sizeof start, stream) == sizeof start && fwrite(header, 1, padded, stream) == padded &&
           fwrite(state->embeddings, sizeof(float), count, stream) == count;
}

static bool write_stream(const vkf_embed_state *state, FILE *stream)
{
    bool written = state->options->format == VKF_EMBED_NPY ? write_npy(state, stream) : write_json(state, stream);
    return fflush(stream) == 0 && !ferror(stream) && written;
}

static bool write_path(const vkf_embed_state *state, const char *path)
{
    char *bytes = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&bytes, &size);
    bool written = stream && write_stream(state, stream);
    if (stream && fclose(stream) != 0)
        written = false;
    written = written && vkf_write_file(path, bytes, size);
    if (!written)
        vkf_print_error("%s: cannot be written: %s", path, strerror(errno));
    free(bytes);
    return written;
}

bool vkf_embed_write(const vkf_embed_state *state)
{
    if (state->options->out_path)
        return write_path(state, state->options->out_path);
    if (state->options->format == VKF_EMBED_NPY && isatty(STDOUT_FILENO)) {
        vkf_print_error("--output npy is binary; give --out FILE, or send the output elsewhere than to a terminal");
        return false;
    }
    if (!write_stream(state, stdout)) {
        vkf_print_error("the embeddings cannot be written: %s", strerror(errno));
        return false;
    }
    return true;
}

double vkf_cosine(const float *a, const float *b, uint32_t dim)
{
    double product = 0, aa = 0, bb = 0;
    for (uint32_t i = 0; i < dim; i++) {
        product += (double)a[i] * b[i];
        aa += (double)a[i] * a[i];
        bb += (double)b[i] * b[i];
    }
    return aa > 0 && bb > 0 ? product / sqrt(aa * bb) : 0;
}

bool vkf_embed_print_cosines(const vkf_embed_state *state)
{
    for (uint32_t i = 0; i < state->count; i++) {
        for (uint32_t j = 0; j < state->count; j++)
            printf("%s%9.6f", j > 0 ? " " : "",
                   vkf_cosine(state->embeddings + (size_t)i * state->dim, state->embeddings + (size_t)j * state->dim,
                              state->dim));
        putchar('\n');
    }
    return fflush(stdout) == 0;
}
