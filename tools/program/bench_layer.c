// vkformer bench layer: a whole encoder or decoder layer.
#include <string.h>

#include "bench.h"
#include "bench_data.h"
#include "bench_dispatches.h"
#include "bench_measure.h"
#include "bench_operator.h"
#include "json_output.h"

// In the order of the extents, and what kind it is.
typedef struct layer_sizes {
    uint32_t batch;
    uint32_t len;
    uint32_t d_model;
    uint32_t heads;
    uint32_t ff;
    uint32_t memory_len;
    bool decoder;
    vkf_activation activation;
} layer_sizes;

static vkf_norm_weights norm_weights(vkf_bench_data *data, uint32_t d_model)
{
    return (vkf_norm_weights){
        .weight = vkf_bench_vector(data, d_model, 1.0f),
        .bias = vkf_bench_vector(data, d_model, 0.1f),
    };
}

static vkf_transformer_layer_desc describe(vkf_bench_data *data, const layer_sizes *sizes)
{
    uint32_t d_model = sizes->d_model;
    vkf_transformer_layer_desc desc = {
        .d_model = d_model,
        .num_heads = sizes->heads,
        .dim_feedforward = sizes->ff,
        .activation = sizes->activation,
        .layer_norm_eps = 1e-5f,
        .self = vkf_bench_attention_weights(data, d_model),
        .feed_forward =
            {
                .weight1 = vkf_bench_linear(data, sizes->ff, d_model),
                .bias1 = vkf_bench_vector(data, sizes->ff, 0.1f),
                .weight2 = vkf_bench_linear(data, d_model, sizes->ff),
                .bias2 = vkf_bench_vector(data, d_model, 0.1f),
            },
        .norm1 = norm_weights(data, d_model),
        .norm2 = norm_weights(data, d_model),
        .dtype = data->types.activations,
        .max_sizes = {.batch = sizes->batch, .query_len = sizes->len, .key_len = sizes->memory_len},
    };
    if (sizes->decoder) {
        desc.cross = vkf_bench_attention_weights(data, d_model);
        desc.norm3 = norm_weights(data, d_model);
        desc.self_mask.causal = VKF_CAUSAL_TOP_LEFT;
    }
    return desc;
}

static vkf_layer *create_layer(vkf_bench_data *data, const layer_sizes *sizes)
{
    const vkf_transformer_layer_desc desc = describe(data, sizes);
    vkf_layer *layer = NULL;
    vkf_tensor port;
    if (data->status == VKF_OK)
        data->status = sizes->decoder ? vkf_decoder_layer_create(data->context, &desc, &layer)
                                      : vkf_encoder_layer_create(data->context, &desc, &layer);
    if (data->status == VKF_OK && vkf_layer_port(layer, VKF_PORT_QUERY, &port))
        vkf_bench_fill(data, &port, 1.0f);
    if (data->status == VKF_OK && vkf_layer_port(layer, VKF_PORT_MEMORY, &port))
        vkf_bench_fill(data, &port, 1.0f);
    if (data->status != VKF_OK) {
        vkf_print_error("the layer cannot be made: %s", vkf_status_text(data->status));
        vkf_layer_destroy(&layer);
    }
    return layer;
}

static double count_flops(const layer_sizes *sizes)
{
    double rows = (double)sizes->batch * sizes->len;
    double memory_rows = (double)sizes->batch * sizes->memory_len;
    double d = sizes->d_model;
    double self = 8 * rows * d * d + 4 * rows * d * (sizes->decoder ? (sizes->len + 1.0) / 2 : sizes->len);
    double cross = 4 * rows * d * d + 4 * memory_rows * d * d + 4 * rows * sizes->memory_len * d;
    double feed_forward = 4 * rows * d * sizes->ff;
    return self + (sizes->decoder ? cross : 0) + feed_forward;
}

static json_t *shape_of(const layer_sizes *sizes)
{
    json_t *shape = json_object();
    vkf_json_put_integer(shape, "batch", sizes->batch);
    vkf_json_put_integer(shape, "len", sizes->len);
    vkf_json_put_integer(shape, "d_model", sizes->d_model);
    vkf_json_put_integer(shape, "heads", sizes->heads);
    vkf_json_put_integer(shape, "ff", sizes->ff);
    if (sizes->decoder)
        vkf_json_put_integer(shape, "memory_len", sizes->memory_len);
    vkf_json_put_string(shape, "kind", sizes->decoder ? "decoder" : "encoder");
    vkf_json_put_string(shape, "activation", sizes->activation == VKF_ACTIVATION_RELU ? "relu" : "gelu");
    return shape;
}

