// Oracle kinds that are one Transformer layer: encoder_layer, decoder_layer.
#include "lab/eval/eval_kinds.h"

vkf_status vkf__eval_architecture(const vkf_eval_case *c, vkf_eval_architecture *out_architecture)
{
    vkf_eval_architecture architecture = {0};
    VKF_RETURN_IF_ERROR(vkf__eval_size(c, "d_model", &architecture.d_model));
    VKF_RETURN_IF_ERROR(vkf__eval_size(c, "nhead", &architecture.num_heads));
    VKF_RETURN_IF_ERROR(vkf__eval_size(c, "dim_feedforward", &architecture.dim_feedforward));
    VKF_RETURN_IF_ERROR(vkf__eval_size(c, "batch", &architecture.batch));
    VKF_RETURN_IF_ERROR(vkf__eval_activation(c, &architecture.activation));
    VKF_RETURN_IF_ERROR(vkf__eval_bool(c, "norm_first", &architecture.norm_first));
    VKF_RETURN_IF_ERROR(vkf__eval_f32(c, "layer_norm_eps", &architecture.layer_norm_eps));
    *out_architecture = architecture;
    return VKF_OK;
}

static vkf_status norm_weights(vkf_eval_case *c, const char *prefix, uint32_t d_model, vkf_norm_weights *out_weights)
{
    VKF_RETURN_IF_ERROR(vkf__eval_weight(c, prefix, "weight", VKF_DIMS(d_model), &out_weights->weight));
    return vkf__eval_weight(c, prefix, "bias", VKF_DIMS(d_model), &out_weights->bias);
}

// Reads what encoder and decoder layers share: everything but cross-attention and the third norm.
static vkf_status layer_weights(vkf_eval_case *c, vkf_transformer_layer_desc *desc)
{
    uint32_t e = desc->d_model, f = desc->dim_feedforward;
    const vkf_eval_attention_shape shape = {.embed_dim = e, .kdim = e, .vdim = e, .bias = true};
    VKF_RETURN_IF_ERROR(vkf__eval_attention_weights(c, "self_attn.", &shape, &desc->self));
    VKF_RETURN_IF_ERROR(vkf__eval_weight(c, "linear1.", "weight", VKF_DIMS(f, e), &desc->feed_forward.weight1));
    VKF_RETURN_IF_ERROR(vkf__eval_weight(c, "linear1.", "bias", VKF_DIMS(f), &desc->feed_forward.bias1));
    VKF_RETURN_IF_ERROR(vkf__eval_weight(c, "linear2.", "weight", VKF_DIMS(e, f), &desc->feed_forward.weight2));
    VKF_RETURN_IF_ERROR(vkf__eval_weight(c, "linear2.", "bias", VKF_DIMS(e), &desc->feed_forward.bias2));
    VKF_RETURN_IF_ERROR(norm_weights(c, "norm1.", e, &desc->norm1));
    return norm_weights(c, "norm2.", e, &desc->norm2);
}

static vkf_transformer_layer_desc layer_desc(const vkf_eval_case *c, const vkf_eval_architecture *architecture)
{
    return (vkf_transformer_layer_desc){
        .d_model = architecture->d_model,
        .num_heads = architecture->num_heads,
        .dim_feedforward = architecture->dim_feedforward,
        .activation = architecture->activation,
        .norm_first = architecture->norm_first,
        .layer_norm_eps = architecture->layer_norm_eps,
        .fully_masked = c->settings.fully_masked,
        .dtype = c->settings.types.activations,
        .max_sizes.batch = architecture->batch,
    };
}

