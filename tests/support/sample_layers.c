// Makes a layer of each kind.
#include "sample_layers.h"

#include <stdlib.h>
#include <string.h>

const char *sample_name(sample_kind kind)
{
    static const char *const names[SAMPLE_KINDS] = {"attention", "feed_forward", "encoder", "decoder"};
    return names[kind];
}

static vkf_tensor add_weight(vkf_test_gpu *gpu, sample_weights *weights, uint32_t rows, uint32_t cols, float mean)
{
    const uint32_t shape[] = {rows, cols};
    size_t count = (size_t)rows * (cols > 0 ? cols : 1);
    float *values = malloc(count * sizeof *values);
    assert_non_null(values);
    assert_true(weights->count < SAMPLE_TENSORS);
    vkf_test_fill_normal(&gpu->random, values, count, mean, 0.2f);
    vkf_tensor tensor = vkf_test_tensor(gpu, VKF_DTYPE_F32, cols > 0 ? 2 : 1, shape, values);
    free(values);
    weights->tensors[weights->count++] = tensor;
    return tensor;
}

static void add_attention(vkf_test_gpu *gpu, sample_weights *weights, vkf_attention_weights *out)
{
    *out = (vkf_attention_weights){
        .q_weight = add_weight(gpu, weights, SAMPLE_DIM, SAMPLE_DIM, 0),
        .k_weight = add_weight(gpu, weights, SAMPLE_DIM, SAMPLE_DIM, 0),
        .v_weight = add_weight(gpu, weights, SAMPLE_DIM, SAMPLE_DIM, 0),
        .q_bias = add_weight(gpu, weights, SAMPLE_DIM, 0, 0),
        .k_bias = add_weight(gpu, weights, SAMPLE_DIM, 0, 0),
        .v_bias = add_weight(gpu, weights, SAMPLE_DIM, 0, 0),
        .out_weight = add_weight(gpu, weights, SAMPLE_DIM, SAMPLE_DIM, 0),
        .out_bias = add_weight(gpu, weights, SAMPLE_DIM, 0, 0),
    };
}

void sample_weights_create(vkf_test_gpu *gpu, sample_weights *out_weights)
{
    *out_weights = (sample_weights){0};
    add_attention(gpu, out_weights, &out_weights->self);
    add_attention(gpu, out_weights, &out_weights->cross);
    out_weights->feed_forward = (vkf_feed_forward_weights){
        .weight1 = add_weight(gpu, out_weights, SAMPLE_HIDDEN, SAMPLE_DIM, 0),
        .bias1 = add_weight(gpu, out_weights, SAMPLE_HIDDEN, 0, 0),
        .weight2 = add_weight(gpu, out_weights, SAMPLE_DIM, SAMPLE_HIDDEN, 0),
        .bias2 = add_weight(gpu, out_weights, SAMPLE_DIM, 0, 0),
    };
    for (size_t i = 0; i < 3; i++) {
        out_weights->norm[i].weight = add_weight(gpu, out_weights, SAMPLE_DIM, 0, 1);
        out_weights->norm[i].bias = add_weight(gpu, out_weights, SAMPLE_DIM, 0, 0);
    }
}

void sample_weights_destroy(sample_weights *weights)
{
    for (size_t i = 0; i < weights->count; i++)
        vkf_tensor_destroy(&weights->tensors[i]);
    *weights = (sample_weights){0};
}

static vkf_attention_desc attention_desc(const sample_weights *weights, vkf_layer_sizes max_sizes)
{
    return (vkf_attention_desc){
        .embed_dim = SAMPLE_DIM,
        .num_heads = SAMPLE_HEADS,
        .weights = true,
        .mask = {.kind = VKF_MASK_BOOL_EXCLUDE, .key_kind = VKF_MASK_LENGTHS},
        .params = weights->cross,
        .max_sizes = max_sizes,
    };
}

