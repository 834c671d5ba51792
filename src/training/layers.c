// Records attention blocks, feed-forward blocks, and the layers made of them.
#include "training/layers.h"

#include "layer/projection.h"
#include "training/lora.h"

// A parameter with its gradient; no value where the parameter is absent.
static vkf_status parameter(vkf__tape *tape, const vkf__span *span, const vkf__span *gradient, uint32_t rows,
                            uint32_t cols, vkf__value *out_value)
{
    *out_value = 0;
    return vkf__present(span) ? vkf__tape_leaf(tape, span, gradient, rows, cols, out_value) : VKF_OK;
}

typedef struct linear_spans {
    const char *label;
    const vkf__span *weight, *weight_gradient, *bias, *bias_gradient;
    uint32_t in, out;
} linear_spans;

static vkf_status record_linear(vkf__tape *tape, const linear_spans *spans, vkf__value x, vkf__value *out_value)
{
    vkf__linear_values linear;
    VKF_RETURN_IF_ERROR(parameter(tape, spans->weight, spans->weight_gradient, spans->out, spans->in, &linear.weight));
    VKF_RETURN_IF_ERROR(parameter(tape, spans->bias, spans->bias_gradient, 1, spans->out, &linear.bias));
    VKF_RETURN_IF_ERROR(vkf__record_linear(tape, spans->label, x, &linear, out_value));
    return tape->lora ? vkf__record_lora(tape, spans->weight, x, out_value) : VKF_OK;
}

// A norm of each head, and its rotation by position.
static vkf_status record_heads(vkf__tape *tape, const vkf__attention_block *block, const linear_spans *norm,
                               uint32_t heads, uint32_t batch, uint32_t len, vkf__value *inout_x)
{
    vkf__norm_values values = {.eps = block->norm_eps, .rms = true};
    VKF_RETURN_IF_ERROR(parameter(tape, norm->weight, norm->weight_gradient, 1, block->head_dim, &values.weight));
    if (values.weight) {
        VKF_RETURN_IF_ERROR(vkf__record_view(tape, *inout_x, batch * len * heads, block->head_dim, inout_x));
        VKF_RETURN_IF_ERROR(vkf__record_norm(tape, norm->label, *inout_x, &values, inout_x));
        VKF_RETURN_IF_ERROR(vkf__record_view(tape, *inout_x, batch * len, heads * block->head_dim, inout_x));
    }
    if (!vkf__present(&block->params.rotary))
        return VKF_OK;
    return vkf__record_rotary(tape, "rotary", *inout_x, &block->params.rotary, block->rotary_dim, batch, len, heads,
                              block->head_dim, inout_x);
}

static vkf_status record_extra_keys(vkf__tape *tape, const vkf__attention_block *block, const char *label,
                                    const vkf__span *row, const vkf__span *gradient, uint32_t width,
                                    const vkf__attention_sizes *sizes, vkf__value *inout_keys)
{
    if (vkf__extra_keys(block) == 0)
        return VKF_OK;
    vkf__extra_rows extra = {.batch = sizes->batch, .len = sizes->key_len, .zeros = block->add_zero_attn ? 1 : 0};
    VKF_RETURN_IF_ERROR(parameter(tape, row, gradient, 1, width, &extra.row));
    return vkf__record_extra_rows(tape, label, *inout_keys, &extra, inout_keys);
}

static bool follows(const vkf__span *first, const vkf__span *second)
{
    return vkf__present(first) == vkf__present(second) && (!vkf__present(first) || vkf__span_follows(first, second));
}

// Whether layers over one input are parts of one, as PyTorch's in_proj_weight holds them. What a LoRA adapter adds to
// is each by itself.
static bool joins(const vkf__tape *tape, const linear_spans *first, const linear_spans *second)
{
    return !tape->lora && first->in == second->in && follows(first->weight, second->weight) &&
           follows(first->weight_gradient, second->weight_gradient) && follows(first->bias, second->bias) &&
           follows(first->bias_gradient, second->bias_gradient);
}

