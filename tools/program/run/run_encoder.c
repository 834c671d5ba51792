// vkformer run --attention on encoders, with and without a head: makes the tokens of the first text here.
#include <string.h>

#include "run/run_encoder.h"

bool vkf_run_draw_encoder(const run_options *options, vkf_embedder *embedder, const vkf_text_line *line,
                          const vkf_text_line *pair, const vkf_encode_options *cut)
{
    const vkf_tokenizer *tokenizer = vkf_embedder_get_tokenizer(embedder);
    vkf_encoding tokens = {0};
    vkf_model_config config;
    bool drawn = false;
    vkf_embedder_get_config(embedder, &config);
    const vkf_status status =
        vkf_tokenizer_encode(tokenizer, &(vkf_text){line->text, line->size_bytes},
                             pair->text ? &(vkf_text){pair->text, pair->size_bytes} : NULL, cut, &tokens);
    if (status != VKF_OK) {
        vkf_print_error("the first text's tokens cannot be made: %s", vkf_status_text(status));
    } else if (tokens.count == 0) {
        vkf_print_error("--attention: the first text has no tokens, so there is nothing to draw");
    } else {
        const run_picture picture = {
            .options = options,
            .model = vkf_embedder_get_model(embedder),
            .tokenizer = tokenizer,
            .text = line->text,
            .source_ids = tokens.ids,
            .source_types = config.token_types > 1 ? tokens.type_ids : NULL,
            .source_count = tokens.count,
        };
        drawn = vkf_run_draw_attention(&picture);
    }
    vkf_encoding_free(&tokens);
    return drawn;
}

static bool draw_first(const run_options *options, vkf_embedder *embedder, const vkf_text_line *pair)
{
    vkf_text_source source = vkf_run_source(options);
    vkf_text_line line = {0};
    vkf_model_config config;
    vkf_embedder_get_config(embedder, &config);
    const vkf_encode_options cut = {.truncation = VKF_TRUNCATION_LONGEST_FIRST, .max_length = config.truncate_len};
    vkf_line_result result = vkf_text_source_next(&source, &line);
    if (result == VKF_LINE_END)
        vkf_print_error("--attention: there was no text, so there is nothing to draw");
    bool drawn = result == VKF_LINE_TAKEN && vkf_text_line_make_valid(&line) &&
                 vkf_run_draw_encoder(options, embedder, &line, pair, &cut);
    vkf_text_line_clear(&line);
    return drawn;
}

bool vkf_run_encoder(const run_options *options)
{
    vkf_context *context = NULL;
    vkf_embedder *embedder = NULL;
    const vkf_embedder_desc desc = {
        .directory = options->model_directory,
        .precision = options->precision,
        .quantization = options->quantization,
        .adapter_directory = options->adapter,
        .max_batch = 1,
    };
    if (vkf_open_context_aloud(&options->common, &context) != VKF_OK)
        return false;
    vkf_status status = vkf_embedder_load(context, &desc, &embedder);
    if (status != VKF_OK)
        vkf_print_error("the model '%s' cannot be loaded: %s", options->model_directory, vkf_status_text(status));
    const vkf_text_line pair = {.text = (char *)options->pair, .size_bytes = options->pair ? strlen(options->pair) : 0};
    bool drawn = status == VKF_OK && draw_first(options, embedder, &pair);
    vkf_embedder_destroy(&embedder);
    vkf_context_destroy(&context);
    return drawn;
}
