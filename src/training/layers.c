// States attention blocks, feed-forward blocks, and the layers made of them.
#include "training/layers.h"

#include "layer/projection.h"

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

static vkf_status state_linear(vkf__tape *tape, const linear_spans *spans, vkf__value x, vkf__value *out_value)
{
    vkf__linear_values linear;
    VKF_RETURN_IF_ERROR(
        parameter(tape, spans->weight, spans->weight_gradient, spans->out, spans->in, &linear.weight));
    VKF_RETURN_IF_ERROR(parameter(tape, spans->bias, spans->bias_gradient, 1, spans->out, &linear.bias));
    return vkf__state_linear(tape, spans->label, x, &linear, out_value);
}

static vkf_status state_extra_keys(vkf__tape *tape, const vkf__attention_block *block, const char *label,
                                   const vkf__span *row, const vkf__span *gradient, uint32_t width,
                                   const vkf__attention_sizes *sizes, vkf__value *inout_keys)
{
    if (vkf__extra_keys(block) == 0)
        return VKF_OK;
    vkf__extra_rows extra = {.batch = sizes->batch, .len = sizes->key_len, .zeros = block->add_zero_attn ? 1 : 0};
    VKF_RETURN_IF_ERROR(parameter(tape, row, gradient, 1, width, &extra.row));
    return vkf__state_extra_rows(tape, label, *inout_keys, &extra, inout_keys);
}

typedef struct projected_values {
    vkf__value q, k, v;
} projected_values;

static vkf_status state_projections(vkf__tape *tape, const vkf__attention_block *block,
                                    const vkf__attention_spans *gradients, const vkf__attention_operands *operands,
                                    const vkf__attention_sizes *sizes, projected_values *out)
{
    const vkf__attention_spans *p = &block->params;
    const uint32_t width = block->heads * block->head_dim, k_width = block->kv_heads * block->head_dim,
                   v_width = block->kv_heads * block->v_head_dim;
    const linear_spans q = {"q_proj", &p->q_weight, &gradients->q_weight, &p->q_bias, &gradients->q_bias,
                            block->embed_dim, width};
    const linear_spans k = {"k_proj", &p->k_weight, &gradients->k_weight, &p->k_bias, &gradients->k_bias,
                            block->kdim, k_width};
    const linear_spans v = {"v_proj", &p->v_weight, &gradients->v_weight, &p->v_bias, &gradients->v_bias,
                            block->vdim, v_width};
    VKF_RETURN_IF_ERROR(state_linear(tape, &q, operands->query, &out->q));
    VKF_RETURN_IF_ERROR(state_linear(tape, &k, operands->key, &out->k));
    VKF_RETURN_IF_ERROR(state_linear(tape, &v, operands->value, &out->v));
    VKF_RETURN_IF_ERROR(
        state_extra_keys(tape, block, "bias_k", &p->bias_k, &gradients->bias_k, k_width, sizes, &out->k));
    return state_extra_keys(tape, block, "bias_v", &p->bias_v, &gradients->bias_v, v_width, sizes, &out->v);
}

vkf_status vkf__state_attention_block(vkf__tape *tape, const vkf__attention_block *block,
                                      const vkf__attention_spans *gradients, const vkf__attention_operands *operands,
                                      const vkf__attention_sizes *sizes, vkf__value *out_value)
{
    const vkf__attention_io io = {.mask = operands->mask, .key_mask = operands->key_mask};
    const vkf__attention_args args = vkf__attention_args_of(block, &io, sizes);
    const vkf__attention_spans *p = &block->params;
    const linear_spans out = {"out_proj", &p->out_weight, &gradients->out_weight, &p->out_bias,
                              &gradients->out_bias, block->heads * block->v_head_dim, block->embed_dim};
    projected_values made;
    vkf__value context;
    VKF_RETURN_IF_ERROR(state_projections(tape, block, gradients, operands, sizes, &made));
    VKF_RETURN_IF_ERROR(vkf__state_attention(tape, &args, NULL, made.q, made.k, made.v, &context));
    return state_linear(tape, &out, context, out_value);
}

