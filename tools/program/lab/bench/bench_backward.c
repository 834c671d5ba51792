// vkformer bench backward: a layer and the gradients of all that it reads.
#include <math.h>

#include "lab/bench/bench.h"
#include "lab/bench/bench_both_ways.h"
#include "lab/bench/bench_data.h"
#include "lab/bench/bench_measure.h"
#include "lab/bench/bench_operator.h"
#include "lab/bench/random_layer.h"
#include "training/layers.h"

// A layer on a tape. Its parameters are parts of one tensor, and their gradients are the same parts of another.
typedef struct taped_layer {
    vkf_layer_shape sizes;
    vkf__tape tape;
    vkf__transformer_block block;
    vkf__transformer_gradients gradients;
    vkf__span x, memory, dx, dmemory, dout;
    vkf_bench_both_ways ways;
} taped_layer;

// Parameters follow each other, as in files, so that those of queries, keys and values are one operand.
static vkf__span take(const vkf__span *all, uint64_t *at, uint64_t count)
{
    const vkf__span part = vkf__span_part(all, *at, count);
    *at += count;
    return part;
}

static void take_attention(const vkf__span *all, uint64_t *at, const vkf_layer_shape *sizes, bool causal,
                           vkf__attention_block *out_block)
{
    const uint32_t d = sizes->d_model;
    vkf__attention_spans *p = &out_block->params;
    vkf__span *const weights[] = {&p->q_weight, &p->k_weight, &p->v_weight, &p->out_weight};
    vkf__span *const biases[] = {&p->q_bias, &p->k_bias, &p->v_bias, &p->out_bias};
    *out_block = (vkf__attention_block){
        .embed_dim = d,
        .heads = sizes->heads,
        .kv_heads = sizes->heads,
        .head_dim = d / sizes->heads,
        .v_head_dim = d / sizes->heads,
        .kdim = d,
        .vdim = d,
        .mask.causal = causal ? VKF_CAUSAL_TOP_LEFT : VKF_CAUSAL_NONE,
        .fused_qkv = true,
    };
    for (size_t i = 0; i < 4; i++)
        *weights[i] = take(all, at, (uint64_t)d * d);
    for (size_t i = 0; i < 4; i++)
        *biases[i] = take(all, at, d);
}

static uint64_t count_parameters(const vkf_layer_shape *sizes)
{
    const uint64_t d = sizes->d_model, ff = sizes->ff, attention = 4 * d * d + 4 * d;
    return (sizes->decoder ? 2 : 1) * attention + 2 * d * ff + ff + d + 6 * d;
}

// The block whose parameters are the parts of `all`.
static vkf__transformer_block block_of(const vkf__span *all, const vkf_layer_shape *sizes)
{
    const uint32_t d = sizes->d_model, ff = sizes->ff;
    uint64_t at = 0;
    vkf__transformer_block block = {.d_model = d, .layer_norm_eps = 1e-5f};
    take_attention(all, &at, sizes, sizes->decoder, &block.self);
    if (sizes->decoder)
        take_attention(all, &at, sizes, false, &block.cross);
    block.feed_forward =
        (vkf__feed_forward_block){.d_model = d, .dim_feedforward = ff, .activation = sizes->activation};
    block.feed_forward.weight1 = take(all, &at, (uint64_t)ff * d);
    block.feed_forward.weight2 = take(all, &at, (uint64_t)ff * d);
    block.feed_forward.bias1 = take(all, &at, ff);
    block.feed_forward.bias2 = take(all, &at, d);
    for (size_t i = 0; i < 3; i++) {
        block.norm[i].weight = take(all, &at, d);
        block.norm[i].bias = take(all, &at, d);
    }
    return block;
}

static vkf_status emit(vkf__work *work, const void *args)
{
    taped_layer *l = *(taped_layer *const *)args;
    const vkf_layer_shape *s = &l->sizes;
    const vkf__attention_sizes self = vkf__uncached(s->batch, s->len, s->len),
                               cross = vkf__uncached(s->batch, s->len, s->memory_len);
    vkf__transformer_operands operands = {0};
    vkf__value out;
    vkf__tape_begin(&l->tape, work);
    VKF_RETURN_IF_ERROR(vkf__tape_leaf(&l->tape, &l->x, &l->dx, s->batch * s->len, s->d_model, &operands.x));
    if (s->decoder)
        VKF_RETURN_IF_ERROR(
            vkf__tape_leaf(&l->tape, &l->memory, &l->dmemory, s->batch * s->memory_len, s->d_model, &operands.memory));
    VKF_RETURN_IF_ERROR(
        vkf__record_transformer_layer(&l->tape, &l->block, &l->gradients, &operands, &self, &cross, &out));
    vkf__tape_seed(&l->tape, out, &l->dout);
    l->ways.first_back = (uint32_t)work->at.node;
    return vkf__tape_back(&l->tape);
}

static double count_flops(const vkf_layer_shape *s)
{
    const double rows = (double)s->batch * s->len, memory_rows = s->decoder ? (double)s->batch * s->memory_len : 0;
    const double d = s->d_model, pairs = s->decoder ? (s->len + 1.0) / 2 : s->len;
    const double products = rows * (8 * d * d + 4 * d * s->ff) + (s->decoder ? 4 * (rows + memory_rows) * d * d : 0);
    // There are two products of scores and context forward, and five on the way back.
    return 3 * products + 14 * rows * d * (pairs + (s->decoder ? s->memory_len : 0));
}

