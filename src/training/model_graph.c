// Records a model from its tokens to its loss.
#include "training/model_graph.h"

#include "model/family/model_kind.h"
#include "model/family/model_layer.h"
#include "op/argmax.h"

// The random numbers of the tokens of a side lie behind those of all layers.
static uint32_t stream_of(const vkf_model_config *config, vkf__graph_side side, uint32_t layer)
{
    const uint32_t first = side == VKF_SIDE_TARGET ? config->num_encoder_layers : 0;
    return VKF_LAYER_STREAMS * (VKF_SIDE_COUNT + first + layer);
}

uint32_t vkf__graph_streams(const vkf_model_config *config)
{
    return VKF_LAYER_STREAMS * (VKF_SIDE_COUNT + config->num_encoder_layers + config->num_decoder_layers);
}

vkf_status vkf__record_parameter(vkf__graph_recording *s, const vkf_tensor *tensor, const vkf_tensor *gradient,
                                 vkf__value *out_value)
{
    const vkf__span span = vkf__span_of(tensor), to = gradient ? vkf__span_of(gradient) : (vkf__span){0};
    *out_value = 0;
    if (!vkf__present(&span))
        return VKF_OK;
    for (size_t i = 0; i < s->table_count; i++)
        if (s->tables[i].buffer == tensor->buffer && s->tables[i].offset_bytes == tensor->offset_bytes) {
            *out_value = s->tables[i].value;
            return VKF_OK;
        }
    const uint32_t rows = tensor->rank > 1 ? tensor->shape[0] : 1;
    VKF_RETURN_IF_ERROR(vkf__tape_leaf(s->tape, &span, &to, rows, tensor->shape[tensor->rank - 1], out_value));
    // Without buffers, as in plans of models that are not loaded, tensors are told apart by nothing.
    if (tensor->rank > 1 && tensor->buffer && s->table_count < sizeof s->tables / sizeof s->tables[0]) {
        s->tables[s->table_count].buffer = tensor->buffer;
        s->tables[s->table_count].offset_bytes = tensor->offset_bytes;
        s->tables[s->table_count++].value = *out_value;
    }
    return VKF_OK;
}

vkf_status vkf__record_dense(vkf__graph_recording *s, const char *label, const vkf__linear_weights *weights,
                             const vkf__linear_weights *gradients, vkf_activation activation, vkf__value *inout_x)
{
    vkf__linear_values linear;
    VKF_RETURN_IF_ERROR(
        vkf__record_parameter(s, &weights->weight, gradients ? &gradients->weight : NULL, &linear.weight));
    VKF_RETURN_IF_ERROR(vkf__record_parameter(s, &weights->bias, gradients ? &gradients->bias : NULL, &linear.bias));
    VKF_RETURN_IF_ERROR(vkf__record_linear(s->tape, label, *inout_x, &linear, inout_x));
    if (activation == VKF_ACTIVATION_NONE)
        return VKF_OK;
    return vkf__record_activation(s->tape, label, *inout_x, activation, inout_x);
}

vkf_status vkf__record_model_norm(vkf__graph_recording *s, const char *label, const vkf_norm_weights *weights,
                                  const vkf_norm_weights *gradients, vkf__value *inout_x)
{
    const vkf_model_config *config = &s->graph->model->config;
    vkf__norm_values norm = {.eps = config->layer_norm_eps, .rms = config->norm == VKF_NORM_RMS};
    VKF_RETURN_IF_ERROR(
        vkf__record_parameter(s, &weights->weight, gradients ? &gradients->weight : NULL, &norm.weight));
    VKF_RETURN_IF_ERROR(vkf__record_parameter(s, &weights->bias, gradients ? &gradients->bias : NULL, &norm.bias));
    return vkf__record_norm(s->tape, label, *inout_x, &norm, inout_x);
}

static vkf_attention_mask mask_of(const vkf__graph_recording *s, vkf__graph_side side)
{
    const vkf_model_config *config = &s->graph->model->config;
    if (side == VKF_SIDE_TARGET)
        return (vkf_attention_mask){.causal = VKF_CAUSAL_TOP_LEFT};
    return (vkf_attention_mask){.key_kind = VKF_MASK_LENGTHS,
                                .causal = config->causal ? VKF_CAUSAL_TOP_LEFT : VKF_CAUSAL_NONE};
}

