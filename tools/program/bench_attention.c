// vkformer bench attention: softmax(q k^T / sqrt(head_dim)) v, measured inside an attention block.
#include <stdio.h>

#include "bench.h"
#include "bench_data.h"
#include "bench_dispatches.h"
#include "bench_measure.h"
#include "commands.h"
#include "json_output.h"

typedef struct attention_sizes {
    uint32_t batch;
    uint32_t heads;
    uint32_t q_len;
    uint32_t kv_len;
    uint32_t head_dim;
    bool causal;
    bool details;
} attention_sizes;

static const char help[] =
    "usage: vkformer bench attention --heads H --q-len L --head-dim D [OPTIONS]\n"
    "\n"
    "Measures attention as it runs in an attention block of embed_dim H * D. gpu counts the block's dispatches\n"
    "for scores, softmax and context alone, without the projections; wall is the time of the whole block.\n"
    "\n"
    "  --batch B          default 1\n"
    "  --heads H\n"
    "  --q-len L\n"
    "  --kv-len S         default L\n"
    "  --head-dim D\n"
    "  --causal           query i sees keys 0 to i; half the operations are counted\n"
    "  --details          list every dispatch of the block with its shortest time (not with --json)\n" VKF_BENCH_HELP;

// What an attention is made of, separately or fused into one kernel.
static const char *const counted_labels[] = {"scores", "softmax", "context", "attention"};

static vkf_layer *create_layer(vkf_bench_data *data, const attention_sizes *sizes)
{
    uint32_t embed_dim = sizes->heads * sizes->head_dim;
    vkf_attention_desc desc = {
        .embed_dim = embed_dim,
        .num_heads = sizes->heads,
        .mask.causal = sizes->causal ? VKF_CAUSAL_TOP_LEFT : VKF_CAUSAL_NONE,
        .params =
            {
                .q_weight = vkf_bench_linear(data, embed_dim, embed_dim),
                .k_weight = vkf_bench_linear(data, embed_dim, embed_dim),
                .v_weight = vkf_bench_linear(data, embed_dim, embed_dim),
                .out_weight = vkf_bench_linear(data, embed_dim, embed_dim),
            },
        .dtype = data->dtype,
        .max_sizes = {.batch = sizes->batch, .query_len = sizes->q_len, .key_len = sizes->kv_len},
    };
    static const vkf_port inputs[] = {VKF_PORT_QUERY, VKF_PORT_KEY, VKF_PORT_VALUE};
    vkf_layer *layer = NULL;
    if (data->status == VKF_OK)
        data->status = vkf_attention_create(data->context, &desc, &layer);
    for (size_t i = 0; data->status == VKF_OK && i < sizeof inputs / sizeof inputs[0]; i++) {
        vkf_tensor port;
        if (vkf_layer_port(layer, inputs[i], &port))
            vkf_bench_fill(data, &port, 1.0f);
    }
    if (data->status != VKF_OK) {
        vkf_print_error("the attention block cannot be made: %s", vkf_status_text(data->status));
        vkf_layer_destroy(&layer);
    }
    return layer;
}

static json_t *shape_of(const attention_sizes *sizes)
{
    json_t *shape = json_object();
    vkf_json_put_integer(shape, "batch", sizes->batch);
    vkf_json_put_integer(shape, "heads", sizes->heads);
    vkf_json_put_integer(shape, "q_len", sizes->q_len);
    vkf_json_put_integer(shape, "kv_len", sizes->kv_len);
    vkf_json_put_integer(shape, "head_dim", sizes->head_dim);
    json_object_set_new(shape, "causal", json_boolean(sizes->causal));
    return shape;
}

static bool measure(const vkf_bench_options *options, vkf_context *context, const attention_sizes *sizes)
{
    vkf_bench_data data = vkf_bench_data_begin(context, options->dtype);
    vkf_layer_sizes run = {.batch = sizes->batch, .query_len = sizes->q_len, .key_len = sizes->kv_len};
    vkf_layer *layer = create_layer(&data, sizes);
    bool done = false;
    if (layer) {
        vkf_bench_dispatches dispatches = vkf_bench_dispatches_begin(context, layer, &run);
        dispatches.counted_labels = counted_labels;
        dispatches.counted_label_count = sizeof counted_labels / sizeof counted_labels[0];
        double rows = (double)sizes->batch * sizes->heads * sizes->head_dim;
        vkf_bench_case bench_case = {
            .op = "attention",
            .shape = shape_of(sizes),
            .flops = 4.0 * rows * sizes->q_len * sizes->kv_len * (sizes->causal ? 0.5 : 1.0),
            // query and output, key and value
            .bytes = 2.0 * rows * ((double)sizes->q_len + sizes->kv_len) * (double)vkf_dtype_size(options->dtype),
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

int vkf_bench_attention(int argc, char **argv)
{
    attention_sizes sizes = {.batch = 1, .kv_len = UINT32_MAX};
    const vkf_bench_parameter parameters[] = {
        {.name = "batch", .number = &sizes.batch, .max = 1u << 16},
        {.name = "heads", .number = &sizes.heads, .max = 1u << 12},
        {.name = "q-len", .number = &sizes.q_len, .max = 1u << 20},
        {.name = "kv-len", .number = &sizes.kv_len, .max = 1u << 20},
        {.name = "head-dim", .number = &sizes.head_dim, .max = 1u << 12},
        {.name = "causal", .flag = &sizes.causal},
        {.name = "details", .flag = &sizes.details},
    };
    vkf_bench_options options;
    vkf_context *context = NULL;
    int code = vkf_bench_parse(argc, argv, help, parameters, sizeof parameters / sizeof parameters[0], &options);
    if (sizes.kv_len == UINT32_MAX)
        sizes.kv_len = sizes.q_len;
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
