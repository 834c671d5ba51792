// Emits the layers of a model: those of its encoder, and those of its decoder for whole targets, for prompts and for
// steps.
#include "model/family/model_layer.h"
#include "model/session/session_attention.h"
#include "model/session/session_emitters.h"
#include "model/session/session_layout.h"
#include "op/copy.h"
#include "op/reorder.h"

static vkf__transformer_block block_of(const vkf_session *session, bool target, uint32_t layer,
                                       const vkf_attention_mask *self_mask)
{
    const vkf__model_layer at = {
        .target = target,
        .index = layer,
        .self_mask = *self_mask,
        .cross_mask = session->desc.memory_mask,
        .fully_masked = session->desc.fully_masked,
        .rotary = session->spans.rotary,
        .window_rotary = session->spans.window_rotary,
    };
    return vkf__model_layer_block(&session->model->config, session->model->dtype, &session->model->weights, &at);
}

vkf_status vkf__emit_source_layer(vkf_session *session, vkf__stage *stage, const vkf__session_sizes *sizes)
{
    const vkf__session_spans *s = &session->spans;
    const vkf__transformer_block block = block_of(session, false, stage->layer, &session->desc.source_mask);
    const vkf__transformer_io io = {
        .x = s->memory,
        .self = {.mask = s->source_mask,
                 .key_mask = s->source_key_mask,
                 .bias = s->source_bias,
                 .bias_head = session->desc.max_source_len * session->desc.max_source_len,
                 .bias_row = session->desc.max_source_len,
                 .weights_per_head = vkf__kept_attention_span(session, VKF_KEPT_ENCODER, stage->layer)},
    };
    const vkf__attention_sizes self = vkf__uncached(sizes->batch, sizes->source_len, sizes->source_len);
    return vkf__emit_encoder_layer(stage->work, &block, &io, &self);
}

// ---- the decoder

static vkf__transformer_io target_io(const vkf_session *session, uint32_t layer)
{
    const vkf__session_spans *s = &session->spans;
    uint32_t len = session->desc.max_target_len;
    return (vkf__transformer_io){
        .x = s->hidden,
        .self = {.mask = s->target_mask,
                 .key_mask = s->target_key_mask,
                 .bias = s->target_bias,
                 .bias_head = len * len,
                 .bias_row = len,
                 .weights_per_head = vkf__kept_attention_span(session, VKF_KEPT_DECODER, layer),
                 .cache_k = s->self_k[layer],
                 .cache_v = s->self_v[layer],
                 .cache_len = vkf__cache_len(session)},
        .cross = {.key = s->memory,
                  .mask = s->memory_mask,
                  .key_mask = s->memory_key_mask,
                  .weights_per_head = vkf__kept_attention_span(session, VKF_KEPT_CROSS, layer),
                  .cache_k = s->cross_k[layer],
                  .cache_v = s->cross_v[layer],
                  .cache_len = session->desc.max_source_len},
    };
}

// The same for a step, which reads only the bias row of its own position.
static vkf__transformer_io step_io(const vkf_session *session, uint32_t layer)
{
    vkf__transformer_io io = target_io(session, layer);
    io.self.bias = session->spans.step_bias;
    io.self.bias_head = session->desc.max_target_len;
    io.self.bias_row = 0;
    return io;
}

// Self attention whose queries are the last `queries` of the new positions.
static vkf__attention_sizes self_sizes(const vkf__session_sizes *sizes, uint32_t queries)
{
    return (vkf__attention_sizes){
        .batch = vkf__session_rows(sizes),
        .query_len = queries,
        .key_len = sizes->target_past + sizes->target_len,
        .key_new = sizes->target_len,
        .key_past = sizes->target_past,
        .query_past = sizes->target_past + sizes->target_len - queries,
    };
}

// The beams of a sequence share its memory, so they become the queries of one attention.
static vkf__attention_sizes cross_sizes(const vkf__session_sizes *sizes)
{
    return (vkf__attention_sizes){
        .batch = sizes->batch,
        .query_len = sizes->beams > 1 ? sizes->beams : sizes->target_len,
        .key_len = sizes->source_len,
        .key_new = sizes->project_memory ? sizes->source_len : 0,
    };
}

// The number of 32-bit words that come before a position in a cache row; `up` rounds a half word up.
static uint64_t words_before(const vkf_session *session, vkf_dtype dtype, uint32_t position, bool up)
{
    const vkf__stack stack = vkf__stack_of(&session->model->config, true);
    uint64_t bytes = (uint64_t)position * stack.kv_heads * stack.head_dim * vkf_dtype_size(dtype);
    return (bytes + (up ? 3 : 0)) / 4;
}