static vkf__transformer_block block_of(const vkf__graph_recording *s, const vkf__weights *weights, vkf__graph_side side,
                                       uint32_t index)
{
    const vkf__model_layer layer = {
        .target = side == VKF_SIDE_TARGET,
        .index = index,
        .self_mask = mask_of(s, side),
        .cross_mask = {.key_kind = VKF_MASK_LENGTHS},
        .rotary = s->graph->rotary,
        .window_rotary = s->graph->window_rotary,
    };
    return vkf__model_layer_block(&s->graph->model->config, s->graph->model->dtype, weights, &layer);
}

static vkf_status record_layer(vkf__graph_recording *s, vkf__graph_side side, uint32_t index, vkf__value memory,
                               const vkf__score_bias *bias, vkf__value *inout_x)
{
    const vkf__model_graph *graph = s->graph;
    const uint32_t len = s->sizes->len[side];
    const vkf__attention_sizes self = vkf__uncached(s->sizes->batch, len, len);
    const vkf__attention_sizes cross = vkf__uncached(s->sizes->batch, len, s->sizes->len[VKF_SIDE_SOURCE]);
    const vkf__transformer_block block = block_of(s, &graph->model->weights, side, index);
    vkf__transformer_gradients gradients = {0};
    if (graph->gradients) {
        const vkf__transformer_block twin = block_of(s, graph->gradients, side, index);
        gradients = vkf__transformer_gradients_of(&twin);
    }
    vkf__transformer_operands operands = {.x = *inout_x, .memory = memory, .dropout = graph->dropout, .bias = *bias};
    operands.dropout.stream = stream_of(&graph->model->config, side, index);
    if (side == VKF_SIDE_SOURCE)
        operands.key_mask = graph->inputs.source_lengths;
    else
        operands.memory_key_mask = graph->inputs.source_lengths;
    return vkf__record_transformer_layer(s->tape, &block, &gradients, &operands, &self, &cross, inout_x);
}

// ---- layers that are computed again

typedef struct layer_note {
    const vkf__model_graph *graph;
    const vkf__graph_sizes *sizes;
    vkf__graph_side side;
    uint32_t index;
    vkf__score_bias bias;
} layer_note;

// Records a layer on the other tape. What it reads, the stream, memory and bias, are leaves there, and on the way back
// their gradients are added to where those of `tape` are.
static vkf_status record_again(vkf__tape *tape, const layer_note *note, const vkf__value operands[3], bool back,
                               vkf__value *out_value)
{
    vkf__tape *again = note->graph->again;
    vkf__graph_recording s = {again, note->graph, note->sizes, .table_count = 0};
    vkf__value read[3] = {0};
    vkf__score_bias bias = note->bias;
    vkf__tape_begin(again, tape->work);
    again->lora = tape->lora;
    for (size_t i = 0; i < 3; i++) {
        if (!operands[i])
            continue;
        const vkf__tape_value at = *vkf__tape_at(tape, operands[i]);
        vkf__span gradient = {0};
        bool adds = false;
        if (back && at.wanted)
            VKF_RETURN_IF_ERROR(vkf__tape_gradient(tape, operands[i], &gradient, &adds));
        VKF_RETURN_IF_ERROR(vkf__tape_leaf(again, &at.span, &gradient, at.rows, at.cols, &read[i]));
        vkf__tape_at(again, read[i])->begun = adds;
    }
    bias.value = read[2];
    *out_value = read[0];
    return record_layer(&s, note->side, note->index, read[1], &bias, out_value);
}

static vkf_status again_back(vkf__tape *tape, const vkf__tape_node *node)
{
    const layer_note *note = vkf__tape_note(tape, node);
    vkf__value result;
    VKF_RETURN_IF_ERROR(record_again(tape, note, node->operands, true, &result));
    vkf__tape_seed(note->graph->again, result, &vkf__tape_at(tape, node->out)->gradient);
    return vkf__tape_back(note->graph->again);
}