static vkf_status record_joined(vkf__tape *tape, const char *label, const linear_spans *first, const linear_spans *last,
                                uint32_t out, vkf__value x, vkf__value *out_value)
{
    const vkf__span weight = vkf__span_joined(first->weight, last->weight),
                    weight_gradient = vkf__span_joined(first->weight_gradient, last->weight_gradient),
                    bias = vkf__span_joined(first->bias, last->bias),
                    bias_gradient = vkf__span_joined(first->bias_gradient, last->bias_gradient);
    const linear_spans whole = {label, &weight, &weight_gradient, &bias, &bias_gradient, first->in, out};
    return record_linear(tape, &whole, x, out_value);
}

// Queries, keys and values side by side, as far as they come from one input and nothing is done to a part of them.
static vkf_status record_rows(vkf__tape *tape, const vkf__attention_block *block, const linear_spans parts[3],
                              const vkf__attention_operands *operands, vkf__attention_values *out)
{
    const linear_spans *q = &parts[0], *k = &parts[1], *v = &parts[2];
    const bool apart = vkf__present(&block->q_norm) || vkf__present(&block->k_norm) ||
                       vkf__present(&block->params.rotary) || vkf__extra_keys(block) > 0;
    const bool keys = !apart && operands->key == operands->value && joins(tape, k, v);
    *out = (vkf__attention_values){0};
    if (keys && operands->query == operands->key && joins(tape, q, k)) {
        VKF_RETURN_IF_ERROR(record_joined(tape, "qkv_proj", q, v, q->out + k->out + v->out, operands->query, &out->q));
        out->k = out->v = out->q;
        out->k_first = q->out;
        out->v_first = q->out + k->out;
        return VKF_OK;
    }
    VKF_RETURN_IF_ERROR(record_linear(tape, q, operands->query, &out->q));
    if (!keys) {
        VKF_RETURN_IF_ERROR(record_linear(tape, k, operands->key, &out->k));
        return record_linear(tape, v, operands->value, &out->v);
    }
    VKF_RETURN_IF_ERROR(record_joined(tape, "kv_proj", k, v, k->out + v->out, operands->key, &out->k));
    out->v = out->k;
    out->v_first = k->out;
    return VKF_OK;
}

static vkf_status record_projections(vkf__tape *tape, const vkf__attention_block *block,
                                     const vkf__attention_gradients *to, const vkf__attention_operands *operands,
                                     const vkf__attention_sizes *sizes, vkf__attention_values *out)
{
    const vkf__attention_spans *p = &block->params, *gradients = &to->params;
    const uint32_t width = block->heads * block->head_dim, k_width = block->kv_heads * block->head_dim,
                   v_width = block->kv_heads * block->v_head_dim;
    const linear_spans parts[] = {
        {"q_proj", &p->q_weight, &gradients->q_weight, &p->q_bias, &gradients->q_bias, block->embed_dim, width},
        {"k_proj", &p->k_weight, &gradients->k_weight, &p->k_bias, &gradients->k_bias, block->kdim, k_width},
        {"v_proj", &p->v_weight, &gradients->v_weight, &p->v_bias, &gradients->v_bias, block->vdim, v_width},
    };
    VKF_RETURN_IF_ERROR(record_rows(tape, block, parts, operands, out));
    const linear_spans q_norm = {"q_norm", .weight = &block->q_norm, .weight_gradient = &to->q_norm};
    const linear_spans k_norm = {"k_norm", .weight = &block->k_norm, .weight_gradient = &to->k_norm};
    VKF_RETURN_IF_ERROR(record_heads(tape, block, &q_norm, block->heads, sizes->batch, sizes->query_len, &out->q));
    VKF_RETURN_IF_ERROR(record_heads(tape, block, &k_norm, block->kv_heads, sizes->batch, sizes->key_len, &out->k));
    VKF_RETURN_IF_ERROR(
        record_extra_keys(tape, block, "bias_k", &p->bias_k, &gradients->bias_k, k_width, sizes, &out->k));
    return record_extra_keys(tape, block, "bias_v", &p->bias_v, &gradients->bias_v, v_width, sizes, &out->v);
}

