// vkformer run --attention: from the session's weights to the picture.
#include <stdlib.h>

#include "attention_picture.h"
#include "base/size.h"
#include "run_state.h"

// Row 0's weights of every decoder layer, (num_layers, num_heads, query_count, source_len).
static float *read_attention(const run_state *state, const run_batch *batch, uint32_t query_count)
{
    size_t layer_count = 0, count = 0;
    const vkf_model_config *config = &state->config;
    float *weights = NULL;
    if (vkf__mul_size(query_count, batch->source_len, &layer_count) &&
        vkf__mul_size(layer_count, config->num_heads, &layer_count) &&
        vkf__mul_size(layer_count, config->num_decoder_layers, &count))
        weights = calloc(count, sizeof *weights);
    vkf_status status = weights ? VKF_OK : VKF_ERROR_OUT_OF_HOST_MEMORY;
    for (uint32_t layer = 0; status == VKF_OK && layer < config->num_decoder_layers; layer++)
        status = vkf_session_attention(state->session, VKF_ATTENTION_CROSS, layer, 0, query_count,
                                       weights + layer * layer_count);
    if (status == VKF_OK)
        return weights;
    vkf_print_error("the attention weights cannot be read: %s", vkf_status_text(status));
    free(weights);
    return NULL;
}

bool vkf_run_draw_attention(const run_state *state, const run_batch *batch)
{
    const vkf_text_line *line = &state->lines[0];
    // The query at position t is token t and writes token t + 1, so rows are named by what they wrote.
    uint32_t query_count = state->lengths[0] > 0 ? state->lengths[0] - 1 : 0;
    float *weights = read_attention(state, batch, query_count);
    const char **keys = calloc(line->id_count, sizeof *keys);
    const char **queries = calloc((size_t)query_count + 1, sizeof *queries);
    char *output = vkf_text_decode(state->vocabulary, state->target_ids, state->lengths[0]);
    bool drawn = false;
    if (weights && keys && queries && output) {
        for (uint32_t i = 0; i < line->id_count; i++) {
            const char *token = vkf_vocabulary_source_token(state->vocabulary, line->ids[i]);
            keys[i] = token ? token : "?";
        }
        for (uint32_t i = 0; i < query_count; i++) {
            const char *token = vkf_vocabulary_target_token(state->vocabulary, state->target_ids[i + 1]);
            queries[i] = token ? token : "?";
        }
        vkf_attention_picture picture = {
            .model = state->options->model_directory,
            .source_text = line->text,
            .output_text = output,
            .key_tokens = keys,
            .query_tokens = queries,
            .key_count = line->id_count,
            .key_stride = batch->source_len,
            .query_count = query_count,
            .num_layers = state->config.num_decoder_layers,
            .num_heads = state->config.num_heads,
            .weights = weights,
        };
        drawn = vkf_attention_picture_write(&picture, state->options->attention_path);
    } else if (weights && output) {
        vkf_print_error("memory is exhausted");
    }
    free(output);
    free(queries);
    free(keys);
    free(weights);
    return drawn;
}
