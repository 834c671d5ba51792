// Runs an embedder: tokenizes texts, batches them by length, and gives back embeddings and the logits of a head.
#include "model/text/embedder.h"

#include <string.h>

#include "model/load/finite.h"
#include "model/session/session_results.h"
#include "model/session/session_run.h"
#include "model/text/batch_order.h"

// How a text is truncated: as `given` says, but to at most the tokens that the embedder has room for. All zeros, as for
// a prompt alone, truncate to that room.
static vkf_encode_options options_of(const vkf_embedder *embedder, vkf_encode_options given)
{
    vkf_encode_options options = given;
    if (options.truncation == VKF_TRUNCATION_FROM_FILE || options.truncation == VKF_TRUNCATION_NONE) {
        options.truncation = VKF_TRUNCATION_LONGEST_FIRST;
        options.truncate_left = embedder->text.tokenizer->parts.truncation.left;
    }
    if (options.max_length == 0 || options.max_length > embedder->max_tokens)
        options.max_length = embedder->max_tokens;
    return options;
}

const vkf_embed_prompt *vkf__embedder_default_prompt(const vkf_embedder *embedder)
{
    if (embedder->head || embedder->settings.default_prompt < 0)
        return NULL;
    return &embedder->settings.prompts[embedder->settings.default_prompt];
}

// The prompt that is put in front of every text.
static const char *prompt_of(const vkf_embedder *embedder, const vkf_embed_args *args)
{
    if (args->prompt)
        return args->prompt;
    const vkf_embed_prompt *prompt = args->prompt_name ? vkf__sentence_prompt(&embedder->settings, args->prompt_name)
                                                       : vkf__embedder_default_prompt(embedder);
    return prompt ? prompt->text : "";
}

static vkf_status encode(vkf_embedder *embedder, const vkf_embed_args *args, const char *prompt, uint32_t index,
                         vkf_encoding *out_encoding)
{
    vkf_status status = VKF_OK;
    const vkf__host *host = &embedder->context->host;
    const vkf_text *pair = args->pairs ? &args->pairs[index] : NULL;
    const vkf_encode_options options =
        options_of(embedder, args->options ? args->options[index] : (vkf_encode_options){0});
    vkf_text text = args->texts[index];
    size_t prompt_bytes = strlen(prompt);
    char *both = NULL;
    if (prompt_bytes > 0) {
        VKF_ALLOC(host, both, prompt_bytes + text.size_bytes);
        memcpy(both, prompt, prompt_bytes);
        if (text.size_bytes > 0)
            memcpy(both + prompt_bytes, text.bytes, text.size_bytes);
        text = (vkf_text){both, prompt_bytes + text.size_bytes};
    }
    VKF_TRY(vkf__text_model_encode(&embedder->text, &text, pair, &options, out_encoding));
    // Truncation cuts a text once, but a template may repeat it.
    if (out_encoding->count > embedder->max_tokens)
        status =
            vkf__fail(vkf__limited(host, "max_tokens", out_encoding->count, embedder->max_tokens), VKF_ERROR_TOO_LARGE,
                      "%s: text %u becomes %u tokens, and there is room for %u; the template repeats it",
                      embedder->text.tokenizer_path, index, out_encoding->count, embedder->max_tokens);
fail:
    vkf__free(host, both);
    return status;
}

static vkf_status tokenize(vkf_embedder *embedder, const vkf_embed_args *args, const char *prompt,
                           vkf_encoding *encodings)
{
    for (uint32_t i = 0; i < args->count; i++)
        VKF_RETURN_IF_ERROR(encode(embedder, args, prompt, i, &encodings[i]));
    return VKF_OK;
}

static bool is_special(const vkf_embedder *embedder, const vkf_encoding *encoding, uint32_t token)
{
    const vkf__added_token *added =
        vkf__added_token_by_id(&embedder->text.tokenizer->parts.added, encoding->ids[token]);
    return encoding->special_tokens_mask[token] || (added && added->special);
}

// Counts the tokens that pooling leaves out as the prompt's, as sentence-transformers does: those of the prompt alone,
// without a special token at its end.
static vkf_status count_prompt(vkf_embedder *embedder, const char *prompt, uint32_t *out_count)
{
    vkf_status status = VKF_OK;
    const vkf_encode_options options = options_of(embedder, (vkf_encode_options){0});
    const vkf_text part = {prompt, strlen(prompt)};
    vkf_encoding encoding = {0};
    uint32_t count = 0;
    if (*prompt && embedder->text.model->config.embedding_modules[0].without_prompt) {
        VKF_TRY(vkf__text_model_encode_part(&embedder->text, &part, &options, &encoding));
        count = encoding.count;
        count -= count > 0 && is_special(embedder, &encoding, count - 1);
    }
    *out_count = count;
fail:
    vkf_encoding_free(&encoding);
    return status;
}

