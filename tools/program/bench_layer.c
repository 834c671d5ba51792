// vkformer bench layer: a whole encoder or decoder layer.
#include <stdio.h>
#include <string.h>

#include "bench.h"
#include "bench_data.h"
#include "bench_dispatches.h"
#include "bench_measure.h"
#include "commands.h"
#include "json_output.h"

typedef struct layer_sizes {
    const char *kind_name;
    bool decoder;
    uint32_t d_model;
    uint32_t heads;
    uint32_t ff;
    uint32_t len;
    uint32_t memory_len;
    uint32_t batch;
    bool details;
} layer_sizes;

static const char help[] =
    "usage: vkformer bench layer --kind encoder|decoder --d-model D --heads H --ff F --len L [OPTIONS]\n"
    "\n"
    "Measures one run of a layer as torch.nn.TransformerEncoderLayer or TransformerDecoderLayer has it, with\n"
    "ReLU, biases and norms behind the residual sums; a decoder layer's self attention is causal. gpu is the\n"
    "sum over its dispatches.\n"
    "\n"
    "  --kind KIND        encoder or decoder\n"
    "  --d-model D\n"
    "  --heads H          a divisor of D\n"
    "  --ff F             width of the feed-forward part\n"
    "  --len L\n"
    "  --memory-len S     tokens that a decoder layer's cross attention sees (default L)\n"
    "  --batch B          default 1\n"
    "  --details          list every dispatch with its shortest time (not with --json)\n" VKF_BENCH_HELP;

static vkf_attention_weights attention_weights(vkf_bench_data *data, uint32_t d_model)
{
    return (vkf_attention_weights){
        .q_weight = vkf_bench_linear(data, d_model, d_model),
        .k_weight = vkf_bench_linear(data, d_model, d_model),
        .v_weight = vkf_bench_linear(data, d_model, d_model),
        .q_bias = vkf_bench_random(data, d_model, 0, 0.1f),
        .k_bias = vkf_bench_random(data, d_model, 0, 0.1f),
        .v_bias = vkf_bench_random(data, d_model, 0, 0.1f),
        .out_weight = vkf_bench_linear(data, d_model, d_model),
        .out_bias = vkf_bench_random(data, d_model, 0, 0.1f),
    };
}

static vkf_norm_weights norm_weights(vkf_bench_data *data, uint32_t d_model)
{
    return (vkf_norm_weights){
        .weight = vkf_bench_random(data, d_model, 0, 1.0f),
        .bias = vkf_bench_random(data, d_model, 0, 0.1f),
    };
}

static vkf_layer *create_layer(vkf_bench_data *data, const layer_sizes *sizes)
{
    uint32_t d_model = sizes->d_model;
    vkf_transformer_layer_desc desc = {
        .d_model = d_model,
        .num_heads = sizes->heads,
        .dim_feedforward = sizes->ff,
        .activation = VKF_ACTIVATION_RELU,
        .layer_norm_eps = 1e-5f,
        .self = attention_weights(data, d_model),
        .feed_forward =
            {
                .weight1 = vkf_bench_linear(data, sizes->ff, d_model),
                .bias1 = vkf_bench_random(data, sizes->ff, 0, 0.1f),
                .weight2 = vkf_bench_linear(data, d_model, sizes->ff),
                .bias2 = vkf_bench_random(data, d_model, 0, 0.1f),
            },
        .norm1 = norm_weights(data, d_model),
        .norm2 = norm_weights(data, d_model),
        .dtype = data->dtype,
        .max_sizes = {.batch = sizes->batch, .query_len = sizes->len, .key_len = sizes->memory_len},
    };
    if (sizes->decoder) {
        desc.cross = attention_weights(data, d_model);
        desc.norm3 = norm_weights(data, d_model);
        desc.self_mask.causal = VKF_CAUSAL_TOP_LEFT;
    }
    vkf_layer *layer = NULL;
    if (data->status == VKF_OK)
        data->status = sizes->decoder ? vkf_decoder_layer_create(data->context, &desc, &layer)
                                      : vkf_encoder_layer_create(data->context, &desc, &layer);
    vkf_tensor port;
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
    double self = 8 * rows * d * d + 4 * rows * sizes->len * d * (sizes->decoder ? 0.5 : 1.0);
    double cross = 4 * rows * d * d + 4 * memory_rows * d * d + 4 * rows * sizes->memory_len * d;
    double feed_forward = 4 * rows * d * sizes->ff;
    return self + (sizes->decoder ? cross : 0) + feed_forward;
}

