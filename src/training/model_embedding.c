// Records what the first layer reads: tokens, positions and token types, and the norm of their sum; and what all layers
// read of positions.
#include <math.h>

#include "model/family/model_kind.h"
#include "training/model_graph.h"

static vkf_status record_types(vkf__graph_recording *s, const vkf__token_embedding *tokens, vkf__value *inout_x)
{
    const vkf__model_graph *graph = s->graph;
    const vkf_tensor *table = &graph->model->weights.token_types;
    vkf__token_embedding types = {
        .label = "embed_types",
        .ids = graph->inputs.types.ids,
        .lists = graph->inputs.types.lists,
        .unique = graph->inputs.types.unique,
        .batch = tokens->batch,
        .len = tokens->len,
        .vocab = graph->model->config.token_types,
        .scale = 1,
    };
    vkf__value found;
    if (table->rank == 0)
        return VKF_OK;
    VKF_RETURN_IF_ERROR(vkf__record_parameter(s, table, VKF_GRADIENT_OF(s, token_types), &types.table));
    VKF_RETURN_IF_ERROR(vkf__record_embedding(s->tape, &types, &found));
    return vkf__record_sum(s->tape, "embed_sum", *inout_x, found, inout_x);
}

static vkf_status record_positions(vkf__graph_recording *s, vkf__graph_side side, vkf__token_embedding *tokens)
{
    const vkf__model_graph *graph = s->graph;
    const vkf_model_config *config = &graph->model->config;
    const bool source = side == VKF_SIDE_SOURCE;
    const vkf__weights *weights = &graph->model->weights;
    const vkf_tensor *table = source ? &weights->source.positions : &weights->target.positions;
    if (config->positions != VKF_POSITIONS_LEARNED) {
        tokens->fixed_positions = graph->sinusoids;
        return VKF_OK;
    }
    tokens->position_rows = table->shape[0];
    tokens->position_ids = source ? graph->inputs.position_ids : 0;
    tokens->first_position = tokens->position_ids > 0 ? 0 : config->position_offset;
    tokens->position_lists = graph->inputs.positions[side].lists;
    tokens->unique_positions = graph->inputs.positions[side].unique;
    return vkf__record_parameter(s, table,
                                 source ? VKF_GRADIENT_OF(s, source.positions) : VKF_GRADIENT_OF(s, target.positions),
                                 &tokens->positions);
}

vkf_status vkf__record_side_embedding(vkf__graph_recording *s, vkf__graph_side side, vkf__value *out_x)
{
    const vkf__model_graph *graph = s->graph;
    const vkf_model_config *config = &graph->model->config;
    const vkf__weights *weights = &graph->model->weights;
    const bool source = side == VKF_SIDE_SOURCE;
    const bool scaled = vkf__facts_of(config)->scaled_embedding && !config->unscaled_embedding;
    const vkf_norm_weights *norm = source ? &weights->source.embedding_norm : &weights->target.embedding_norm;
    vkf__token_embedding tokens = {
        .label = "embed",
        .ids = graph->inputs.tokens[side].ids,
        .lists = graph->inputs.tokens[side].lists,
        .unique = graph->inputs.tokens[side].unique,
        .batch = s->sizes->batch,
        .len = s->sizes->len[side],
        .vocab = source ? config->source_vocab : config->target_vocab,
        .scale = scaled ? sqrtf((float)config->d_model) : 1.0f,
    };
    VKF_RETURN_IF_ERROR(vkf__record_parameter(
        s, source ? &weights->source_embedding : &weights->target_embedding,
        source ? VKF_GRADIENT_OF(s, source_embedding) : VKF_GRADIENT_OF(s, target_embedding), &tokens.table));
    VKF_RETURN_IF_ERROR(record_positions(s, side, &tokens));
    VKF_RETURN_IF_ERROR(vkf__record_embedding(s->tape, &tokens, out_x));
    if (source)
        VKF_RETURN_IF_ERROR(record_types(s, &tokens, out_x));
    if (norm->weight.rank == 0)
        return VKF_OK;
    return vkf__record_model_norm(
        s, "embed_norm", norm,
        source ? VKF_GRADIENT_OF(s, source.embedding_norm) : VKF_GRADIENT_OF(s, target.embedding_norm), out_x);
}

vkf_status vkf__record_side_bias(vkf__graph_recording *s, vkf__graph_side side, vkf__score_bias *out_bias)
{
    const vkf__model_graph *graph = s->graph;
    const vkf__weights *weights = &graph->model->weights;
    const bool source = side == VKF_SIDE_SOURCE;
    const vkf__graph_ids *ids = &graph->inputs.distances[side];
    vkf__distance_bias bias = {.ids = ids->ids,
                               .lists = ids->lists,
                               .len = s->sizes->len[side],
                               .vocab = graph->model->config.relative_buckets,
                               .unique = ids->unique};
    *out_bias = (vkf__score_bias){0};
    VKF_RETURN_IF_ERROR(vkf__record_parameter(
        s, source ? &weights->source.relative_bias : &weights->target.relative_bias,
        source ? VKF_GRADIENT_OF(s, source.relative_bias) : VKF_GRADIENT_OF(s, target.relative_bias), &bias.table));
    return bias.table ? vkf__record_distance_bias(s->tape, "distance_bias", &bias, out_bias) : VKF_OK;
}