static vkf__span random_span(vkf_bench_data *data, uint64_t count, float amplitude)
{
    const vkf_tensor tensor = vkf_bench_vector(data, (uint32_t)count, amplitude);
    return vkf__span_of(&tensor);
}

// False where the layer has more parameters than a tensor elements.
static bool make_spans(vkf_bench_data *data, taped_layer *l)
{
    const vkf_layer_shape *s = &l->sizes;
    const uint64_t count = count_parameters(s), rows = (uint64_t)s->batch * s->len * s->d_model,
                   memory_rows = s->decoder ? (uint64_t)s->batch * s->memory_len * s->d_model : 0;
    if (count > UINT32_MAX || rows > UINT32_MAX || memory_rows > UINT32_MAX)
        return false;
    const vkf__span parameters = random_span(data, count, sqrtf(3.0f / (float)s->d_model)),
                    gradients = random_span(data, count, 0);
    vkf__span *const streams[] = {&l->x, &l->dx, &l->dout};
    for (size_t i = 0; i < 3; i++)
        *streams[i] = random_span(data, rows, 1);
    if (s->decoder) {
        l->memory = random_span(data, memory_rows, 1);
        l->dmemory = random_span(data, memory_rows, 1);
    }
    if (data->status != VKF_OK)
        return false;
    const vkf__transformer_block twin = block_of(&gradients, s);
    l->block = block_of(&parameters, s);
    l->gradients = vkf__transformer_gradients_of(&twin);
    return true;
}

static vkf_status measure(vkf_bench *bench, const vkf_bench_data *data, taped_layer *l)
{
    const vkf_layer_shape *s = &l->sizes;
    taped_layer *const args = l;
    const double rows = (double)s->batch * s->len * s->d_model, parameters = (double)count_parameters(s);
    const vkf_bench_case bench_case = {
        .op = "backward",
        .shape = vkf_layer_shape_json(s),
        .types = data->types,
        .cost = {count_flops(s), 4 * (parameters + 2 * rows), 4 * (parameters + rows)},
        .run = vkf_bench_both_ways_run,
        .variant = vkf_bench_both_ways_ratio,
        .details = bench->options->settings.details ? vkf_bench_both_ways_details : NULL,
        .user = &l->ways,
    };
    const vkf_status status = vkf_bench_recording_begin(bench->context, "backward", emit, &args, &l->ways.recording);
    if (status == VKF_OK)
        return vkf_bench_measure(bench, &bench_case);
    vkf_print_error("the layer cannot be recorded: %s", vkf_status_text(status));
    json_decref(bench_case.shape);
    return status;
}

static vkf_status run_backward(vkf_bench *bench, const vkf_bench_types *types, const vkf_bench_shape *shape)
{
    const vkf_bench_settings *settings = &bench->options->settings;
    taped_layer l = {0};
    if (!vkf_layer_shape_make(shape, settings->kind, settings->activation, &l.sizes))
        return VKF_ERROR_INVALID_ARGUMENT;
    vkf_bench_data data = vkf_bench_data_begin(bench->context, types);
    vkf__tape_init(&l.tape, &bench->context->host);
    vkf_status status;
    if (make_spans(&data, &l)) {
        status = measure(bench, &data, &l);
    } else {
        status = data.status == VKF_OK ? VKF_ERROR_TOO_LARGE : data.status;
        vkf_print_error("the layer cannot be made: %s", vkf_status_text(status));
    }
    vkf_bench_recording_end(&l.ways.recording);
    vkf__tape_finish(&l.tape);
    vkf_bench_data_end(&data);
    return status;
}

static bool check_backward(const vkf_bench_options *options, const vkf_bench_shape *shape)
{
    vkf_layer_shape sizes;
    return vkf_layer_shape_make(shape, options->settings.kind, options->settings.activation, &sizes);
}

static const vkf_option settings_table[] = {
    VKF_OPTION(vkf_bench_settings, "kind", TEXT, kind),
    VKF_OPTION(vkf_bench_settings, "activation", TEXT, activation),
    VKF_OPTION(vkf_bench_settings, "details", FLAG, details),
};

const vkf_bench_spec vkf_bench_backward = {
    .name = "backward",
    .summary = "a layer and its gradients",
    .help = "Measures a layer as in `vkformer bench layer`, forward and then back: the gradients of its inputs and of\n"
            "all its parameters from one of its output. Where the device has timestamps, the variant says how much\n"
            "longer the way back takes than the way forward.\n"
            "\n"
            "  --kind KIND        encoder (default) or decoder\n"
            "  --activation A     of the feed-forward part: relu (default) or gelu\n"
            "  --details          list every dispatch with its shortest time (tables and JSON)\n",
    .extents = VKF_LAYER_EXTENTS,
    .settings = settings_table,
    .setting_count = sizeof settings_table / sizeof settings_table[0],
    .f32_activations = true,
    .check = check_backward,
    .run = run_backward,
};