static void fill_row(vkf_embedder *embedder, uint32_t row, uint32_t len, const vkf_encoding *encoding)
{
    int32_t pad = embedder->text.model->config.pad_id >= 0 ? embedder->text.model->config.pad_id : 0;
    uint32_t token_types = embedder->text.model->config.token_types;
    int32_t *ids = embedder->ids + (size_t)row * len, *types = embedder->types + (size_t)row * len;
    embedder->lengths[row] = encoding->count;
    for (uint32_t t = 0; t < len; t++) {
        bool token = t < encoding->count;
        ids[t] = token ? encoding->ids[t] : pad;
        types[t] = token && token_types > 1 ? encoding->type_ids[t] : 0;
    }
}

// The results of a run. The caller's arrays are written only when all of them are there.
typedef struct embedded {
    vkf_encoding *encodings;     // (count)
    float *embeddings;           // (count, dim), or NULL
    vkf_prediction *predictions; // (count), or NULL
    uint32_t prompt_len;
} embedded;

// Copies the logits of row `row`, which is text `text`, of a batch whose longest text has `len` tokens.
static vkf_status keep_prediction(const vkf_embedder *embedder, uint32_t row, uint32_t len, uint32_t text,
                                  uint32_t tokens, vkf_prediction *out)
{
    const vkf__host *host = &embedder->context->host;
    const vkf_model_config *config = &embedder->text.model->config;
    bool whole = config->head == VKF_HEAD_SEQUENCE_CLASSIFICATION;
    uint32_t rows = whole ? 1 : tokens, stride = whole ? 1 : len;
    const float *logits = embedder->logits + (size_t)row * stride * config->head_outputs;
    size_t count = (size_t)rows * config->head_outputs;
    if (!vkf__all_finite(logits, count))
        return vkf__not_finite(embedder->session, "text %u: the logits of the head", text);
    VKF_ALLOC_OR_RETURN(host, out->logits, count);
    memcpy(out->logits, logits, count * sizeof *out->logits);
    out->rows = rows;
    out->cols = config->head_outputs;
    out->allocator = host->allocator;
    return VKF_OK;
}

static vkf_status keep_embedding(const vkf_embedder *embedder, uint32_t row, uint32_t text, float *out_embedding)
{
    const float *embedding = embedder->embeddings + (size_t)row * embedder->text.model->config.embedding_dim;
    if (!vkf__all_finite(embedding, embedder->dim))
        return vkf__not_finite(embedder->session, "text %u: the embedding", text);
    memcpy(out_embedding, embedding, embedder->dim * sizeof *embedding);
    return VKF_OK;
}

// Runs the texts order[0 .. rows) as one batch; the first of them is the longest.
static vkf_status run_batch(vkf_embedder *embedder, const vkf__ranked *order, uint32_t rows, embedded *out)
{
    const vkf_encoding *encodings = out->encodings;
    const vkf_model_config *config = &embedder->text.model->config;
    uint32_t len = order[0].length;
    for (uint32_t row = 0; row < rows; row++)
        fill_row(embedder, row, len, &encodings[order[row].index]);
    const vkf_encode_args args = {
        .batch = rows,
        .source_len = len,
        .source_ids = embedder->ids,
        .source_lengths = embedder->lengths,
        .source_types = config->token_types > 0 ? embedder->types : NULL,
        .out_embeddings = out->embeddings ? embedder->embeddings : NULL,
        .out_logits = out->predictions ? embedder->logits : NULL,
        .prompt_len = out->prompt_len,
    };
    VKF_RETURN_IF_ERROR(vkf__session_encode(embedder->session, &args));
    for (uint32_t row = 0; row < rows; row++) {
        uint32_t text = order[row].index;
        if (out->predictions)
            VKF_RETURN_IF_ERROR(keep_prediction(embedder, row, len, text, order[row].length, &out->predictions[text]));
        if (out->embeddings)
            VKF_RETURN_IF_ERROR(keep_embedding(embedder, row, text, out->embeddings + (size_t)text * embedder->dim));
    }
    return VKF_OK;
}

static vkf_status run_batches(vkf_embedder *embedder, const vkf_embed_args *args, const vkf__ranked *order,
                              embedded *out)
{
    for (uint32_t first = 0; first < args->count; first += embedder->max_batch) {
        uint32_t left = args->count - first;
        uint32_t rows = left < embedder->max_batch ? left : embedder->max_batch;
        if (args->progress && !args->progress(args->progress_user, first, args->count, "texts"))
            return VKF_ERROR_CANCELLED;
        VKF_RETURN_IF_ERROR(run_batch(embedder, order + first, rows, out));
    }
    return VKF_OK;
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
    size_t dim = embedder->dim;
    const char *prompt = prompt_of(embedder, args);
    vkf__ranked *order = NULL;
    embedded out = {0};
    VKF_ALLOC(host, out.encodings, args->count);
    if (args->out_embeddings)
        VKF_ALLOC(host, out.embeddings, args->count * dim);
    if (args->out_predictions)
        VKF_ALLOC(host, out.predictions, args->count);
    VKF_TRY(tokenize(embedder, args, prompt, out.encodings));
    VKF_TRY(count_prompt(embedder, prompt, &out.prompt_len));
    VKF_TRY(vkf__order_by_length(host, out.encodings, args->count, args->count, &order));
    VKF_TRY(run_batches(embedder, args, order, &out));
    give(args, dim, &out);
fail:
    embedded_free(host, &out, args->count);
    vkf__free(host, order);
    return status;
}
