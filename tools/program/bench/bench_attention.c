// vkformer bench attention: out = softmax(q k^T / sqrt(head_dim)) v of every head, as one operator.
#include "bench/bench.h"
#include "bench/bench_operator.h"
#include "output/json_output.h"

// In the order of the extents; the number of key and value heads comes last.
typedef struct attention_sizes {
    uint32_t batch;
    uint32_t heads;
    uint32_t q_len;
    uint32_t kv_len;
    uint32_t head_dim;
    uint32_t kv_heads;
} attention_sizes;

static vkf_status call_attention(vkf_context *context, const void *desc)
{
    return vkf_scaled_dot_product_attention(context, desc);
}

static json_t *shape_of(const attention_sizes *sizes, bool causal)
{
    json_t *shape = json_object();
    vkf_json_put_integer(shape, "batch", sizes->batch);
    vkf_json_put_integer(shape, "heads", sizes->heads);
    vkf_json_put_integer(shape, "q_len", sizes->q_len);
    vkf_json_put_integer(shape, "kv_len", sizes->kv_len);
    vkf_json_put_integer(shape, "head_dim", sizes->head_dim);
    if (sizes->kv_heads != sizes->heads)
        vkf_json_put_integer(shape, "kv_heads", sizes->kv_heads);
    json_object_set_new(shape, "causal", json_boolean(causal));
    return shape;
}

static vkf_bench_cost cost_of(const attention_sizes *sizes, bool causal, vkf_dtype dtype)
{
    double batch = sizes->batch, dim = sizes->head_dim;
    double query_bytes = vkf_bench_bytes(batch * sizes->heads * sizes->q_len * dim, dtype);
    double key_bytes = vkf_bench_bytes(batch * sizes->kv_heads * sizes->kv_len * dim, dtype);
    return (vkf_bench_cost){
        .flops = 4 * batch * sizes->heads * dim * vkf_bench_attention_pairs(sizes->q_len, sizes->kv_len, causal),
        .bytes_read = query_bytes + 2 * key_bytes,
        .bytes_written = query_bytes,
    };
}

static vkf_status run_attention(vkf_bench *bench, const vkf_bench_types *types, const vkf_bench_shape *shape)
{
    const vkf_bench_settings *settings = &bench->options->settings;
    const uint32_t *e = shape->values;
    const attention_sizes s = {e[0], e[1], e[2], e[3], e[4], settings->kv_heads ? settings->kv_heads : e[1]};
    const uint32_t query[] = {s.batch, s.heads, s.q_len, s.head_dim};
    const uint32_t key[] = {s.batch, s.kv_heads, s.kv_len, s.head_dim};
    vkf_bench_data data = vkf_bench_data_begin(bench->context, types);
    const vkf_sdpa_desc desc = {
        .query = vkf_bench_random(&data, 4, query),
        .key = vkf_bench_random(&data, 4, key),
        .value = vkf_bench_random(&data, 4, key),
        .out = vkf_bench_random(&data, 4, query),
        .causal = settings->causal ? VKF_CAUSAL_TOP_LEFT : VKF_CAUSAL_NONE,
    };
    vkf_bench_operator call = {.call = call_attention, .desc = &desc};
    vkf_bench_case bench_case = {
        .op = "attention",
        .shape = shape_of(&s, settings->causal),
        .types = *types,
        .cost = cost_of(&s, settings->causal, types->activations),
    };
    vkf_status status = vkf_bench_measure_operator(bench, &data, &bench_case, &call);
    vkf_bench_data_end(&data);
    return status;
}

static bool check_attention(const vkf_bench_options *options, const vkf_bench_shape *shape)
{
    uint32_t heads = shape->values[1], kv_heads = options->settings.kv_heads;
    if (kv_heads == 0 || heads % kv_heads == 0)
        return true;
    vkf_print_error("--kv-heads: %u is no divisor of %u heads", kv_heads, heads);
    return false;
}

static const vkf_bench_setting settings_table[] = {
    {"causal", VKF_BENCH_FLAG, offsetof(vkf_bench_settings, causal), 0},
    {"kv-heads", VKF_BENCH_NUMBER, offsetof(vkf_bench_settings, kv_heads), 1u << 12},
};

const vkf_bench_spec vkf_bench_attention = {
    .name = "attention",
    .summary = "attention of heads",
    .help =
        "Measures out = softmax(q k^T / sqrt(D)) v for every head, as one call of\n"
        "vkf_scaled_dot_product_attention(). B sequences, H heads, L queries, S keys, heads of D elements. bench mha\n"
        "measures a multi-head attention with its projections.\n"
        "\n"
        "  --causal           query i sees keys 0 to i, and only these operations are counted\n"
        "  --kv-heads N       grouped heads: keys and values have N heads, a divisor of H (default H)\n",
    .extents = {.list = {{'B', "batch", 1u << 16, 1, 0},
                         {'H', "heads", 1u << 12, 0, 0},
                         {'L', "q-len", 1u << 20, 0, 0},
                         {'S', "kv-len", 1u << 20, 0, 'L'},
                         {'D', "head-dim", 1u << 12, 0, 0}},
                .count = 5,
                .forms = {"BHLSD", "BHLD", "HLD"}},
    .settings = settings_table,
    .setting_count = sizeof settings_table / sizeof settings_table[0],
    .check = check_attention,
    .run = run_attention,
};
