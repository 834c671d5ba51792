// A program of layers alone, as it links against the part core: attention, an encoder layer and a decoder layer, each
// in f32 and in f16. What comes out in f16 has to be what comes out in f32, but for rounding.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <vkformer/vkformer.h>

enum { BATCH = 2, LEN = 5, DIM = 64, HEADS = 4, WIDE = 128, COUNT = BATCH * LEN * DIM };

typedef enum layer_kind { ATTENTION = 0, ENCODER, DECODER, KINDS } layer_kind;

static void print_message(void *user, vkf_severity severity, const char *text)
{
    (void)user;
    (void)severity;
    fprintf(stderr, "%s\n", text);
}

static void check(vkf_status status)
{
    if (status != VKF_OK) {
        printf("%s\n", vkf_status_name(status));
        exit(EXIT_FAILURE);
    }
}

// Some rows of numbers between -0.1 and 0.1 that repeat late, with a ridge of ones that keeps them apart.
static vkf_tensor make_weight(vkf_context *context, vkf_dtype dtype, uint32_t rows, uint32_t columns)
{
    static float values[WIDE * WIDE];
    static uint16_t halves[WIDE * WIDE];
    const uint32_t shape[] = {rows, columns};
    vkf_tensor weight = {0};
    for (uint32_t i = 0; i < rows * columns; i++)
        values[i] = (float)(i * 37 % 101) / 500.0f - 0.1f + (i / columns == i % columns ? 1.0f : 0.0f);
    vkf_f32_to_f16(values, halves, (size_t)rows * columns);
    check(vkf_tensor_create(context, dtype, 2, shape, "weight", &weight));
    check(vkf_tensor_write(&weight, dtype == VKF_DTYPE_F16 ? (const void *)halves : values,
                           (uint64_t)rows * columns * vkf_dtype_size(dtype)));
    return weight;
}

static vkf_attention_weights attention_weights(const vkf_tensor *square)
{
    return (vkf_attention_weights){
        .q_weight = *square, .k_weight = *square, .v_weight = *square, .out_weight = *square};
}

static vkf_layer *make_layer(vkf_context *context, layer_kind kind, vkf_dtype dtype, vkf_tensor weights[3])
{
    vkf_layer *layer = NULL;
    weights[0] = make_weight(context, dtype, DIM, DIM);
    weights[1] = make_weight(context, dtype, WIDE, DIM);
    weights[2] = make_weight(context, dtype, DIM, WIDE);
    const vkf_layer_sizes sizes = {.batch = BATCH, .query_len = LEN, .key_len = LEN};
    const vkf_attention_desc attention = {.embed_dim = DIM,
                                          .num_heads = HEADS,
                                          .self_attention = true,
                                          .mask.causal = VKF_CAUSAL_TOP_LEFT,
                                          .dtype = dtype,
                                          .params = attention_weights(&weights[0]),
                                          .max_sizes = sizes};
    const vkf_transformer_layer_desc transformer = {.d_model = DIM,
                                                    .num_heads = HEADS,
                                                    .dim_feedforward = WIDE,
                                                    .activation = VKF_ACTIVATION_RELU,
                                                    .self = attention_weights(&weights[0]),
                                                    .cross = attention_weights(&weights[0]),
                                                    .feed_forward = {.weight1 = weights[1], .weight2 = weights[2]},
                                                    .dtype = dtype,
                                                    .max_sizes = sizes};
    if (kind == ATTENTION)
        check(vkf_attention_create(context, &attention, &layer));
    else if (kind == ENCODER)
        check(vkf_encoder_layer_create(context, &transformer, &layer));
    else
        check(vkf_decoder_layer_create(context, &transformer, &layer));
    return layer;
}

static void run(vkf_context *context, layer_kind kind, vkf_dtype dtype, float *out_values)
{
    static float values[COUNT];
    static uint16_t halves[COUNT];
    const bool half = dtype == VKF_DTYPE_F16;
    const uint64_t bytes = COUNT * vkf_dtype_size(dtype);
    vkf_tensor weights[3];
    vkf_layer *layer = make_layer(context, kind, dtype, weights);
    for (int i = 0; i < COUNT; i++)
        values[i] = (float)(i % 13) / 13.0f;
    vkf_f32_to_f16(values, halves, COUNT);
    check(vkf_layer_write(layer, VKF_PORT_QUERY, half ? (const void *)halves : values, bytes));
    if (kind == DECODER)
        check(vkf_layer_write(layer, VKF_PORT_MEMORY, half ? (const void *)halves : values, bytes));
    check(vkf_layer_run(layer, &(vkf_layer_sizes){.batch = BATCH, .query_len = LEN, .key_len = LEN}));
    check(vkf_layer_read(layer, VKF_PORT_OUTPUT, half ? (void *)halves : out_values, bytes));
    if (half)
        vkf_f16_to_f32(halves, out_values, COUNT);
    vkf_layer_destroy(&layer);
    for (int i = 0; i < 3; i++)
        vkf_tensor_destroy(&weights[i]);
}

int main(void)
{
    static const char *const names[KINDS] = {"attention", "encoder layer", "decoder layer"};
    vkf_context *context = NULL;
    bool failed = false;
    check(vkf_context_create(&(vkf_context_desc){.message = print_message, .min_severity = VKF_SEVERITY_WARNING},
                             &context));
    for (int kind = 0; kind < KINDS; kind++) {
        static float single[COUNT], half[COUNT];
        float largest = 0, off = 0;
        run(context, (layer_kind)kind, VKF_DTYPE_F32, single);
        run(context, (layer_kind)kind, VKF_DTYPE_F16, half);
        for (int i = 0; i < COUNT; i++) {
            largest = fmaxf(largest, fabsf(single[i]));
            off = fmaxf(off, fabsf(single[i] - half[i]));
        }
        printf("%s: up to %g, f16 off by %g\n", names[kind], (double)largest, (double)off);
        failed |= !(largest > 0.5f && off <= 0.01f * largest);
    }
    vkf_context_destroy(&context);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
