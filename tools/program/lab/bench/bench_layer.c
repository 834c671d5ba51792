// vkformer bench layer: a whole encoder or decoder layer.
#include "lab/bench/bench.h"
#include "lab/bench/bench_data.h"
#include "lab/bench/bench_dispatches.h"
#include "lab/bench/bench_measure.h"
#include "lab/bench/bench_operator.h"
#include "lab/bench/random_layer.h"

static double count_flops(const vkf_layer_shape *sizes)
{
    double rows = (double)sizes->batch * sizes->len;
    double memory_rows = (double)sizes->batch * sizes->memory_len;
    double d = sizes->d_model;
    double self = 8 * rows * d * d + 4 * rows * d * (sizes->decoder ? (sizes->len + 1.0) / 2 : sizes->len);
    double cross = 4 * rows * d * d + 4 * memory_rows * d * d + 4 * rows * sizes->memory_len * d;
    double feed_forward = 4 * rows * d * sizes->ff;
    return self + (sizes->decoder ? cross : 0) + feed_forward;
}

static vkf_status measure(vkf_bench *bench, vkf_bench_data *data, vkf_layer *layer, const vkf_layer_shape *sizes)
{
    vkf_layer_sizes run = {.batch = sizes->batch, .query_len = sizes->len, .key_len = sizes->memory_len};
    vkf_bench_dispatches dispatches = vkf_bench_dispatches_begin(bench->context, layer, &run);
    double memory_rows = sizes->decoder ? (double)sizes->batch * sizes->memory_len : 0;
    double rows = (double)sizes->batch * sizes->len;
    vkf_bench_case bench_case = {
        .op = "layer",
        .shape = vkf_layer_shape_json(sizes),
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
    const vkf_bench_settings *settings = &bench->options->settings;
    vkf_layer_shape sizes;
    if (!vkf_layer_shape_make(shape, settings->kind, settings->activation, &sizes))
        return VKF_ERROR_INVALID_ARGUMENT;
    vkf_bench_data data = vkf_bench_data_begin(bench->context, types);
    vkf_layer *layer = vkf_random_layer(&data, &sizes, NULL);
    vkf_status status = layer ? measure(bench, &data, layer, &sizes) : data.status;
    vkf_bench_data_end(&data);
    return status;
}

static bool check_layer(const vkf_bench_options *options, const vkf_bench_shape *shape)
{
    vkf_layer_shape sizes;
    return vkf_layer_shape_make(shape, options->settings.kind, options->settings.activation, &sizes);
}

static const vkf_option settings_table[] = {
    VKF_OPTION(vkf_bench_settings, "kind", TEXT, kind),
    VKF_OPTION(vkf_bench_settings, "activation", TEXT, activation),
    VKF_OPTION(vkf_bench_settings, "details", FLAG, details),
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
    .extents = VKF_LAYER_EXTENTS,
    .settings = settings_table,
    .setting_count = sizeof settings_table / sizeof settings_table[0],
    .mixed_types = true,
    .check = check_layer,
    .run = run_layer,
};
