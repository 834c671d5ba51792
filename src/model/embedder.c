#include "model/embedder.h"

#include <string.h>

#include "model/batch_order.h"
#include "model/session_run.h"

static vkf_status tokenize(vkf_embedder *embedder, const vkf_embed_args *args, vkf_encoding *encodings)
{
    vkf_status status = VKF_OK;
    const vkf_encode_options options = {
        .truncation = VKF_TRUNCATION_LONGEST_FIRST,
        .max_length = embedder->max_tokens,
    };
    for (uint32_t i = 0; i < args->count; i++) {
        const vkf_text *text = &args->texts[i];
        VKF_TRY(vkf__tokenizer_encode(&embedder->text.tokenizer, text->bytes, text->size_bytes, NULL, 0, &options,
                                      &encodings[i]));
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

// The texts order[first .. first + rows], of which the first is the longest.
static vkf_status run_batch(vkf_embedder *embedder, const vkf_encoding *encodings, const vkf__ranked *order,
                            uint32_t rows, float *out_embeddings)
{
    vkf_status status = VKF_OK;
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
    };
    VKF_TRY(vkf__session_encode(embedder->session, &args));
    for (uint32_t row = 0; row < rows; row++)
        memcpy(out_embeddings + (size_t)order[row].index * config->d_model,
               embedder->embeddings + (size_t)row * config->d_model, config->d_model * sizeof(float));
fail:
    return status;
}

static vkf_status run_batches(vkf_embedder *embedder, const vkf_embed_args *args, const vkf_encoding *encodings,
                              const vkf__ranked *order, float *out_embeddings)
{
    vkf_status status = VKF_OK;
    for (uint32_t first = 0; first < args->count; first += embedder->max_batch) {
        uint32_t left = args->count - first;
        uint32_t rows = left < embedder->max_batch ? left : embedder->max_batch;
        if (args->progress && !args->progress(args->progress_user, first, args->count, "texts"))
            return VKF_ERROR_CANCELLED;
        VKF_TRY(run_batch(embedder, encodings, order + first, rows, out_embeddings));
    }
fail:
    return status;
}

vkf_status vkf__embedder_run(vkf_embedder *embedder, const vkf_embed_args *args)
{
    vkf_status status = VKF_OK;
    const vkf__host *host = &embedder->context->host;
    size_t dim = embedder->text.model->config.d_model;
    vkf_encoding *encodings = NULL;
    vkf__ranked *order = NULL;
    float *embeddings = NULL; // the caller's stay as they are until all is there
    VKF_ALLOC(host, encodings, args->count);
    VKF_ALLOC(host, embeddings, args->count * dim);
    VKF_TRY(tokenize(embedder, args, encodings));
    VKF_TRY(vkf__order_by_length(host, encodings, args->count, &order));
    VKF_TRY(run_batches(embedder, args, encodings, order, embeddings));
    memcpy(args->out_embeddings, embeddings, args->count * dim * sizeof *embeddings);
    for (uint32_t i = 0; args->out_token_counts && i < args->count; i++)
        args->out_token_counts[i] = encodings[i].count;
fail:
    for (uint32_t i = 0; encodings && i < args->count; i++)
        vkf_encoding_free(&encodings[i]);
    vkf__free(host, encodings);
    vkf__free(host, order);
    vkf__free(host, embeddings);
    return status;
}
