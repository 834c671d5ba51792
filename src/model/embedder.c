#include "model/embedder.h"

#include <string.h>

#include "model/batch_order.h"
#include "model/session_run.h"

static vkf_encode_options options_of(const vkf_embedder *embedder, const vkf_embed_args *args, uint32_t index)
{
    vkf_encode_options options = args->options ? args->options[index] : (vkf_encode_options){0};
    if (options.truncation == VKF_TRUNCATION_FROM_FILE || options.truncation == VKF_TRUNCATION_NONE)
        options.truncation = VKF_TRUNCATION_LONGEST_FIRST;
    if (options.max_length == 0 || options.max_length > embedder->max_tokens)
        options.max_length = embedder->max_tokens;
    return options;
}

static vkf_status tokenize(vkf_embedder *embedder, const vkf_embed_args *args, vkf_encoding *encodings)
{
    vkf_status status = VKF_OK;
    for (uint32_t i = 0; i < args->count; i++) {
        const vkf_text *text = &args->texts[i];
        const vkf_text pair = args->pairs ? args->pairs[i] : (vkf_text){0};
        const vkf_encode_options options = options_of(embedder, args, i);
        VKF_TRY(vkf__tokenizer_encode(&embedder->text.tokenizer, text->bytes, text->size_bytes, pair.bytes,
                                      pair.size_bytes, &options, &encodings[i]));
    }
fail:
    return status;
}

static void fill_row(vkf_embedder *embedder, uint32_t row, uint32_t len, const vkf_encoding *encoding)
{
    int32_t pad = embedder->text.model->config.pad_id;
    uint32_t token_types = embedder->text.model->config.token_types;
    int32_t *ids = embedder->ids + (size_t)row * len, *types = embedder->types + (size_t)row * len;
    // A text of no token at all, which a tokenizer without special ones makes of "", has to be something.
    embedder->lengths[row] = encoding->count > 0 ? (int32_t)encoding->count : 1;
    for (uint32_t t = 0; t < len; t++) {
        bool token = t < encoding->count;
        ids[t] = token ? encoding->ids[t] : pad;
        types[t] = token && token_types > 1 ? encoding->type_ids[t] : 0;
    }
}

// What is made for the caller, whose arrays stay as they are until all of it is there.
typedef struct embedded {
    vkf_encoding *encodings;     // (count)
    float *embeddings;           // (count, d_model)
    vkf_prediction *predictions; // (count), or NULL
} embedded;

// The logits of a row of a batch whose longest text has `len` tokens.
static vkf_status keep_prediction(const vkf_embedder *embedder, uint32_t row, uint32_t len, uint32_t tokens,
                                  vkf_prediction *out)
{
    vkf_status status = VKF_OK;
    const vkf__host *host = &embedder->context->host;
    const vkf_model_config *config = &embedder->text.model->config;
    bool whole = config->head == VKF_HEAD_SEQUENCE_CLASSIFICATION;
    uint32_t rows = whole ? 1 : tokens, stride = whole ? 1 : len;
    VKF_ALLOC(host, out->logits, (size_t)(rows > 0 ? rows : 1) * config->head_outputs);
    memcpy(out->logits, embedder->logits + (size_t)row * stride * config->head_outputs,
           (size_t)rows * config->head_outputs * sizeof *out->logits);
    out->rows = rows;
    out->cols = config->head_outputs;
    out->allocator = host->allocator;
fail:
    return status;
}

// The texts order[0 .. rows], of which the first is the longest.
static vkf_status run_batch(vkf_embedder *embedder, const vkf__ranked *order, uint32_t rows, embedded *out)
{
    vkf_status status = VKF_OK;
    const vkf_encoding *encodings = out->encodings;
    const vkf_model_config *config = &embedder->text.model->config;
    uint32_t len = order[0].length > 0 ? order[0].length : 1;
    for (uint32_t row = 0; row < rows; row++)
        fill_row(embedder, row, len, &encodings[order[row].index]);
    const vkf_encode_args args = {
        .batch = rows,
        .source_len = len,
        .source_ids = embedder->ids,
        .source_lengths = embedder->lengths,
        .source_types = config->token_types > 0 ? embedder->types : NULL,
        .out_embeddings = embedder->embeddings,
        .out_logits = out->predictions ? embedder->logits : NULL,
    };
    VKF_TRY(vkf__session_encode(embedder->session, &args));
    for (uint32_t row = 0; out->predictions && row < rows; row++)
        VKF_TRY(keep_prediction(embedder, row, len, order[row].length, &out->predictions[order[row].index]));
    for (uint32_t row = 0; row < rows; row++)
        memcpy(out->embeddings + (size_t)order[row].index * config->d_model,
               embedder->embeddings + (size_t)row * config->d_model, config->d_model * sizeof(float));
fail:
    return status;
}

static vkf_status run_batches(vkf_embedder *embedder, const vkf_embed_args *args, const vkf__ranked *order,
                              embedded *out)
{
    vkf_status status = VKF_OK;
    for (uint32_t first = 0; first < args->count; first += embedder->max_batch) {
        uint32_t left = args->count - first;
        uint32_t rows = left < embedder->max_batch ? left : embedder->max_batch;
        if (args->progress && !args->progress(args->progress_user, first, args->count, "texts"))
            return VKF_ERROR_CANCELLED;
        VKF_TRY(run_batch(embedder, order + first, rows, out));
    }
fail:
    return status;
}

static void give(const vkf_embed_args *args, size_t dim, embedded *out)
{
    if (args->out_embeddings)
        memcpy(args->out_embeddings, out->embeddings, args->count * dim * sizeof *out->embeddings);
    for (uint32_t i = 0; args->out_token_counts && i < args->count; i++)
        args->out_token_counts[i] = out->encodings[i].count;
    for (uint32_t i = 0; out->predictions && i < args->count; i++) {
        out->predictions[i].tokens = out->encodings[i];
        out->encodings[i] = (vkf_encoding){0};
        args->out_predictions[i] = out->predictions[i];
        out->predictions[i] = (vkf_prediction){0};
    }
}

static void embedded_free(const vkf__host *host, embedded *e, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (e->encodings)
            vkf_encoding_free(&e->encodings[i]);
        if (e->predictions)
            vkf_prediction_free(&e->predictions[i]);
    }
    vkf__free(host, e->encodings);
    vkf__free(host, e->embeddings);
    vkf__free(host, e->predictions);
}

vkf_status vkf__embedder_run(vkf_embedder *embedder, const vkf_embed_args *args)
{
    vkf_status status = VKF_OK;
    const vkf__host *host = &embedder->context->host;
    size_t dim = embedder->text.model->config.d_model;
    vkf__ranked *order = NULL;
    embedded out = {0};
    VKF_ALLOC(host, out.encodings, args->count);
    VKF_ALLOC(host, out.embeddings, args->count * dim);
    if (args->out_predictions)
        VKF_ALLOC(host, out.predictions, args->count);
    VKF_TRY(tokenize(embedder, args, out.encodings));
    VKF_TRY(vkf__order_by_length(host, out.encodings, args->count, &order));
    VKF_TRY(run_batches(embedder, args, order, &out));
    give(args, dim, &out);
fail:
    embedded_free(host, &out, args->count);
    vkf__free(host, order);
    return status;
}
