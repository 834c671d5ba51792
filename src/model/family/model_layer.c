// Makes blocks of a model's configuration and weights.
#include "model/family/model_layer.h"

#include "model/family/model_kind.h"

// A causal layer sees the last `window` positions. Others see half of them to each side, which is a causal window whose
// queries stand `ahead` positions further on.
static void set_window(const vkf_model_config *config, vkf__attention_block *self)
{
    const vkf__kind_facts *facts = vkf__facts_of(config);
    bool causal = facts->always_causal || config->causal;
    if (causal)
        self->mask.window = config->window;
    if (!causal && facts->centred_windows) {
        self->mask.window_right = config->window / 2;
        self->mask.causal = VKF_CAUSAL_TOP_LEFT;
        self->mask.window = self->mask.window_right + 1;
    }
}

// What a layer of a family may have that nn.Transformer's layers do not.
static void set_family_parts(const vkf_model_config *config, const vkf__model_layer *layer, const vkf__layer_weights *w,
                             vkf__transformer_block *block)
{
    vkf__attention_block *self = &block->self;
    const vkf__stack stack = vkf__stack_of(config, layer->target);
    bool windowed = config->windowed_layers[layer->index / 32] >> layer->index % 32 & 1;
    bool own_rotary = windowed && config->window_rotary.dim > 0;
    block->parallel = config->parallel;
    block->no_first_norm = config->no_first_norm && layer->index == 0;
    block->norm_kind = config->norm;
    block->feed_forward.gate = vkf__span_of(&w->gate.weight);
    block->feed_forward.gate_bias = vkf__span_of(&w->gate.bias);
    block->feed_forward.fused_gate = w->fused_gate;
    self->kv_heads = stack.kv_heads;
    self->head_dim = self->v_head_dim = block->cross.head_dim = block->cross.v_head_dim = stack.head_dim;
    if (config->unscaled_attention)
        self->scale = block->cross.scale = 1.0f;
    self->q_norm = vkf__span_of(&w->q_norm);
    self->k_norm = vkf__span_of(&w->k_norm);
    self->norm_eps = config->layer_norm_eps;
    self->params.rotary = own_rotary ? layer->window_rotary : layer->rotary;
    self->rotary_dim = own_rotary ? config->window_rotary.dim : config->rotary.dim;
    if (windowed)
        set_window(config, self);
}

vkf__transformer_block vkf__model_layer_block(const vkf_model_config *config, vkf_dtype dtype,
                                              const vkf__weights *weights, const vkf__model_layer *layer)
{
    const vkf__stack stack = vkf__stack_of(config, layer->target);
    const vkf__layer_weights *w = layer->target ? &weights->decoder[layer->index] : &weights->encoder[layer->index];
    const vkf_transformer_layer_desc desc = {
        .d_model = config->d_model,
        .num_heads = stack.heads,
        .dim_feedforward = stack.dim_feedforward,
        .activation = config->activation,
        .norm_first = config->norm_first,
        .layer_norm_eps = config->layer_norm_eps,
        .self = w->self,
        .cross = w->cross,
        .feed_forward = w->feed_forward,
        .norm1 = w->norm[0],
        .norm2 = w->norm[1],
        .norm3 = w->norm[2],
        .self_mask = layer->self_mask,
        .cross_mask = layer->cross_mask,
        .fully_masked = layer->fully_masked,
        .dtype = dtype,
    };
    vkf__transformer_block block = vkf__transformer_block_of(&desc);
    block.self.fused_qkv = w->fused_qkv;
    if (vkf__facts_of(config)->family_layers)
        set_family_parts(config, layer, w, &block);
    return block;
}