static json_t *shape_of(const layer_sizes *sizes)
{
    json_t *shape = json_object();
    vkf_json_put_string(shape, "kind", sizes->kind_name);
    vkf_json_put_integer(shape, "d_model", sizes->d_model);
    vkf_json_put_integer(shape, "heads", sizes->heads);
    vkf_json_put_integer(shape, "ff", sizes->ff);
    vkf_json_put_integer(shape, "len", sizes->len);
    vkf_json_put_integer(shape, "batch", sizes->batch);
    if (sizes->decoder)
        vkf_json_put_integer(shape, "memory_len", sizes->memory_len);
    return shape;
}

static bool measure(const vkf_bench_options *options, vkf_context *context, const layer_sizes *sizes)
{
    vkf_bench_data data = vkf_bench_data_begin(context, options->dtype);
    vkf_layer_sizes run = {.batch = sizes->batch, .query_len = sizes->len, .key_len = sizes->memory_len};
    vkf_layer *layer = create_layer(&data, sizes);
    bool done = false;
    if (layer) {
        vkf_bench_dispatches dispatches = vkf_bench_dispatches_begin(context, layer, &run);
        double tokens = (double)sizes->batch * (2.0 * sizes->len + (sizes->decoder ? sizes->memory_len : 0));
        vkf_bench_case bench_case = {
            .op = "layer",
            .shape = shape_of(sizes),
            .flops = count_flops(sizes),
            .bytes = (double)data.bytes + tokens * sizes->d_model * (double)vkf_dtype_size(options->dtype),
            .run = vkf_bench_dispatches_run,
            .variant = vkf_bench_dispatches_variant,
            .user = &dispatches,
        };
        done = vkf_bench_measure(options, context, &bench_case);
        if (done && sizes->details && !options->json)
            vkf_bench_dispatches_print(&dispatches);
        vkf_bench_dispatches_end(&dispatches);
    }
    vkf_bench_data_end(&data);
    return done;
}

static bool check(layer_sizes *sizes)
{
    sizes->decoder = strcmp(sizes->kind_name, "decoder") == 0;
    if (!sizes->decoder && strcmp(sizes->kind_name, "encoder") != 0) {
        vkf_print_error("--kind: '%.200s' is neither encoder nor decoder", sizes->kind_name);
        return false;
    }
    if (sizes->d_model % sizes->heads != 0) {
        vkf_print_error("--heads: %u is no divisor of the %u of --d-model", sizes->heads, sizes->d_model);
        return false;
    }
    if (sizes->memory_len == UINT32_MAX)
        sizes->memory_len = sizes->len;
    return true;
}

int vkf_bench_layer(int argc, char **argv)
{
    layer_sizes sizes = {.batch = 1, .memory_len = UINT32_MAX};
    const vkf_bench_parameter parameters[] = {
        {.name = "kind", .text = &sizes.kind_name},
        {.name = "d-model", .number = &sizes.d_model, .max = 1u << 20},
        {.name = "heads", .number = &sizes.heads, .max = 1u << 12},
        {.name = "ff", .number = &sizes.ff, .max = 1u << 22},
        {.name = "len", .number = &sizes.len, .max = 1u << 20},
        {.name = "memory-len", .number = &sizes.memory_len, .max = 1u << 20},
        {.name = "batch", .number = &sizes.batch, .max = 1u << 16},
        {.name = "details", .flag = &sizes.details},
    };
    vkf_bench_options options;
    vkf_context *context = NULL;
    int code = vkf_bench_parse(argc, argv, help, parameters, sizeof parameters / sizeof parameters[0], &options);
    if (code < 0 && !check(&sizes))
        code = VKF_EXIT_USAGE;
    if (code < 0) {
        code = VKF_EXIT_FAILED;
        if (vkf_open_context(&options.common, &context) == VKF_OK && measure(&options, context, &sizes))
            code = VKF_EXIT_DONE;
        vkf_context_destroy(&context);
        code = vkf_common_exit_code(&options.common, code);
    }
    vkf_common_free(&options.common);
    return code;
}
