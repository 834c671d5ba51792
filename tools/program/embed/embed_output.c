// vkformer embed: writes embeddings as JSON or in NumPy's format, and similarities as a table.
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "embed/embed_state.h"
#include "output/file_output.h"
#include "output/json_output.h"
#include "output/standard_output.h"
#include "output/visible_text.h"
#include "system/terminal.h"

#define NAME_BYTES 60    // of a text, beside its similarities
#define NPY_ALIGNMENT 64 // of the data, as NumPy's format requires

static json_t *embedding_of(const vkf_embed_state *state, uint32_t index)
{
    const float *values = state->embeddings + (size_t)index * state->dim;
    json_t *array = json_array();
    for (uint32_t i = 0; array && i < state->dim; i++)
        if (json_array_append_new(array, json_real(values[i])) != 0) {
            json_decref(array);
            return NULL;
        }
    return array;
}

static json_t *object_of(const vkf_embed_state *state, uint32_t index)
{
    const vkf_embed_part *part = &state->parts[index];
    const char *file = vkf_embed_file_of(state, index);
    const vkf_text text = vkf_embed_text_of(state, index);
    json_t *object = json_object();
    if (file)
        vkf_json_put_string(object, "file", file);
    else
        vkf_json_put_text(object, "text", text.bytes, text.size_bytes);
    if (state->options->chunk > 0) {
        if (!file)
            vkf_json_put_integer(object, "index", part->text);
        vkf_json_put_integer(object, "begin", part->begin);
        vkf_json_put_integer(object, "end", part->end);
    }
    vkf_json_put_integer(object, "tokens", part->token_count);
    if (json_object_set_new(object, "embedding", embedding_of(state, index)) != 0) {
        json_decref(object);
        return NULL;
    }
    return object;
}

// Nine digits reproduce every float32.
static bool write_json(const vkf_embed_state *state, FILE *stream)
{
    const size_t flags = JSON_COMPACT | JSON_REAL_PRECISION(9);
    bool array = state->options->format == VKF_EMBED_JSON, written = true;
    for (uint32_t i = 0; written && i < state->count; i++) {
        json_t *object = object_of(state, i);
        if (array)
            fputs(i == 0 ? "[" : ",\n", stream);
        written = vkf_write_json(object, stream, flags);
        json_decref(object);
        if (!array)
            fputc('\n', stream);
    }
    if (array)
        fputs("]\n", stream);
    return written;
}

// Version 1.0 of the format: magic, version, the header's length, and the header, padded with blanks to the alignment.
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

static bool write_stream(FILE *stream, const void *user)
{
    const vkf_embed_state *state = user;
    bool written = state->options->format == VKF_EMBED_NPY ? write_npy(state, stream) : write_json(state, stream);
    bool flushed = stream == stdout ? vkf_flush_stdout() : fflush(stream) == 0;
    return flushed && !ferror(stream) && written;
}

bool vkf_embed_write(const vkf_embed_state *state)
{
    if (state->options->out_path)
        return vkf_write_stream(state->options->out_path, write_stream, state);
    if (state->options->format == VKF_EMBED_NPY && vkf_is_terminal(VKF_STANDARD_OUTPUT)) {
        vkf_print_error("--output npy is binary; give --out FILE, or send the output elsewhere than to a terminal");
        return false;
    }
    bool written = write_stream(stdout, state);
    if (!written && !ferror(stdout)) // errors of the standard output are reported at the end
        vkf_print_error("the embeddings cannot be written: memory is exhausted");
    return written;
}

static double cosine(const float *a, const float *b, uint32_t dim)
{
    double product = 0, aa = 0, bb = 0;
    for (uint32_t i = 0; i < dim; i++) {
        product += (double)a[i] * b[i];
        aa += (double)a[i] * a[i];
        bb += (double)b[i] * b[i];
    }
    return aa > 0 && bb > 0 ? product / sqrt(aa * bb) : NAN;
}

double vkf_embed_similarity(vkf_similarity similarity, const float *a, const float *b, uint32_t dim)
{
    double sum = 0;
    if (similarity == VKF_SIMILARITY_COSINE)
        return cosine(a, b, dim);
    for (uint32_t i = 0; i < dim; i++) {
        double difference = (double)a[i] - b[i];
        if (similarity == VKF_SIMILARITY_DOT)
            sum += (double)a[i] * b[i];
        else
            sum -= similarity == VKF_SIMILARITY_EUCLIDEAN ? difference * difference : fabs(difference);
    }
    return similarity == VKF_SIMILARITY_EUCLIDEAN ? -sqrt(-sum) : sum;
}

static double similarity_of(const vkf_embed_state *state, uint32_t i, uint32_t j)
{
    return vkf_embed_similarity(state->similarity, state->embeddings + (size_t)i * state->dim,
                                state->embeddings + (size_t)j * state->dim, state->dim);
}

// Behind a row's numbers stands what it is of; long texts are cut.
static void print_name(const vkf_embed_state *state, uint32_t index)
{
    const vkf_embed_part *part = &state->parts[index];
    const char *file = vkf_embed_file_of(state, index);
    vkf_text text = vkf_embed_text_of(state, index);
    if (!file && text.size_bytes > NAME_BYTES)
        for (text.size_bytes = NAME_BYTES; ((unsigned char)text.bytes[text.size_bytes] & 0xc0u) == 0x80u;)
            text.size_bytes--;
    fputs("  ", stdout);
    vkf_print_name(file ? file : text.bytes, file ? strlen(file) : text.size_bytes);
    if (file && state->options->chunk > 0)
        printf(":%zu-%zu", part->begin, part->end);
    putchar('\n');
}

bool vkf_embed_print_similarities(const vkf_embed_state *state)
{
    for (uint32_t i = 0; i < state->count; i++) {
        for (uint32_t j = 0; j < state->count; j++) {
            double similarity = similarity_of(state, i, j);
            if (isnan(similarity))
                vkf_print("%sundefined", j > 0 ? " " : "");
            else
                vkf_print("%s%9.6f", j > 0 ? " " : "", similarity);
        }
        print_name(state, i);
    }
    return vkf_flush_stdout();
}
