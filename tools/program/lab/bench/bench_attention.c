// vkformer bench attention: out = softmax(q k^T / sqrt(head_dim)) v of every head, as one operator, or with its
// gradients.
#include <math.h>

#include "lab/bench/bench.h"
#include "lab/bench/bench_both_ways.h"
#include "lab/bench/bench_operator.h"
#include "op/train/attention_grad.h"
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

// Attention forward and back.
typedef struct taped_attention {
    vkf__attention_train_args forward;
    vkf__attention_grad_args back;
    vkf_bench_both_ways ways;
} taped_attention;

static vkf_status emit_both_ways(vkf__work *work, const void *args)
{
    taped_attention *a = *(taped_attention *const *)args;
    VKF_RETURN_IF_ERROR(vkf__emit_attention_train(work, &a->forward));
    a->ways.first_back = (uint32_t)work->at.node;
    return vkf__emit_attention_grad(work, &a->back);
}

// (batch, heads, length, head_dim)
static vkf__heads_span random_heads(vkf_bench_data *data, const attention_sizes *s, uint32_t heads, uint32_t length)
{
    const vkf_tensor tensor = vkf_bench_random(data, 4, (const uint32_t[]){s->batch, heads, length, s->head_dim});
    return (vkf__heads_span){vkf__span_of(&tensor), heads * length * s->head_dim, s->head_dim, length * s->head_dim};
}

static void make_both_ways(vkf_bench_data *data, const attention_sizes *s, bool causal, taped_attention *out)
{
    const vkf_tensor row_stats = vkf_bench_random(data, 4, (const uint32_t[]){2, s->batch, s->heads, s->q_len});
    const vkf__attention_args forward = {
        .label = "attention",
        .q = random_heads(data, s, s->heads, s->q_len),
        .k = random_heads(data, s, s->kv_heads, s->kv_len),
        .v = random_heads(data, s, s->kv_heads, s->kv_len),
        .out = random_heads(data, s, s->heads, s->q_len),
        .batch = s->batch,
        .heads = s->heads,
        .kv_heads = s->kv_heads,
        .q_len = s->q_len,
        .k_len = s->kv_len,
        .head_dim = s->head_dim,
        .v_head_dim = s->head_dim,
        .masks.cols = s->kv_len,
        .masks.causal = causal,
        .masks.scale = 1 / sqrtf((float)s->head_dim),
    };
    out->forward = (vkf__attention_train_args){.forward = forward, .row_stats = vkf__span_of(&row_stats)};
    out->back = (vkf__attention_grad_args){
        .label = "attention_grad",
        .forward = forward,
        .dout = random_heads(data, s, s->heads, s->q_len),
        .dq = random_heads(data, s, s->heads, s->q_len),
        .dk = random_heads(data, s, s->kv_heads, s->kv_len),
        .dv = random_heads(data, s, s->kv_heads, s->kv_len),
        .row_stats = out->forward.row_stats,
    };
}

static vkf_status measure_both_ways(vkf_bench *bench, const vkf_bench_data *data, vkf_bench_case *bench_case,
                                    taped_attention *a)
{
    taped_attention *const args = a;
    vkf_status status = data->status;
    if (status == VKF_OK)
        status = vkf_bench_recording_begin(bench->context, "attention", emit_both_ways, &args, &a->ways.recording);
    if (status == VKF_OK)
        return vkf_bench_measure(bench, bench_case);
    vkf_print_error("attention and its gradients cannot be recorded: %s", vkf_status_text(status));
    json_decref(bench_case->shape);
    return status;
}

static vkf_status run_both_ways(vkf_bench *bench, const vkf_bench_types *types, const attention_sizes *s)
{
    const vkf_bench_settings *settings = &bench->options->settings;
    const vkf_bench_cost forward = cost_of(s, settings->causal, VKF_DTYPE_F32);
    vkf_bench_data data = vkf_bench_data_begin(bench->context, types);
    taped_attention a = {0};
    make_both_ways(&data, s, settings->causal, &a);
    // Five products on the way back for two forward, of which the first is made again.
    vkf_bench_case bench_case = {
        .op = "attention",
        .shape = shape_of(s, settings->causal),
        .types = *types,
        .cost = {3.5 * forward.flops, 3 * forward.bytes_read, 2 * forward.bytes_written + forward.bytes_read},
        .run = vkf_bench_both_ways_run,
        .variant = vkf_bench_both_ways_ratio,
        .details = settings->details ? vkf_bench_both_ways_details : NULL,
        .user = &a.ways,
    };
    json_object_set_new(bench_case.shape, "gradients", json_true());
    const vkf_status status = measure_both_ways(bench, &data, &bench_case, &a);
    vkf_bench_recording_end(&a.ways.recording);
    vkf_bench_data_end(&data);
    return status;
}

static vkf_status run_attention(vkf_bench *bench, const vkf_bench_types *types, const vkf_bench_shape *shape)
{
    const vkf_bench_settings *settings = &bench->options->settings;
    const uint32_t *e = shape->values;
    const attention_sizes s = {e[0], e[1], e[2], e[3], e[4], settings->kv_heads ? settings->kv_heads : e[1]};
    if (settings->gradients)
        return run_both_ways(bench, types, &s);
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
    vkf_bench_case bench_case = {
        .op = "attention",
        .shape = shape_of(&s, settings->causal),
        .types = *types,
        .cost = cost_of(&s, settings->causal, types->activations),
    };
    return vkf_bench_measure_operator(bench, &data, &bench_case, call_attention, &desc);
}

static bool check_attention(const vkf_bench_options *options, const vkf_bench_shape *shape)
{
    uint32_t heads = shape->values[1], kv_heads = options->settings.kv_heads;
    if (kv_heads != 0 && heads % kv_heads != 0) {
        vkf_print_error("--kv-heads: %u is no divisor of %u heads", kv_heads, heads);
        return false;
    }
    for (uint32_t i = 0; options->settings.gradients && i < options->type_count; i++) {
        if (options->types[i].activations != VKF_DTYPE_F32) {
            vkf_print_error("--gradients: they are in f32 alone");
            return false;
        }
    }
    if (options->settings.details && !options->settings.gradients)
        vkf_print_error("--details: attention is one operator; --gradients have several dispatches");
    return options->settings.gradients || !options->settings.details;
}

static const vkf_option settings_table[] = {
    VKF_OPTION(vkf_bench_settings, "causal", FLAG, causal),
    VKF_OPTION_WITHIN(vkf_bench_settings, "kv-heads", U32, kv_heads, 1, 1u << 12),
    VKF_OPTION(vkf_bench_settings, "gradients", FLAG, gradients),
    VKF_OPTION(vkf_bench_settings, "details", FLAG, details),
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
        "  --kv-heads N       grouped heads: keys and values have N heads, a divisor of H (default H)\n"
        "  --gradients        as training takes it, in f32: forward, and back to the gradients of q, k and v; the\n"
        "                     variant says how much longer the way back takes, where the device has timestamps\n"
        "  --details          with --gradients: list every dispatch with its shortest time (tables and JSON)\n",
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
