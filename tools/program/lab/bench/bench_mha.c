// vkformer bench mha: a multi-head attention with its four projections, like torch.nn.MultiheadAttention.
#include "lab/bench/bench.h"
#include "lab/bench/bench_data.h"
#include "lab/bench/bench_dispatches.h"
#include "lab/bench/bench_measure.h"
#include "lab/bench/bench_operator.h"
#include "output/json_output.h"

// In the order of the extents. If there are as many keys as queries, it is self-attention on one input.
typedef struct mha_sizes {
    uint32_t batch;
    uint32_t q_len;
    uint32_t kv_len;
    uint32_t embed_dim;
    uint32_t heads;
} mha_sizes;

static vkf_attention_desc describe(vkf_bench_data *data, const mha_sizes *sizes, bool causal)
{
    uint32_t embed_dim = sizes->embed_dim;
    return (vkf_attention_desc){
        .embed_dim = embed_dim,
        .num_heads = sizes->heads,
        .self_attention = sizes->q_len == sizes->kv_len,
        .mask.causal = causal ? VKF_CAUSAL_TOP_LEFT : VKF_CAUSAL_NONE,
        .params = vkf_bench_attention_weights(data, embed_dim),
        .dtype = data->types.activations,
        .max_sizes = {.batch = sizes->batch, .query_len = sizes->q_len, .key_len = sizes->kv_len},
    };
}

static vkf_layer *create_layer(vkf_bench_data *data, const mha_sizes *sizes, bool causal)
{
    static const vkf_port inputs[] = {VKF_PORT_QUERY, VKF_PORT_KEY, VKF_PORT_VALUE};
    const vkf_attention_desc desc = describe(data, sizes, causal);
    vkf_layer *layer = NULL;
    if (data->status == VKF_OK)
        data->status = vkf_attention_create(data->context, &desc, &layer);
    for (size_t i = 0; data->status == VKF_OK && i < sizeof inputs / sizeof inputs[0]; i++) {
        vkf_tensor port;
        if (vkf_layer_get_port(layer, inputs[i], &port))
            vkf_bench_fill(data, &port, 1.0f);
    }
    if (data->status != VKF_OK) {
        vkf_print_error("the multi-head attention cannot be made: %s", vkf_status_text(data->status));
        vkf_layer_destroy(&layer);
    }
    return layer;
}

static json_t *shape_of(const mha_sizes *sizes, bool causal)
{
    json_t *shape = json_object();
    vkf_json_put_integer(shape, "batch", sizes->batch);
    vkf_json_put_integer(shape, "q_len", sizes->q_len);
    vkf_json_put_integer(shape, "kv_len", sizes->kv_len);
    vkf_json_put_integer(shape, "embed_dim", sizes->embed_dim);
    vkf_json_put_integer(shape, "heads", sizes->heads);
    json_object_set_new(shape, "causal", json_boolean(causal));
    return shape;
}

// The cost of the projections of queries and results and of keys and values, and that of the attention between them.
// For the attention, all heads together count as one with embed_dim elements.
static vkf_bench_cost cost_of(const mha_sizes *sizes, bool causal, const vkf_bench_data *data)
{
    double batch = sizes->batch, d = sizes->embed_dim;
    double query_rows = batch * sizes->q_len, key_rows = batch * sizes->kv_len;
    double other_inputs = sizes->q_len == sizes->kv_len ? 0 : 2 * key_rows * d;
    double pairs = vkf_bench_attention_pairs(sizes->q_len, sizes->kv_len, causal);
    vkf_dtype dtype = data->types.activations;
    return (vkf_bench_cost){
        .flops = 4 * (query_rows + key_rows) * d * d + 4 * batch * d * pairs,
        .bytes_read = data->weight_bytes + vkf_bench_bytes(query_rows * d + other_inputs, dtype),
        .bytes_written = vkf_bench_bytes(query_rows * d, dtype),
    };
}

static vkf_status measure(vkf_bench *bench, const vkf_bench_data *data, vkf_layer *layer, const mha_sizes *sizes)
{
    const vkf_bench_settings *settings = &bench->options->settings;
    vkf_layer_sizes run = {.batch = sizes->batch, .query_len = sizes->q_len, .key_len = sizes->kv_len};
    vkf_bench_dispatches dispatches = vkf_bench_dispatches_begin(bench->context, layer, &run);
    vkf_bench_case bench_case = {
        .op = "mha",
        .shape = shape_of(sizes, settings->causal),
        .types = data->types,
        .cost = cost_of(sizes, settings->causal, data),
        .run = vkf_bench_dispatches_run,
        .variant = vkf_bench_dispatches_variant,
        .details = settings->details ? vkf_bench_dispatches_details : NULL,
        .user = &dispatches,
    };
    vkf_status status = vkf_bench_measure(bench, &bench_case);
    vkf_bench_dispatches_end(&dispatches);
    return status;
}

static vkf_status run_mha(vkf_bench *bench, const vkf_bench_types *types, const vkf_bench_shape *shape)
{
    const uint32_t *e = shape->values;
    const mha_sizes sizes = {e[0], e[1], e[2], e[3], e[4]};
    vkf_bench_data data = vkf_bench_data_begin(bench->context, types);
    vkf_layer *layer = create_layer(&data, &sizes, bench->options->settings.causal);
    vkf_status status = layer ? measure(bench, &data, layer, &sizes) : data.status;
    vkf_bench_data_end(&data);
    return status;
}

static bool check_mha(const vkf_bench_options *options, const vkf_bench_shape *shape)
{
    uint32_t embed_dim = shape->values[3], heads = shape->values[4];
    (void)options;
    if (embed_dim % heads == 0)
        return true;
    vkf_print_error("%u heads are no divisor of embed-dim, %u", heads, embed_dim);
    return false;
}

static const vkf_option settings_table[] = {
    VKF_OPTION(vkf_bench_settings, "causal", FLAG, causal),
    VKF_OPTION(vkf_bench_settings, "details", FLAG, details),
};

const vkf_bench_spec vkf_bench_mha = {
    .name = "mha",
    .summary = "multi-head attention",
    .help =
        "Measures one run of a multi-head attention as torch.nn.MultiheadAttention has it: projections with biases of\n"
        "queries, keys and values, attention, and the projection of its result. gpu is the sum over its dispatches.\n"
        "B sequences, L queries, S keys, embed_dim E, H heads (a divisor of E). With as many keys as queries it is\n"
        "self-attention, of one input.\n"
        "\n"
        "  --causal           query i sees keys 0 to i, and only these operations are counted\n"
        "  --details          list every dispatch with its shortest time (tables and JSON)\n",
    .extents = {.list = {{'B', "batch", 1u << 16, 1, 0},
                         {'L', "q-len", 1u << 20, 0, 0},
                         {'S', "kv-len", 1u << 20, 0, 'L'},
                         {'E', "embed-dim", 1u << 20, 0, 0},
                         {'H', "heads", 1u << 12, 0, 0}},
                .count = 5,
                .forms = {"BLSEH", "BLEH", "LEH"}},
    .settings = settings_table,
    .setting_count = sizeof settings_table / sizeof settings_table[0],
    .mixed_types = true,
    .check = check_mha,
    .run = run_mha,
};