static vkf_status state_feed_forward(vkf__tape *tape, const vkf__feed_forward_block *block,
                                     const vkf__transformer_gradients *gradients, vkf__value x, vkf__value *out_value)
{
    const linear_spans first = {"linear1", &block->weight1, &gradients->weight1, &block->bias1, &gradients->bias1,
                                block->d_model, block->dim_feedforward};
    const linear_spans second = {"linear2", &block->weight2, &gradients->weight2, &block->bias2, &gradients->bias2,
                                 block->dim_feedforward, block->d_model};
    vkf__value hidden;
    VKF_RETURN_IF_ERROR(state_linear(tape, &first, x, &hidden));
    VKF_RETURN_IF_ERROR(vkf__state_activation(tape, "activation", hidden, block->activation, &hidden));
    return state_linear(tape, &second, hidden, out_value);
}

static vkf_status state_norm(vkf__tape *tape, const vkf__transformer_block *block,
                             const vkf__transformer_gradients *gradients, uint32_t index, vkf__value x,
                             vkf__value *out_value)
{
    static const char *const labels[] = {"norm1", "norm2", "norm3"};
    const vkf__norm_block *spans = &block->norm[index], *to = &gradients->norm[index];
    vkf__norm_values norm = {.eps = block->layer_norm_eps, .rms = block->norm_kind == VKF_NORM_RMS};
    VKF_RETURN_IF_ERROR(parameter(tape, &spans->weight, &to->weight, 1, block->d_model, &norm.weight));
    VKF_RETURN_IF_ERROR(parameter(tape, &spans->bias, &to->bias, 1, block->d_model, &norm.bias));
    return vkf__state_norm(tape, labels[index], x, &norm, out_value);
}

// One layer while it is stated.
typedef struct layer {
    vkf__tape *tape;
    const vkf__transformer_block *block;
    const vkf__transformer_gradients *gradients;
    const vkf__transformer_operands *operands;
    vkf__value x; // the stream
} layer;

// Pre-norm: x + f(norm(x)); what f reads.
static vkf_status begin_block(layer *l, uint32_t index, vkf__value *out_input)
{
    *out_input = l->x;
    if (!l->block->norm_first || (index == 0 && l->block->no_first_norm))
        return VKF_OK;
    return state_norm(l->tape, l->block, l->gradients, index, l->x, out_input);
}

// Post-norm: norm(x + f(x)).
static vkf_status end_block(layer *l, uint32_t index, vkf__value result)
{
    VKF_RETURN_IF_ERROR(vkf__state_sum(l->tape, "residual", l->x, result, &l->x));
    return l->block->norm_first ? VKF_OK : state_norm(l->tape, l->block, l->gradients, index, l->x, &l->x);
}

static vkf_status state_self(layer *l, const vkf__attention_sizes *sizes)
{
    vkf__value input, result;
    VKF_RETURN_IF_ERROR(begin_block(l, 0, &input));
    const vkf__attention_operands operands = {input, input, input, l->operands->mask, l->operands->key_mask};
    VKF_RETURN_IF_ERROR(
        vkf__state_attention_block(l->tape, &l->block->self, &l->gradients->self, &operands, sizes, &result));
    return end_block(l, 0, result);
}

static vkf_status state_cross(layer *l, const vkf__attention_sizes *sizes)
{
    vkf__value input, result;
    VKF_RETURN_IF_ERROR(begin_block(l, 1, &input));
    const vkf__attention_operands operands = {input, l->operands->memory, l->operands->memory,
                                              l->operands->memory_mask, l->operands->memory_key_mask};
    VKF_RETURN_IF_ERROR(
        vkf__state_attention_block(l->tape, &l->block->cross, &l->gradients->cross, &operands, sizes, &result));
    return end_block(l, 1, result);
}

vkf_status vkf__state_transformer_layer(vkf__tape *tape, const vkf__transformer_block *block,
                                        const vkf__transformer_gradients *gradients,
                                        const vkf__transformer_operands *operands, const vkf__attention_sizes *self,
                                        const vkf__attention_sizes *cross, vkf__value *out_value)
{
    layer l = {tape, block, gradients, operands, operands->x};
    const uint32_t last = operands->memory ? 2 : 1;
    vkf__value input, result;
    VKF_RETURN_IF_ERROR(state_self(&l, self));
    if (operands->memory)
        VKF_RETURN_IF_ERROR(state_cross(&l, cross));
    VKF_RETURN_IF_ERROR(begin_block(&l, last, &input));
    VKF_RETURN_IF_ERROR(state_feed_forward(tape, &block->feed_forward, gradients, input, &result));
    VKF_RETURN_IF_ERROR(end_block(&l, last, result));
    *out_value = l.x;
    return VKF_OK;
}