static vkf_status measure(vkf_bench *bench, vkf_bench_data *data, vkf_layer *layer, const layer_sizes *sizes)
{
    vkf_layer_sizes run = {.batch = sizes->batch, .query_len = sizes->len, .key_len = sizes->memory_len};
    vkf_bench_dispatches dispatches = vkf_bench_dispatches_begin(bench->context, layer, &run);
    double memory_rows = sizes->decoder ? (double)sizes->batch * sizes->memory_len : 0;
    double rows = (double)sizes->batch * sizes->len;
    vkf_bench_case bench_case = {
        .op = "layer",
        .shape = shape_of(sizes),
        .types = data->types,
        .cost =
            {
                .flops = count_flops(sizes),
                .bytes_read = data->weight_bytes +
                              vkf_bench_bytes((rows + memory_rows) * sizes->d_model, data->types.activations),
                .bytes_written = vkf_bench_bytes(rows * sizes->d_model, data->types.activations),
            },
        .run = vkf_bench_dispatches_run,
        .variant = vkf_bench_dispatches_variant,
        .details = bench->options->settings.details ? vkf_bench_dispatches_details : NULL,
        .user = &dispatches,
    };
    vkf_status status = vkf_bench_measure(bench, &bench_case);
    vkf_bench_dispatches_end(&dispatches);
    return status;
}

static vkf_status run_layer(vkf_bench *bench, const vkf_bench_types *types, const vkf_bench_shape *shape)
{
    const uint32_t *e = shape->values;
    const bool decoder = strcmp(bench->options->settings.kind, "decoder") == 0;
    const bool gelu = strcmp(bench->options->settings.activation, "gelu") == 0;
    const layer_sizes sizes = {
        e[0], e[1], e[2], e[3], e[4], e[5], decoder, gelu ? VKF_ACTIVATION_GELU_ERF : VKF_ACTIVATION_RELU,
    };
    vkf_bench_data data = vkf_bench_data_begin(bench->context, types);
    vkf_layer *layer = create_layer(&data, &sizes);
    vkf_status status = layer ? measure(bench, &data, layer, &sizes) : data.status;
    vkf_bench_data_end(&data);
    return status;
}

static bool check_layer(const vkf_bench_options *options, const vkf_bench_shape *shape)
{
    const char *kind = options->settings.kind, *activation = options->settings.activation;
    if (strcmp(kind, "encoder") != 0 && strcmp(kind, "decoder") != 0) {
        vkf_print_error("--kind: '%.200s' is neither encoder nor decoder", kind);
        return false;
    }
    if (strcmp(activation, "relu") != 0 && strcmp(activation, "gelu") != 0) {
        vkf_print_error("--activation: '%.200s' is neither relu nor gelu", activation);
        return false;
    }
    if (shape->values[2] % shape->values[3] != 0) {
        vkf_print_error("%u heads are no divisor of d-model, %u", shape->values[3], shape->values[2]);
        return false;
    }
    return true;
}

static const vkf_bench_setting settings_table[] = {
    {"kind", VKF_BENCH_TEXT, offsetof(vkf_bench_settings, kind), 0},
    {"activation", VKF_BENCH_TEXT, offsetof(vkf_bench_settings, activation), 0},
    {"details", VKF_BENCH_FLAG, offsetof(vkf_bench_settings, details), 0},
};

const vkf_bench_spec vkf_bench_layer = {
    .name = "layer",
    .summary = "encoder or decoder layer",
    .help =
        "Measures one run of a layer as torch.nn.TransformerEncoderLayer or TransformerDecoderLayer has it, with\n"
        "biases and norms behind the residual sums; a decoder layer's self attention is causal. gpu is the\n"
        "sum over its dispatches. B sequences of L tokens, d_model D, H heads (a divisor of D), a feed-forward part\n"
        "of width F; the cross attention of a decoder layer sees S tokens.\n"
        "\n"
        "  --kind KIND        encoder (default) or decoder\n"
        "  --activation A     of the feed-forward part: relu (default) or gelu\n"
        "  --details          list every dispatch with its shortest time (tables and JSON)\n",
    .extents = {.list = {{'B', "batch", 1u << 16, 1, 0},
                         {'L', "len", 1u << 20, 0, 0},
                         {'D', "d-model", 1u << 20, 0, 0},
                         {'H', "heads", 1u << 12, 0, 0},
                         {'F', "ff", 1u << 22, 0, 0},
                         {'S', "memory-len", 1u << 20, 0, 'L'}},
                .count = 6,
                .forms = {"BLDHF", "BLDHFS"}},
    .settings = settings_table,
    .setting_count = sizeof settings_table / sizeof settings_table[0],
    .mixed_types = true,
    .check = check_layer,
    .run = run_layer,
};