// Beams take over the cache contents of the beams that they go on from. Rows move in words, so half a word too much may
// move at either end. This does no harm: before the first position the rows are equal, and after the last one nothing
// is written yet.
static vkf_status emit_moves(vkf_session *session, vkf__stage *stage, const vkf__session_sizes *sizes)
{
    const vkf__session_spans *s = &session->spans;
    const vkf__span caches[] = {s->self_k[stage->layer], s->self_v[stage->layer]};
    static const char *const labels[] = {"k_moves", "v_moves"};
    for (size_t i = 0; session->desc.max_beams > 1 && i < 2; i++) {
        vkf_dtype dtype = caches[i].dtype;
        uint64_t first = words_before(session, dtype, sizes->moved_from, false);
        uint64_t end = sizes->move_count > 0 ? words_before(session, dtype, sizes->target_past, true) : first;
        const vkf__reorder_args reorder = {
            .label = labels[i],
            .x = caches[i],
            .moves = s->moves,
            .row_words = (uint32_t)words_before(session, dtype, vkf__cache_len(session), false),
            .first = (uint32_t)first,
            .count = (uint32_t)(end - first),
            .move_count = sizes->move_count,
        };
        VKF_RETURN_IF_ERROR(vkf__emit_reorder(stage->work, &reorder));
    }
    return VKF_OK;
}

vkf_status vkf__emit_target_layer(vkf_session *session, vkf__stage *stage, const vkf__session_sizes *sizes)
{
    const vkf__transformer_block block = block_of(session, true, stage->layer, &session->desc.target_mask);
    const vkf__transformer_io io = target_io(session, stage->layer);
    const vkf__attention_sizes self = self_sizes(sizes, sizes->target_len), cross = cross_sizes(sizes);
    return vkf__emit_decoder_layer(stage->work, &block, &io, &self, &cross);
}

// A step sees everything before it. The target's own masks are not used: they are for whole sequences.
vkf_status vkf__emit_target_step_layer(vkf_session *session, vkf__stage *stage, const vkf__session_sizes *sizes)
{
    const vkf_attention_mask mask = {.causal = VKF_CAUSAL_TOP_LEFT};
    const vkf__transformer_block block = block_of(session, true, stage->layer, &mask);
    const vkf__transformer_io io = step_io(session, stage->layer);
    const vkf__attention_sizes self = self_sizes(sizes, sizes->target_len), cross = cross_sizes(sizes);
    VKF_RETURN_IF_ERROR(emit_moves(session, stage, sizes));
    return vkf__emit_decoder_layer(stage->work, &block, &io, &self, &cross);
}

// ---- a decoder without memory: a stack of encoder layers with caches

// Copies the last logit_rows positions of each sequence out of the prompt's hidden states.
static vkf_status emit_logit_hidden(vkf_session *session, vkf__stage *stage, const vkf__session_sizes *sizes)
{
    uint32_t d = session->model->config.d_model;
    const vkf__copy_args copy = {
        .label = "logit_hidden",
        .x = session->spans.hidden,
        .out = session->spans.logit_hidden,
        .outer = sizes->batch,
        .rows = sizes->logit_rows,
        .cols = d,
        .x_first = (sizes->target_len - sizes->logit_rows) * d,
        .x_outer = sizes->target_len * d,
        .x_row = d,
        .out_outer = sizes->logit_rows * d,
        .out_row = d,
        .alpha = 1.0f,
    };
    return vkf__emit_copy(stage->work, &copy);
}

// The last layer computes only the positions that get logits; the others only leave their keys and values. Where
// attention weights are kept it computes all positions, because the weights of all are asked for.
vkf_status vkf__emit_prompt_layer(vkf_session *session, vkf__stage *stage, const vkf__session_sizes *sizes)
{
    const vkf__session_spans *s = &session->spans;
    const vkf__transformer_block block = block_of(session, true, stage->layer, &session->desc.target_mask);
    vkf__transformer_io io = target_io(session, stage->layer);
    bool last =
        stage->layer + 1 == session->model->config.num_decoder_layers && vkf__part_chooses(&session->model->part);
    bool narrow = last && !(session->desc.attention_weights & VKF_ATTENTION_DECODER);
    const vkf__attention_sizes self = self_sizes(sizes, narrow ? sizes->logit_rows : sizes->target_len);
    io.self.key_mask_row = session->desc.max_target_len;
    if (narrow) {
        io.x = s->logit_hidden;
        io.context = s->hidden;
        VKF_RETURN_IF_ERROR(emit_logit_hidden(session, stage, sizes));
    }
    VKF_RETURN_IF_ERROR(vkf__emit_encoder_layer(stage->work, &block, &io, &self));
    if (last && !narrow)
        VKF_RETURN_IF_ERROR(emit_logit_hidden(session, stage, sizes));
    return VKF_OK;
}

vkf_status vkf__emit_prompt_step_layer(vkf_session *session, vkf__stage *stage, const vkf__session_sizes *sizes)
{
    const vkf__transformer_block block = block_of(session, true, stage->layer, &session->desc.target_mask);
    vkf__transformer_io io = step_io(session, stage->layer);
    const vkf__attention_sizes self = self_sizes(sizes, sizes->target_len);
    io.self.key_mask_row = session->desc.max_target_len;
    VKF_RETURN_IF_ERROR(emit_moves(session, stage, sizes));
    return vkf__emit_encoder_layer(stage->work, &block, &io, &self);
}