static vkf_feed_forward_desc feed_forward_desc(const sample_weights *weights, vkf_layer_sizes max_sizes)
{
    return (vkf_feed_forward_desc){
        .d_model = SAMPLE_DIM,
        .dim_feedforward = SAMPLE_HIDDEN,
        .activation = VKF_ACTIVATION_RELU,
        .params = weights->feed_forward,
        .max_sizes = max_sizes,
    };
}

static vkf_transformer_layer_desc transformer_desc(sample_kind kind, const sample_weights *weights,
                                                   vkf_layer_sizes max_sizes)
{
    return (vkf_transformer_layer_desc){
        .d_model = SAMPLE_DIM,
        .num_heads = SAMPLE_HEADS,
        .dim_feedforward = SAMPLE_HIDDEN,
        .activation = VKF_ACTIVATION_GELU_ERF,
        .layer_norm_eps = 1e-5f,
        .self = weights->self,
        .cross = weights->cross,
        .feed_forward = weights->feed_forward,
        .norm1 = weights->norm[0],
        .norm2 = weights->norm[1],
        .norm3 = weights->norm[2],
        .self_mask = {.causal = kind == SAMPLE_DECODER ? VKF_CAUSAL_TOP_LEFT : VKF_CAUSAL_NONE},
        .max_sizes = max_sizes,
    };
}

typedef struct sample_descs {
    vkf_attention_desc attention;
    vkf_feed_forward_desc feed_forward;
    vkf_transformer_layer_desc transformer;
} sample_descs;

static sample_descs descs_of(sample_kind kind, const sample_weights *weights, vkf_layer_sizes max_sizes,
                             const sample_options *options)
{
    sample_descs descs = {
        .attention = attention_desc(weights, max_sizes),
        .feed_forward = feed_forward_desc(weights, max_sizes),
        .transformer = transformer_desc(kind, weights, max_sizes),
    };
    memcpy(descs.attention.ports, options->ports, sizeof options->ports);
    memcpy(descs.feed_forward.ports, options->ports, sizeof options->ports);
    memcpy(descs.transformer.ports, options->ports, sizeof options->ports);
    descs.attention.frames_in_flight = options->frames_in_flight;
    descs.feed_forward.frames_in_flight = options->frames_in_flight;
    descs.transformer.frames_in_flight = options->frames_in_flight;
    return descs;
}

vkf_status sample_layer_create_with(vkf_context *context, sample_kind kind, const sample_weights *weights,
                                    vkf_layer_sizes max_sizes, const sample_options *options, vkf_layer **out_layer)
{
    const sample_descs descs = descs_of(kind, weights, max_sizes, options);
    if (kind == SAMPLE_ATTENTION)
        return vkf_attention_create(context, &descs.attention, out_layer);
    if (kind == SAMPLE_FEED_FORWARD)
        return vkf_feed_forward_create(context, &descs.feed_forward, out_layer);
    if (kind == SAMPLE_ENCODER)
        return vkf_encoder_layer_create(context, &descs.transformer, out_layer);
    return vkf_decoder_layer_create(context, &descs.transformer, out_layer);
}

vkf_status sample_layer_create(vkf_context *context, sample_kind kind, const sample_weights *weights,
                               vkf_layer_sizes max_sizes, vkf_layer **out_layer)
{
    const sample_options none = {0};
    return sample_layer_create_with(context, kind, weights, max_sizes, &none, out_layer);
}

vkf_status sample_layer_plan_with(vkf_context *context, sample_kind kind, const sample_weights *weights,
                                  vkf_layer_sizes max_sizes, const sample_options *options, vkf_memory_plan *out_plan)
{
    const sample_descs descs = descs_of(kind, weights, max_sizes, options);
    if (kind == SAMPLE_ATTENTION)
        return vkf_attention_plan(context, &descs.attention, out_plan);
    if (kind == SAMPLE_FEED_FORWARD)
        return vkf_feed_forward_plan(context, &descs.feed_forward, out_plan);
    if (kind == SAMPLE_ENCODER)
        return vkf_encoder_layer_plan(context, &descs.transformer, out_plan);
    return vkf_decoder_layer_plan(context, &descs.transformer, out_plan);
}

