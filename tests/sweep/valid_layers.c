// What layers are given.
#include "valid_parts.h"

static vkf_attention_weights attention_weights(void)
{
    const vkf_tensor weight = in(DIM, DIM, 0, 0), bias = in(DIM, 0, 0, 0);
    return (vkf_attention_weights){.q_weight = weight,
                                   .k_weight = weight,
                                   .v_weight = weight,
                                   .q_bias = bias,
                                   .k_bias = bias,
                                   .v_bias = bias,
                                   .out_weight = weight,
                                   .out_bias = bias};
}

vkf_attention_desc valid_vkf_attention_desc(const char *function, const char *parameter)
{
    (void)function;
    (void)parameter;
    vkf_attention_desc desc = {.embed_dim = DIM,
                               .num_heads = HEADS,
                               .mask = {.kind = VKF_MASK_BOOL_EXCLUDE, .key_kind = VKF_MASK_LENGTHS},
                               .params = attention_weights(),
                               .max_sizes = layer_sizes};
    desc.params.bias_k = desc.params.bias_v = in(1, 1, DIM, 0);
    desc.ports[VKF_PORT_QUERY] = in(BATCH, LEN, DIM, 0);
    return desc;
}

vkf_feed_forward_desc valid_vkf_feed_forward_desc(const char *function, const char *parameter)
{
    (void)function;
    (void)parameter;
    vkf_feed_forward_desc desc = {.d_model = DIM,
                                  .dim_feedforward = HIDDEN,
                                  .params = {.weight1 = in(HIDDEN, DIM, 0, 0),
                                             .bias1 = in(HIDDEN, 0, 0, 0),
                                             .weight2 = in(DIM, HIDDEN, 0, 0),
                                             .bias2 = in(DIM, 0, 0, 0)},
                                  .max_sizes = layer_sizes};
    desc.ports[VKF_PORT_QUERY] = in(BATCH, LEN, DIM, 0);
    return desc;
}

vkf_transformer_layer_desc valid_vkf_transformer_layer_desc(const char *function, const char *parameter)
{
    const vkf_norm_weights norm = {in(DIM, 0, 0, 0), in(DIM, 0, 0, 0)};
    vkf_transformer_layer_desc desc = {.d_model = DIM,
                                       .num_heads = HEADS,
                                       .dim_feedforward = HIDDEN,
                                       .self = attention_weights(),
                                       .feed_forward = valid_vkf_feed_forward_desc(function, parameter).params,
                                       .norm1 = norm,
                                       .norm2 = norm,
                                       .max_sizes = layer_sizes};
    desc.ports[VKF_PORT_QUERY] = in(BATCH, LEN, DIM, 0);
    if (is(function, "decoder")) {
        desc.cross = attention_weights();
        desc.norm3 = norm;
    }
    return desc;
}

vkf_layer_sizes valid_vkf_layer_sizes(const char *function, const char *parameter)
{
    (void)function;
    (void)parameter;
    return layer_sizes;
}

vkf_layer_submit_desc valid_vkf_layer_submit_desc(const char *function, const char *parameter)
{
    (void)function;
    (void)parameter;
    return (vkf_layer_submit_desc){.sizes = layer_sizes};
}
