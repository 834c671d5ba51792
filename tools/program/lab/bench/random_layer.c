// Makes a layer with random parameters, and fills its inputs.
#include "lab/bench/random_layer.h"

#include <string.h>

#include "command/options.h"
#include "output/json_output.h"

bool vkf_layer_shape_make(const vkf_bench_shape *shape, const char *kind, const char *activation,
                          vkf_layer_shape *out_shape)
{
    const uint32_t *e = shape->values;
    const bool decoder = strcmp(kind, "decoder") == 0, gelu = strcmp(activation, "gelu") == 0;
    if (!decoder && strcmp(kind, "encoder") != 0) {
        vkf_print_error("--kind: '%.200s' is neither encoder nor decoder", kind);
        return false;
    }
    if (!gelu && strcmp(activation, "relu") != 0) {
        vkf_print_error("--activation: '%.200s' is neither relu nor gelu", activation);
        return false;
    }
    if (e[2] % e[3] != 0) {
        vkf_print_error("%u heads are no divisor of d-model, %u", e[3], e[2]);
        return false;
    }
    *out_shape = (vkf_layer_shape){
        e[0], e[1], e[2], e[3], e[4], e[5], decoder, gelu ? VKF_ACTIVATION_GELU_ERF : VKF_ACTIVATION_RELU,
    };
    return true;
}

json_t *vkf_layer_shape_json(const vkf_layer_shape *shape)
{
    json_t *object = json_object();
    vkf_json_put_integer(object, "batch", shape->batch);
    vkf_json_put_integer(object, "len", shape->len);
    vkf_json_put_integer(object, "d_model", shape->d_model);
    vkf_json_put_integer(object, "heads", shape->heads);
    vkf_json_put_integer(object, "ff", shape->ff);
    if (shape->decoder)
        vkf_json_put_integer(object, "memory_len", shape->memory_len);
    vkf_json_put_string(object, "kind", shape->decoder ? "decoder" : "encoder");
    vkf_json_put_string(object, "activation", shape->activation == VKF_ACTIVATION_RELU ? "relu" : "gelu");
    return object;
}

static vkf_norm_weights norm_weights(vkf_bench_data *data, uint32_t d_model)
{
    return (vkf_norm_weights){
        .weight = vkf_bench_vector(data, d_model, 1.0f),
        .bias = vkf_bench_vector(data, d_model, 0.1f),
    };
}

static vkf_transformer_layer_desc describe(vkf_bench_data *data, const vkf_layer_shape *shape)
{
    uint32_t d_model = shape->d_model;
    vkf_transformer_layer_desc desc = {
        .d_model = d_model,
        .num_heads = shape->heads,
        .dim_feedforward = shape->ff,
        .activation = shape->activation,
        .layer_norm_eps = 1e-5f,
        .self = vkf_bench_attention_weights(data, d_model),
        .feed_forward =
            {
                .weight1 = vkf_bench_linear(data, shape->ff, d_model),
                .bias1 = vkf_bench_vector(data, shape->ff, 0.1f),
                .weight2 = vkf_bench_linear(data, d_model, shape->ff),
                .bias2 = vkf_bench_vector(data, d_model, 0.1f),
            },
        .norm1 = norm_weights(data, d_model),
        .norm2 = norm_weights(data, d_model),
        .dtype = data->types.activations,
        .max_sizes = {.batch = shape->batch, .query_len = shape->len, .key_len = shape->memory_len},
    };
    if (shape->decoder) {
        desc.cross = vkf_bench_attention_weights(data, d_model);
        desc.norm3 = norm_weights(data, d_model);
        desc.self_mask.causal = VKF_CAUSAL_TOP_LEFT;
    }
    return desc;
}

vkf_layer *vkf_random_layer(vkf_bench_data *data, const vkf_layer_shape *shape, vkf_memory_plan *out_plan)
{
    const vkf_transformer_layer_desc desc = describe(data, shape);
    vkf_layer *layer = NULL;
    vkf_tensor port;
    if (data->status == VKF_OK && out_plan)
        data->status = shape->decoder ? vkf_decoder_layer_plan(data->context, &desc, out_plan)
                                      : vkf_encoder_layer_plan(data->context, &desc, out_plan);
    if (data->status == VKF_OK)
        data->status = shape->decoder ? vkf_decoder_layer_create(data->context, &desc, &layer)
                                      : vkf_encoder_layer_create(data->context, &desc, &layer);
    if (data->status == VKF_OK && vkf_layer_get_port(layer, VKF_PORT_QUERY, &port))
        vkf_bench_fill(data, &port, 1.0f);
    if (data->status == VKF_OK && vkf_layer_get_port(layer, VKF_PORT_MEMORY, &port))
        vkf_bench_fill(data, &port, 1.0f);
    if (data->status != VKF_OK) {
        vkf_print_error("the layer cannot be made: %s", vkf_status_text(data->status));
        vkf_layer_destroy(&layer);
    }
    return layer;
}
