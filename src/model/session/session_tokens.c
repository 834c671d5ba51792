// The first stage of a side: looks tokens up in their embedding, adds positions and token types, and applies the norm.
#include <math.h>

#include "model/session/session_emitters.h"
#include "model/session/session_layout.h"
#include "op/copy.h"
#include "op/embed.h"
#include "op/layer_norm.h"

// The table of positions that is added to the token embedding of one side; absent where nothing is added.
static vkf__span positions_of(const vkf_session *session, bool source)
{
    const vkf_model_config *config = &session->model->config;
    const vkf__weights *weights = &session->model->weights;
    const vkf__span learned = vkf__span_of(source ? &weights->source.positions : &weights->target.positions);
    uint64_t len = source ? config->max_source_len : config->max_target_len, d = config->d_model;
    if (config->positions <= VKF_POSITIONS_SINUSOIDAL_HALVES)
        return session->spans.positions;
    if (vkf__has_position_ids(config))
        return learned;
    return vkf__present(&learned) ? vkf__span_part(&learned, config->position_offset * d, len * d) : learned;
}

static vkf__embed_args source_tokens(const vkf_session *session, const vkf__session_sizes *sizes)
{
    return (vkf__embed_args){
        .ids = session->spans.source_ids,
        .table = vkf__span_of(&session->model->weights.source_embedding),
        .out = session->spans.memory,
        .len = sizes->source_len,
        .vocab = session->model->config.source_vocab,
        .ids_stride = sizes->source_len,
        .position_ids =
            vkf__has_position_ids(&session->model->config) ? session->desc.max_batch * session->desc.max_source_len : 0,
    };
}

static vkf__embed_args target_tokens(const vkf_session *session, const vkf__session_sizes *sizes)
{
    return (vkf__embed_args){
        .ids = session->spans.target_ids,
        .table = vkf__span_of(&session->model->weights.target_embedding),
        .out = session->spans.hidden,
        .len = sizes->target_len,
        .vocab = session->model->config.target_vocab,
        .ids_stride = vkf__ids_row(session),
        .ids_first = vkf__ids_lead(session) + sizes->target_past,
        .first_position = sizes->target_past,
        .padding_leads = vkf__ids_lead(session) > 0,
    };
}

// Looks up the token types, which the norm adds to the tokens.
static vkf_status emit_types(vkf_session *session, vkf__stage *stage, const vkf__embed_args *tokens,
                             vkf__span *out_types)
{
    vkf__embed_args types = *tokens;
    types.label = "embed_types";
    types.ids = session->spans.source_types;
    types.table = vkf__span_of(&session->model->weights.token_types);
    types.positions = (vkf__span){0};
    types.vocab = session->model->config.token_types;
    VKF_RETURN_IF_ERROR(vkf__work_temp(stage->work, tokens->out.dtype,
                                       (uint64_t)tokens->batch * tokens->len * tokens->dim, &types.out));
    VKF_RETURN_IF_ERROR(vkf__emit_embed(stage->work, &types));
    *out_types = types.out;
    return VKF_OK;
}

// norm(tokens + types), in place; without types norm(tokens).
static vkf_status emit_norm(vkf_session *session, vkf__stage *stage, const vkf__embed_args *tokens,
                            const vkf_norm_weights *weights, const vkf__span *types)
{
    const vkf__layer_norm_args norm = {
        .label = "embed_norm",
        .x = tokens->out,
        .out = tokens->out,
        .weight = vkf__span_of(&weights->weight),
        .bias = vkf__span_of(&weights->bias),
        .residual = *types,
        .residual_order = vkf__present(types) ? VKF_RESIDUAL_BEFORE : VKF_RESIDUAL_NONE,
        .rows = tokens->batch * tokens->len,
        .dim = tokens->dim,
        .eps = session->model->config.layer_norm_eps,
    };
    return vkf__emit_layer_norm(stage->work, &norm);
}

static void complete(const vkf_session *session, const vkf__session_sizes *sizes, bool source, vkf__embed_args *tokens)
{
    const vkf_model_config *config = &session->model->config;
    bool scaled = vkf__facts_of(config)->scaled_embedding && !config->unscaled_embedding;
    tokens->label = "embed";
    tokens->positions = positions_of(session, source);
    tokens->batch = vkf__session_rows(sizes);
    tokens->dim = config->d_model;
    tokens->scale = scaled ? sqrtf((float)config->d_model) : 1.0f;
}

vkf_status vkf__emit_source_tokens(vkf_session *session, vkf__stage *stage, const vkf__session_sizes *sizes)
{
    const vkf_norm_weights *norm = &session->model->weights.source.embedding_norm;
    vkf__embed_args tokens = source_tokens(session, sizes);
    vkf__span types = {0};
    complete(session, sizes, true, &tokens);
    VKF_RETURN_IF_ERROR(vkf__emit_embed(stage->work, &tokens));
    if (norm->weight.rank == 0)
        return VKF_OK;
    if (vkf__present(&session->spans.source_types))
        VKF_RETURN_IF_ERROR(emit_types(session, stage, &tokens, &types));
    return emit_norm(session, stage, &tokens, norm, &types);
}

vkf_status vkf__emit_target_tokens(vkf_session *session, vkf__stage *stage, const vkf__session_sizes *sizes)
{
    const vkf_norm_weights *norm = &session->model->weights.target.embedding_norm;
    vkf__embed_args tokens = target_tokens(session, sizes);
    complete(session, sizes, false, &tokens);
    VKF_RETURN_IF_ERROR(vkf__emit_embed(stage->work, &tokens));
    if (norm->weight.rank > 0)
        VKF_RETURN_IF_ERROR(emit_norm(session, stage, &tokens, norm, &(vkf__span){0}));
    return VKF_OK;
}

// Copies the bias rows of a step's position, once for all layers.
vkf_status vkf__emit_step_bias(vkf_session *session, vkf__stage *stage, const vkf__session_sizes *sizes)
{
    uint32_t len = session->desc.max_target_len;
    const vkf__copy_args copy = {
        .label = "step_bias",
        .x = session->spans.target_bias,
        .out = session->spans.step_bias,
        .outer = vkf__stack_of(&session->model->config, true).heads,
        .rows = 1,
        .cols = len,
        .x_first = sizes->target_past * len,
        .x_outer = len * len,
        .out_outer = len,
        .alpha = 1.0f,
    };
    return vkf__emit_copy(stage->work, &copy);
}

vkf_status vkf__emit_step_tokens(vkf_session *session, vkf__stage *stage, const vkf__session_sizes *sizes)
{
    VKF_RETURN_IF_ERROR(vkf__emit_target_tokens(session, stage, sizes));
    if (vkf__present(&session->spans.target_bias))
        VKF_RETURN_IF_ERROR(vkf__emit_step_bias(session, stage, sizes));
    return VKF_OK;
}