vkf_status sample_layer_plan(vkf_context *context, sample_kind kind, const sample_weights *weights,
                             vkf_layer_sizes max_sizes, vkf_memory_plan *out_plan)
{
    const sample_options none = {0};
    return sample_layer_plan_with(context, kind, weights, max_sizes, &none, out_plan);
}

size_t sample_data_outputs(const sample_data *data)
{
    return (size_t)data->sizes.batch * data->sizes.query_len * SAMPLE_DIM;
}

static size_t memory_count(const sample_data *data)
{
    return (size_t)data->sizes.batch * data->sizes.key_len * SAMPLE_DIM;
}

static size_t mask_count(const sample_data *data)
{
    return (size_t)data->sizes.query_len * data->sizes.key_len;
}

void sample_data_create(vkf_test_random *random, vkf_layer_sizes sizes, sample_data *out_data)
{
    sample_data data = {.sizes = sizes};
    size_t outputs = sample_data_outputs(&data);
    data.query = calloc(outputs, sizeof *data.query);
    data.out = calloc(outputs, sizeof *data.out);
    data.memory = calloc(memory_count(&data), sizeof *data.memory);
    data.mask = calloc(mask_count(&data), 1);
    data.lengths = calloc(sizes.batch, sizeof *data.lengths);
    assert_true(data.query && data.out && data.memory && data.mask && data.lengths);
    vkf_test_fill_normal(random, data.query, outputs, 0, 1);
    vkf_test_fill_normal(random, data.memory, memory_count(&data), 0, 1);
    vkf_test_fill_bools(random, data.mask, mask_count(&data), 0.25);
    for (uint32_t i = 0; i < sizes.batch; i++)
        data.lengths[i] = 1 + (int32_t)vkf_test_random_below(random, sizes.key_len);
    *out_data = data;
}

void sample_data_destroy(sample_data *data)
{
    free(data->query);
    free(data->out);
    free(data->memory);
    free(data->mask);
    free(data->lengths);
    *data = (sample_data){0};
}

vkf_status sample_layer_write(vkf_layer *layer, sample_kind kind, const sample_data *data)
{
    uint64_t memory_bytes = memory_count(data) * sizeof(float);
    vkf_status status = vkf_layer_write(layer, VKF_PORT_QUERY, data->query, sample_data_outputs(data) * sizeof(float));
    if (kind == SAMPLE_DECODER && status == VKF_OK)
        status = vkf_layer_write(layer, VKF_PORT_MEMORY, data->memory, memory_bytes);
    if (kind != SAMPLE_ATTENTION)
        return status;
    if (status == VKF_OK)
        status = vkf_layer_write(layer, VKF_PORT_KEY, data->memory, memory_bytes);
    if (status == VKF_OK)
        status = vkf_layer_write(layer, VKF_PORT_VALUE, data->memory, memory_bytes);
    if (status == VKF_OK)
        status = vkf_layer_write(layer, VKF_PORT_MASK, data->mask, mask_count(data));
    if (status == VKF_OK)
        status = vkf_layer_write(layer, VKF_PORT_KEY_MASK, data->lengths, data->sizes.batch * sizeof(int32_t));
    return status;
}

vkf_status sample_layer_run(vkf_layer *layer, sample_kind kind, sample_data *data)
{
    vkf_status status = sample_layer_write(layer, kind, data);
    if (status == VKF_OK)
        status = vkf_layer_run(layer, &data->sizes);
    if (status == VKF_OK)
        status = vkf_layer_read(layer, VKF_PORT_OUTPUT, data->out, sample_data_outputs(data) * sizeof(float));
    return status;
}