vkf_status vkf__record_attention_block(vkf__tape *tape, const vkf__attention_block *block,
                                       const vkf__attention_gradients *gradients,
                                       const vkf__attention_operands *operands, const vkf__attention_sizes *sizes,
                                       vkf__value *out_value)
{
    const vkf__attention_io io = {.mask = operands->mask, .key_mask = operands->key_mask};
    const vkf__attention_args args = vkf__attention_args_of(block, &io, sizes);
    const vkf__attention_spans *p = &block->params;
    const linear_spans out = {"out_proj",
                              &p->out_weight,
                              &gradients->params.out_weight,
                              &p->out_bias,
                              &gradients->params.out_bias,
                              block->heads * block->v_head_dim,
                              block->embed_dim};
    vkf__attention_values made;
    vkf__value context;
    VKF_RETURN_IF_ERROR(record_projections(tape, block, gradients, operands, sizes, &made));
    made.bias = operands->bias;
    VKF_RETURN_IF_ERROR(vkf__record_attention(tape, &args, &operands->dropout, &made, &context));
    return record_linear(tape, &out, context, out_value);
}

vkf__transformer_gradients vkf__transformer_gradients_of(const vkf__transformer_block *block)
{
    const vkf__feed_forward_block *f = &block->feed_forward;
    return (vkf__transformer_gradients){
        .self = {block->self.params, block->self.q_norm, block->self.k_norm},
        .cross = {block->cross.params, block->cross.q_norm, block->cross.k_norm},
        .gate = f->gate,
        .gate_bias = f->gate_bias,
        .weight1 = f->weight1,
        .bias1 = f->bias1,
        .weight2 = f->weight2,
        .bias2 = f->bias2,
        .norm = {block->norm[0], block->norm[1], block->norm[2]},
    };
}

// One layer while it is recorded.
typedef struct layer {
    vkf__tape *tape;
    const vkf__transformer_block *block;
    const vkf__transformer_gradients *gradients;
    const vkf__transformer_operands *operands;
    vkf__value x; // the stream
} layer;

// The random numbers of one place in the layer.
enum { SELF_WEIGHTS, SELF_RESULT, CROSS_WEIGHTS, CROSS_RESULT, ACTIVATION, FEED_FORWARD_RESULT };
_Static_assert(FEED_FORWARD_RESULT < VKF_LAYER_STREAMS, "each has a stream of its own");

static vkf__dropout_state dropout_of(const layer *l, float p, uint32_t place)
{
    const vkf__layer_dropout *dropout = &l->operands->dropout;
    return (vkf__dropout_state){p, dropout->seed, dropout->stream + place, dropout->step};
}

static vkf_status record_hidden(layer *l, vkf__value x, vkf__value *out_value)
{
    const vkf__feed_forward_block *block = &l->block->feed_forward;
    const vkf__transformer_gradients *to = l->gradients;
    const linear_spans first = {"linear1",  &block->weight1, &to->weight1,          &block->bias1,
                                &to->bias1, block->d_model,  block->dim_feedforward};
    const linear_spans gate = {"gate",         &block->gate,          &to->gate, &block->gate_bias, &to->gate_bias,
                               block->d_model, block->dim_feedforward};
    vkf__value hidden, gates;
    VKF_RETURN_IF_ERROR(record_linear(l->tape, &first, x, &hidden));
    if (!vkf__present(&block->gate))
        return vkf__record_activation(l->tape, "activation", hidden, block->activation, out_value);
    VKF_RETURN_IF_ERROR(record_linear(l->tape, &gate, x, &gates));
    VKF_RETURN_IF_ERROR(vkf__record_join(l->tape, "gates", gates, hidden, &gates));
    return vkf__record_gate(l->tape, "activation", gates, block->activation, out_value);
}

static vkf_status record_feed_forward(layer *l, vkf__value x, vkf__value *out_value)
{
    const vkf__feed_forward_block *block = &l->block->feed_forward;
    const vkf__transformer_gradients *to = l->gradients;
    const vkf__dropout_state dropout = dropout_of(l, l->operands->dropout.activation, ACTIVATION);
    const linear_spans second = {"linear2",  &block->weight2,        &to->weight2,  &block->bias2,
                                 &to->bias2, block->dim_feedforward, block->d_model};
    vkf__value hidden;
    VKF_RETURN_IF_ERROR(record_hidden(l, x, &hidden));
    VKF_RETURN_IF_ERROR(vkf__record_dropout(l->tape, "activation_dropout", hidden, &dropout, &hidden));
    return record_linear(l->tape, &second, hidden, out_value);
}