static vkf_status record_without_activations(vkf__graph_recording *s, vkf__graph_side side, uint32_t index,
                                             vkf__value memory, const vkf__score_bias *bias, vkf__value *inout_x)
{
    const layer_note note = {s->graph, s->sizes, side, index, *bias};
    vkf__tape_node node = {again_back, 0, {*inout_x, memory, bias->value}, 0, NULL};
    vkf__value result;
    VKF_RETURN_IF_ERROR(record_again(s->tape, &note, node.operands, false, &result));
    const vkf__tape_value made = *vkf__tape_at(s->graph->again, result);
    VKF_RETURN_IF_ERROR(vkf__tape_leaf(s->tape, &made.span, &(vkf__span){0}, made.rows, made.cols, inout_x));
    node.out = *inout_x;
    VKF_RETURN_IF_ERROR(vkf__tape_record(s->tape, &node, &note, sizeof note));
    // The layer's own parameters ask for gradients, too.
    vkf__tape_at(s->tape, *inout_x)->wanted |= made.wanted;
    return VKF_OK;
}

// All layers of a side.
static vkf_status record_layers(vkf__graph_recording *s, vkf__graph_side side, uint32_t layers, vkf__value memory,
                                vkf__value *inout_x)
{
    const uint32_t first = side == VKF_SIDE_TARGET ? s->graph->model->config.num_encoder_layers : 0;
    vkf__score_bias bias;
    VKF_RETURN_IF_ERROR(vkf__record_side_bias(s, side, &bias));
    for (uint32_t i = 0; i < layers; i++) {
        s->tape->work->prefix = s->graph->layer_names[first + i];
        VKF_RETURN_IF_ERROR(s->graph->again ? record_without_activations(s, side, i, memory, &bias, inout_x)
                                            : record_layer(s, side, i, memory, &bias, inout_x));
    }
    s->tape->work->prefix = NULL;
    return VKF_OK;
}

// Words, layers and the last norm.
static vkf_status record_stack(vkf__graph_recording *s, vkf__graph_side side, vkf__value memory, vkf__value *out_x)
{
    const vkf_model *model = s->graph->model;
    const bool source = side == VKF_SIDE_SOURCE;
    const uint32_t layers = source ? model->config.num_encoder_layers : model->config.num_decoder_layers;
    const vkf__dropout_state dropout = {s->graph->dropout.residual, s->graph->dropout.seed,
                                        VKF_LAYER_STREAMS * (uint32_t)side, s->graph->dropout.step};
    VKF_RETURN_IF_ERROR(vkf__record_side_embedding(s, side, out_x));
    VKF_RETURN_IF_ERROR(vkf__record_dropout(s->tape, "embed_dropout", *out_x, &dropout, out_x));
    VKF_RETURN_IF_ERROR(record_layers(s, side, layers, memory, out_x));
    if (!model->config.final_norm || layers == 0)
        return VKF_OK;
    return vkf__record_model_norm(
        s, "norm", source ? &model->weights.source.final_norm : &model->weights.target.final_norm,
        source ? VKF_GRADIENT_OF(s, source.final_norm) : VKF_GRADIENT_OF(s, target.final_norm), out_x);
}

static vkf_status emit_choices(vkf__graph_recording *s, vkf__value logits)
{
    const vkf__tape_value at = *vkf__tape_at(s->tape, logits);
    const vkf__argmax_args choices = {"choices", at.span, s->graph->choices, at.rows, at.cols, .out_stride = 1};
    return vkf__present(&s->graph->choices) ? vkf__emit_argmax(s->tape->work, &choices) : VKF_OK;
}

vkf_status vkf__record_model(vkf__tape *tape, const vkf__model_graph *graph, const vkf__graph_sizes *sizes,
                             vkf__value *out_losses)
{
    const vkf__kind_facts *facts = vkf__facts_of(&graph->model->config);
    vkf__graph_recording s = {tape, graph, sizes, .table_count = 0};
    vkf__value x = 0, logits;
    vkf__loss_state loss = graph->loss;
    loss.labels = graph->inputs.labels;
    if (facts->encodes)
        VKF_RETURN_IF_ERROR(record_stack(&s, VKF_SIDE_SOURCE, 0, &x));
    if (facts->decodes)
        VKF_RETURN_IF_ERROR(record_stack(&s, VKF_SIDE_TARGET, x, &x));
    VKF_RETURN_IF_ERROR(vkf__record_logits(&s, x, &logits));
    VKF_RETURN_IF_ERROR(emit_choices(&s, logits));
    return vkf__record_cross_entropy(tape, "loss", logits, &loss, out_losses);
}