vkf_status vkf__eval_encoder_layer(vkf_eval_case *c)
{
    vkf_eval_architecture architecture = {0};
    vkf_eval_masks masks = {0};
    uint32_t l = 0;
    VKF_RETURN_IF_ERROR(vkf__eval_architecture(c, &architecture));
    VKF_RETURN_IF_ERROR(vkf__eval_size(c, "src_len", &l));
    vkf_transformer_layer_desc desc = layer_desc(c, &architecture);
    desc.max_sizes.query_len = desc.max_sizes.key_len = l;
    uint32_t b = architecture.batch, e = architecture.d_model;
    const vkf_eval_attention_sizes sizes = {b, architecture.num_heads, l, l};
    VKF_RETURN_IF_ERROR(vkf__eval_masks(c, "src_mask", "src_key_padding_mask", &sizes, &masks));
    desc.self_mask = masks.desc;
    VKF_RETURN_IF_ERROR(layer_weights(c, &desc));
    VKF_RETURN_IF_ERROR(vkf_encoder_layer_create(c->settings.context, &desc, &c->layer));
    VKF_RETURN_IF_ERROR(vkf__eval_write_port(c, VKF_PORT_QUERY, "src", VKF_DIMS(b, l, e)));
    VKF_RETURN_IF_ERROR(vkf__eval_write_masks(c, &masks, VKF_PORT_MASK, VKF_PORT_KEY_MASK));
    VKF_RETURN_IF_ERROR(vkf_layer_run(c->layer, &desc.max_sizes));
    return vkf__eval_read_port(c, VKF_PORT_OUTPUT, "output", VKF_DIMS(b, l, e));
}

static vkf_status run_decoder_layer(vkf_eval_case *c, const vkf_transformer_layer_desc *desc,
                                    const vkf_eval_masks *self, const vkf_eval_masks *cross)
{
    uint32_t b = desc->max_sizes.batch, t = desc->max_sizes.query_len, s = desc->max_sizes.key_len;
    VKF_RETURN_IF_ERROR(vkf__eval_write_port(c, VKF_PORT_QUERY, "tgt", VKF_DIMS(b, t, desc->d_model)));
    VKF_RETURN_IF_ERROR(vkf__eval_write_port(c, VKF_PORT_MEMORY, "memory", VKF_DIMS(b, s, desc->d_model)));
    VKF_RETURN_IF_ERROR(vkf__eval_write_masks(c, self, VKF_PORT_MASK, VKF_PORT_KEY_MASK));
    VKF_RETURN_IF_ERROR(vkf__eval_write_masks(c, cross, VKF_PORT_MEMORY_MASK, VKF_PORT_MEMORY_KEY_MASK));
    VKF_RETURN_IF_ERROR(vkf_layer_run(c->layer, &desc->max_sizes));
    return vkf__eval_read_port(c, VKF_PORT_OUTPUT, "output", VKF_DIMS(b, t, desc->d_model));
}

vkf_status vkf__eval_decoder_layer(vkf_eval_case *c)
{
    vkf_eval_architecture architecture = {0};
    vkf_eval_masks self = {0}, cross = {0};
    uint32_t t = 0, s = 0;
    VKF_RETURN_IF_ERROR(vkf__eval_architecture(c, &architecture));
    VKF_RETURN_IF_ERROR(vkf__eval_size(c, "tgt_len", &t));
    VKF_RETURN_IF_ERROR(vkf__eval_size(c, "src_len", &s));
    vkf_transformer_layer_desc desc = layer_desc(c, &architecture);
    desc.max_sizes.query_len = t;
    desc.max_sizes.key_len = s;
    uint32_t e = architecture.d_model;
    const vkf_eval_attention_sizes self_sizes = {architecture.batch, architecture.num_heads, t, t};
    const vkf_eval_attention_sizes cross_sizes = {architecture.batch, architecture.num_heads, t, s};
    VKF_RETURN_IF_ERROR(vkf__eval_masks(c, "tgt_mask", "tgt_key_padding_mask", &self_sizes, &self));
    VKF_RETURN_IF_ERROR(vkf__eval_masks(c, "memory_mask", "memory_key_padding_mask", &cross_sizes, &cross));
    desc.self_mask = self.desc;
    desc.cross_mask = cross.desc;
    const vkf_eval_attention_shape shape = {.embed_dim = e, .kdim = e, .vdim = e, .bias = true};
    VKF_RETURN_IF_ERROR(layer_weights(c, &desc));
    VKF_RETURN_IF_ERROR(vkf__eval_attention_weights(c, "multihead_attn.", &shape, &desc.cross));
    VKF_RETURN_IF_ERROR(norm_weights(c, "norm3.", e, &desc.norm3));
    VKF_RETURN_IF_ERROR(vkf_decoder_layer_create(c->settings.context, &desc, &c->layer));
    return run_decoder_layer(c, &desc, &self, &cross);
}