static vkf_status record_norm(vkf__tape *tape, const vkf__transformer_block *block,
                              const vkf__transformer_gradients *gradients, uint32_t index, vkf__value x,
                              vkf__value *out_value)
{
    static const char *const labels[] = {"norm1", "norm2", "norm3"};
    const vkf__norm_block *spans = &block->norm[index], *to = &gradients->norm[index];
    vkf__norm_values norm = {.eps = block->layer_norm_eps, .rms = block->norm_kind == VKF_NORM_RMS};
    VKF_RETURN_IF_ERROR(parameter(tape, &spans->weight, &to->weight, 1, block->d_model, &norm.weight));
    VKF_RETURN_IF_ERROR(parameter(tape, &spans->bias, &to->bias, 1, block->d_model, &norm.bias));
    return vkf__record_norm(tape, labels[index], x, &norm, out_value);
}

// Pre-norm: x + f(norm(x)); what f reads.
static vkf_status begin_block(layer *l, uint32_t index, vkf__value *out_input)
{
    *out_input = l->x;
    if (!l->block->norm_first || (index == 0 && l->block->no_first_norm))
        return VKF_OK;
    return record_norm(l->tape, l->block, l->gradients, index, l->x, out_input);
}

// Post-norm: norm(x + f(x)).
static vkf_status end_block(layer *l, uint32_t index, uint32_t place, vkf__value result)
{
    const vkf__dropout_state dropout = dropout_of(l, l->operands->dropout.residual, place);
    VKF_RETURN_IF_ERROR(vkf__record_residual(l->tape, "residual", l->x, result, &dropout, &l->x));
    return l->block->norm_first ? VKF_OK : record_norm(l->tape, l->block, l->gradients, index, l->x, &l->x);
}

static vkf_status record_self(layer *l, const vkf__attention_sizes *sizes)
{
    vkf__value input, result;
    VKF_RETURN_IF_ERROR(begin_block(l, 0, &input));
    const vkf__attention_operands operands = {input,
                                              input,
                                              input,
                                              l->operands->mask,
                                              l->operands->key_mask,
                                              dropout_of(l, l->operands->dropout.attention, SELF_WEIGHTS),
                                              l->operands->bias};
    VKF_RETURN_IF_ERROR(
        vkf__record_attention_block(l->tape, &l->block->self, &l->gradients->self, &operands, sizes, &result));
    return end_block(l, 0, SELF_RESULT, result);
}

static vkf_status record_cross(layer *l, const vkf__attention_sizes *sizes)
{
    const vkf__transformer_operands *from = l->operands;
    vkf__value input, result;
    VKF_RETURN_IF_ERROR(begin_block(l, 1, &input));
    const vkf__attention_operands operands = {input,
                                              from->memory,
                                              from->memory,
                                              from->memory_mask,
                                              from->memory_key_mask,
                                              dropout_of(l, from->dropout.attention, CROSS_WEIGHTS),
                                              {0}};
    VKF_RETURN_IF_ERROR(
        vkf__record_attention_block(l->tape, &l->block->cross, &l->gradients->cross, &operands, sizes, &result));
    return end_block(l, 1, CROSS_RESULT, result);
}

vkf_status vkf__record_transformer_layer(vkf__tape *tape, const vkf__transformer_block *block,
                                         const vkf__transformer_gradients *gradients,
                                         const vkf__transformer_operands *operands, const vkf__attention_sizes *self,
                                         const vkf__attention_sizes *cross, vkf__value *out_value)
{
    layer l = {tape, block, gradients, operands, operands->x};
    const uint32_t last = operands->memory ? 2 : 1;
    vkf__value input, result;
    // Parallel blocks read the same stream.
    if (block->parallel)
        VKF_RETURN_IF_ERROR(begin_block(&l, last, &input));
    VKF_RETURN_IF_ERROR(record_self(&l, self));
    if (operands->memory)
        VKF_RETURN_IF_ERROR(record_cross(&l, cross));
    if (!block->parallel)
        VKF_RETURN_IF_ERROR(begin_block(&l, last, &input));
    VKF_RETURN_IF_ERROR(record_feed_forward(&l, input, &result));
    VKF_RETURN_IF_ERROR(end_block(&l, last, FEED_FORWARD_RESULT, result));
    *out_value = l.x;
    return VKF_OK;
}
