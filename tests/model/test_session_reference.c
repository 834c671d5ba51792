// Whole models against a composition of the scalar reference functions.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/compare.h"
#include "support/fixture.h"
#include "support/model_files.h"
#include "support/reference.h"

// What attention of one kind is masked with.
typedef struct masks {
    vkf_attention_mask kind;
    const void *values;
    const void *key_values;
} masks;

// A model as the reference computes it, with the sizes of a run.
typedef struct reference {
    const vkf_test_weights *weights;
    vkf__host host;
    const char *root; // of names: "transformer." or ""
    uint32_t batch, source_len, target_len;
    masks source, target, memory;
    vkf_fully_masked fully_masked;
    // Weights of every layer: (layers, B, H, T, S) of cross attention, (.., S, S) of the encoder, (.., T, T) of the
    // decoder.
    float *attention, *encoder_attention, *decoder_attention;
} reference;

static float *floats(size_t count)
{
    float *values = calloc(count, sizeof *values);
    assert_non_null(values);
    return values;
}

static float *copy_of(const float *values, size_t count)
{
    float *copy = floats(count);
    memcpy(copy, values, count * sizeof *copy);
    return copy;
}

static const float *parameter(const reference *r, const char *layer, const char *name)
{
    return vkf_test_weight_of(r->weights, "%s%s%s", r->root, layer, name)->values;
}

static void linear(const float *x, size_t rows, uint32_t in, uint32_t width, const float *weight, const float *bias,
                   vkf_activation activation, float *out)
{
    vkf_ref_gemm(&(vkf_ref_gemm_desc){
        .m = (uint32_t)rows,
        .n = width,
        .k = in,
        .batch = 1,
        .a = x,
        .b = weight,
        .bias = bias,
        .out = out,
        .transpose_b = true,
        .alpha = 1,
        .activation = activation,
    });
}

static void norm(const reference *r, const char *layer, const char *name, const float *x, size_t rows, float *out)
{
    char weight[32], bias[32];
    snprintf(weight, sizeof weight, "%s.weight", name);
    snprintf(bias, sizeof bias, "%s.bias", name);
    vkf_ref_layer_norm(&(vkf_ref_layer_norm_desc){
        .rows = (uint32_t)rows,
        .dim = r->weights->config.d_model,
        .x = x,
        .weight = parameter(r, layer, weight),
        .bias = parameter(r, layer, bias),
        .out = out,
        .eps = r->weights->config.layer_norm_eps,
    });
}

// out = attention of x (B, L, d) over memory (B, S, d), or over itself when memory is NULL.
static void attend(const reference *r, const char *layer, const char *name, const float *x, uint32_t q_len,
                   const float *memory, uint32_t k_len, const masks *masked, float *weights, float *out)
{
    char block[96];
    uint32_t d = r->weights->config.d_model;
    size_t square = (size_t)d * d;
    snprintf(block, sizeof block, "%s%s.", layer, name);
    const float *in_weight = parameter(r, block, "in_proj_weight");
    const float *in_bias = parameter(r, block, "in_proj_bias");
    const vkf_ref_attention_desc desc = {
        .batch = r->batch,
        .q_len = q_len,
        .k_len = k_len,
        .embed_dim = d,
        .num_heads = r->weights->config.num_heads,
        .query = x,
        .key = memory ? memory : x,
        .value = memory ? memory : x,
        .q_weight = in_weight,
        .k_weight = in_weight + square,
        .v_weight = in_weight + 2 * square,
        .q_bias = in_bias,
        .k_bias = in_bias + d,
        .v_bias = in_bias + 2 * (size_t)d,
        .out_weight = parameter(r, block, "out_proj.weight"),
        .out_bias = parameter(r, block, "out_proj.bias"),
        .mask = masked->kind,
        .mask_values = masked->values,
        .key_mask_values = masked->key_values,
        .fully_masked = r->fully_masked,
        .out = out,
        .weights_per_head = weights,
    };
    assert_int_equal(vkf_ref_attention(&r->host, &desc), VKF_OK);
}

typedef enum block {
    BLOCK_SELF,
    BLOCK_CROSS,
    BLOCK_FEED_FORWARD,
} block;

static void apply(const reference *r, const char *layer, block which, const float *x, uint32_t len, const float *memory,
                  float *weights, float *out)
{
    const vkf_model_config *config = &r->weights->config;
    size_t rows = (size_t)r->batch * len;
    bool decoder = memory != NULL;
    if (which == BLOCK_SELF) {
        attend(r, layer, "self_attn", x, len, NULL, len, decoder ? &r->target : &r->source, weights, out);
    } else if (which == BLOCK_CROSS) {
        attend(r, layer, "multihead_attn", x, len, memory, r->source_len, &r->memory, weights, out);
    } else {
        float *inner = floats(rows * config->dim_feedforward);
        linear(x, rows, config->d_model, config->dim_feedforward, parameter(r, layer, "linear1.weight"),
               parameter(r, layer, "linear1.bias"), config->activation, inner);
        linear(inner, rows, config->dim_feedforward, config->d_model, parameter(r, layer, "linear2.weight"),
               parameter(r, layer, "linear2.bias"), VKF_ACTIVATION_NONE, out);
        free(inner);
    }
}

// x = x + f(norm(x)), or x = norm(x + f(x)).
static void residual(const reference *r, const char *layer, block which, const char *norm_name, float *x, uint32_t len,
                     const float *memory, float *weights)
{
    size_t rows = (size_t)r->batch * len, count = rows * r->weights->config.d_model;
    float *input = copy_of(x, count), *result = floats(count);
    if (r->weights->config.norm_first)
        norm(r, layer, norm_name, x, rows, input);
    apply(r, layer, which, input, len, memory, weights, result);
    for (size_t i = 0; i < count; i++)
        x[i] += result[i];
    if (!r->weights->config.norm_first)
        norm(r, layer, norm_name, x, rows, x);
    free(input);
    free(result);
}

// In place: x (B, S, d) becomes the memory.
static void reference_encode(const reference *r, float *x)
{
    char layer[64];
    uint32_t layers = r->weights->config.num_encoder_layers;
    size_t plane = (size_t)r->batch * r->weights->config.num_heads * r->source_len * r->source_len;
    for (uint32_t i = 0; i < layers; i++) {
        snprintf(layer, sizeof layer, "encoder.layers.%u.", i);
        float *weights = r->encoder_attention ? r->encoder_attention + i * plane : NULL;
        residual(r, layer, BLOCK_SELF, "norm1", x, r->source_len, NULL, weights);
        residual(r, layer, BLOCK_FEED_FORWARD, "norm2", x, r->source_len, NULL, NULL);
    }
    if (layers > 0)
        norm(r, "encoder.", "norm", x, (size_t)r->batch * r->source_len, x);
}

// In place: x (B, T, d) becomes the hidden states.
static void reference_decode(const reference *r, const float *memory, float *x)
{
    char layer[64];
    const vkf_model_config *config = &r->weights->config;
    size_t rows = (size_t)r->batch * config->num_heads * r->target_len;
    for (uint32_t i = 0; i < config->num_decoder_layers; i++) {
        snprintf(layer, sizeof layer, "decoder.layers.%u.", i);
        float *self = r->decoder_attention ? r->decoder_attention + i * rows * r->target_len : NULL;
        residual(r, layer, BLOCK_SELF, "norm1", x, r->target_len, memory, self);
        float *weights = r->attention ? r->attention + i * rows * r->source_len : NULL;
        residual(r, layer, BLOCK_CROSS, "norm2", x, r->target_len, memory, weights);
        residual(r, layer, BLOCK_FEED_FORWARD, "norm3", x, r->target_len, memory, NULL);
    }
    norm(r, "decoder.", "norm", x, (size_t)r->batch * r->target_len, x);
}

static void reference_embed(const reference *r, const char *table, const int32_t *ids, uint32_t len, float *out)
{
    const vkf_model_config *config = &r->weights->config;
    const vkf_test_weight *weight = vkf_test_weight_of(r->weights, "%s", table);
    float *positions = floats((size_t)len * config->d_model);
    vkf_sinusoidal_positions(len, config->d_model, positions);
    vkf_ref_embed(&(vkf_ref_embed_desc){
        .batch = r->batch,
        .len = len,
        .dim = config->d_model,
        .vocab = (uint32_t)weight->shape[0],
        .ids = ids,
        .table = weight->values,
        .positions = positions,
        .scale = sqrtf((float)config->d_model),
        .out = out,
    });
    free(positions);
}

static reference reference_of(const vkf_test_weights *weights, uint32_t batch, uint32_t source_len, uint32_t target_len)
{
    const vkf_allocator allocator = {0};
    reference r = {
        .weights = weights,
        .root = weights->config.kind == VKF_MODEL_SEQ2SEQ ? "transformer." : "",
        .batch = batch,
        .source_len = source_len,
        .target_len = target_len,
    };
    assert_int_equal(vkf__host_init(&r.host, &allocator, NULL, NULL, VKF_SEVERITY_ERROR), VKF_OK);
    return r;
}

// Token models -------------------------------------------------------------------------------------------------------

static const struct seq2seq_case {
    const char *name;
    uint32_t d_model, heads, feed_forward, encoder_layers, decoder_layers;
    vkf_activation activation;
    bool norm_first, share, tie, bias;
    vkf_mask_kind target_key_mask;
} seq2seq_cases[] = {
    {"pre-norm relu tied", 32, 4, 48, 2, 2, VKF_ACTIVATION_RELU, true, false, true, true, VKF_MASK_NONE},
    {"post-norm gelu shared", 24, 3, 40, 1, 3, VKF_ACTIVATION_GELU_ERF, false, true, false, false, VKF_MASK_NONE},
    {"post-norm relu untied", 16, 1, 65, 3, 1, VKF_ACTIVATION_RELU, false, false, false, true, VKF_MASK_BOOL_EXCLUDE},
    {"odd sizes, shared and tied", 15, 3, 7, 1, 1, VKF_ACTIVATION_GELU_ERF, true, true, true, false, VKF_MASK_LENGTHS},
    {"wide", 68, 2, 130, 1, 1, VKF_ACTIVATION_GELU_TANH, true, false, true, true, VKF_MASK_ADDITIVE},
    {"no encoder layers", 20, 5, 33, 0, 2, VKF_ACTIVATION_SILU, true, false, false, true, VKF_MASK_BOOL_ATTEND},
};

#define CASES(list) (sizeof(list) / sizeof(list)[0])
#define BATCH 3u
#define SOURCE 9u
#define TARGET 7u

static vkf_model_config seq2seq_config(const struct seq2seq_case *c)
{
    vkf_model_config config = vkf_test_small_seq2seq();
    config.d_model = c->d_model;
    config.num_heads = c->heads;
    config.dim_feedforward = c->feed_forward;
    config.num_encoder_layers = c->encoder_layers;
    config.num_decoder_layers = c->decoder_layers;
    config.activation = c->activation;
    config.norm_first = c->norm_first;
    config.share_embedding = c->share;
    config.tie_projection = c->tie;
    config.projection_bias = c->bias;
    if (c->share)
        config.target_vocab = config.source_vocab;
    return config;
}

// What one run takes and gives; arrays at the sizes of the run.
typedef struct token_run {
    uint32_t batch, source_len, target_len;
    int32_t source[BATCH * SOURCE], target[BATCH * TARGET];
    uint8_t padding[BATCH * SOURCE]; // true: masked
    float key_floats[BATCH * TARGET];
    uint8_t key_bools[BATCH * TARGET];
    int32_t key_lengths[BATCH];
    float memory[BATCH * SOURCE * 68], hidden[BATCH * TARGET * 68], logits[BATCH * TARGET * 23];
    float attention[3 * BATCH * 5 * TARGET * SOURCE];
    float encoder_attention[3 * BATCH * 5 * SOURCE * SOURCE], decoder_attention[3 * BATCH * 5 * TARGET * TARGET];
} token_run;

static const void *key_mask_of(const token_run *run, vkf_mask_kind kind)
{
    if (kind == VKF_MASK_LENGTHS)
        return run->key_lengths;
    return kind == VKF_MASK_ADDITIVE ? (const void *)run->key_floats : run->key_bools;
}

static void fill_run(vkf_test_random *random, const vkf_model_config *config, token_run *run)
{
    vkf_test_fill_ids(random, run->source, (size_t)run->batch * run->source_len, config->source_vocab);
    vkf_test_fill_ids(random, run->target, (size_t)run->batch * run->target_len, config->target_vocab);
    // Padding behind the first row, in the middle of the second, and by chance where id 0 was drawn.
    run->source[run->source_len - 1] = config->pad_id;
    if (run->batch > 1)
        run->source[run->source_len + run->source_len / 2] = config->pad_id;
    for (size_t i = 0; i < (size_t)run->batch * run->source_len; i++)
        run->padding[i] = run->source[i] == config->pad_id;
    for (size_t i = 0; i < (size_t)run->batch * run->target_len; i++) {
        run->key_bools[i] = vkf_test_random_below(random, 4) == 0;
        run->key_floats[i] = run->key_bools[i] ? -INFINITY : vkf_test_random_normal(random);
    }
    for (size_t b = 0; b < run->batch; b++)
        run->key_lengths[b] = (int32_t)vkf_test_random_below(random, run->target_len + 1);
}

static void expect_run(const vkf_test_weights *weights, const struct seq2seq_case *c, token_run *run)
{
    const vkf_model_config *config = &weights->config;
    reference r = reference_of(weights, run->batch, run->source_len, run->target_len);
    const char *target_table = config->share_embedding ? "src_embed.weight" : "tgt_embed.weight";
    r.source = (masks){{.key_kind = VKF_MASK_BOOL_EXCLUDE}, NULL, run->padding};
    r.memory = r.source;
    r.target = (masks){
        {.key_kind = c->target_key_mask, .causal = VKF_CAUSAL_TOP_LEFT}, NULL, key_mask_of(run, c->target_key_mask)};
    r.attention = run->attention;
    r.encoder_attention = run->encoder_attention;
    r.decoder_attention = run->decoder_attention;
    reference_embed(&r, "src_embed.weight", run->source, run->source_len, run->memory);
    reference_encode(&r, run->memory);
    reference_embed(&r, target_table, run->target, run->target_len, run->hidden);
    reference_decode(&r, run->memory, run->hidden);
    const char *projection = config->tie_projection ? target_table : "generator.weight";
    linear(run->hidden, (size_t)run->batch * run->target_len, config->d_model, config->target_vocab,
           vkf_test_weight_of(weights, "%s", projection)->values,
           config->projection_bias ? vkf_test_weight_of(weights, "generator.bias")->values : NULL, VKF_ACTIVATION_NONE,
           run->logits);
}

// (layers, B, H, query_len, S)
static void read_weights(vkf_session *session, const token_run *run, vkf_attention_kind kind, uint32_t layers,
                         uint32_t query_len, size_t plane, float *out_weights)
{
    for (uint32_t i = 0; i < layers; i++)
        for (uint32_t b = 0; b < run->batch; b++, out_weights += plane)
            assert_int_equal(vkf_session_get_attention(session, kind, i, b, query_len, out_weights), VKF_OK);
}

static void run_session(vkf_session *session, const struct seq2seq_case *c, const vkf_model_config *config,
                        token_run *run)
{
    const vkf_encode_args encode = {
        .batch = run->batch,
        .source_len = run->source_len,
        .source_ids = run->source,
        .out_memory = run->memory,
    };
    const vkf_decode_args decode = {
        .target_len = run->target_len,
        .target_ids = run->target,
        .target_key_mask = c->target_key_mask == VKF_MASK_NONE ? NULL : key_mask_of(run, c->target_key_mask),
        .out_hidden = run->hidden,
        .out_logits = run->logits,
    };
    uint32_t source = run->source_len, target = run->target_len;
    size_t heads = config->num_heads;
    assert_int_equal(vkf_session_encode(session, &encode), VKF_OK);
    assert_int_equal(vkf_session_decode(session, &decode), VKF_OK);
    read_weights(session, run, VKF_ATTENTION_CROSS, config->num_decoder_layers, target, heads * target * source,
                 run->attention);
    read_weights(session, run, VKF_ATTENTION_ENCODER, config->num_encoder_layers, source, heads * source * source,
                 run->encoder_attention);
    read_weights(session, run, VKF_ATTENTION_DECODER, config->num_decoder_layers, target, heads * target * target,
                 run->decoder_attention);
}

// Bounds for activations near 1 after a few layers.
static double tolerance(vkf_dtype dtype)
{
    return dtype == VKF_DTYPE_F32 ? 3e-5 : 3e-2;
}

static void compare_runs(vkf_test_gpu *gpu, const struct seq2seq_case *c, const vkf_model_config *config,
                         vkf_dtype dtype, const token_run *actual, const token_run *expected)
{
    double bound = tolerance(dtype);
    size_t positions = (size_t)actual->batch * actual->target_len;
    const char *type = vkf_dtype_name(dtype);
    assert_close(actual->memory, expected->memory, (size_t)actual->batch * actual->source_len * config->d_model, bound,
                 bound, vkf_test_label(gpu, "%s, %s: memory", c->name, type));
    assert_close(actual->hidden, expected->hidden, positions * config->d_model, bound, bound,
                 vkf_test_label(gpu, "%s, %s: hidden", c->name, type));
    assert_close(actual->logits, expected->logits, positions * config->target_vocab, 2 * bound, bound,
                 vkf_test_label(gpu, "%s, %s: logits", c->name, type));
    assert_close(actual->attention, expected->attention,
                 config->num_decoder_layers * positions * config->num_heads * actual->source_len, bound, bound,
                 vkf_test_label(gpu, "%s, %s: cross attention's weights", c->name, type));
    assert_close(actual->encoder_attention, expected->encoder_attention, CASES(actual->encoder_attention), bound, bound,
                 vkf_test_label(gpu, "%s, %s: the encoder's weights", c->name, type));
    assert_close(actual->decoder_attention, expected->decoder_attention, CASES(actual->decoder_attention), bound, bound,
                 vkf_test_label(gpu, "%s, %s: the decoder's weights", c->name, type));
}

// Several runs of different sizes in one session, the largest neither first nor last: no run sees the one before.
static void check_seq2seq(vkf_test_gpu *gpu, const struct seq2seq_case *c, vkf_dtype dtype)
{
    static const uint32_t sizes[][3] = {{2, 5, 4}, {BATCH, SOURCE, TARGET}, {1, 1, 1}, {BATCH, 4, 6}};
    const vkf_model_config config = seq2seq_config(c);
    const vkf_session_desc desc = {
        .max_batch = BATCH,
        .max_source_len = SOURCE,
        .max_target_len = TARGET,
        .max_logit_rows = TARGET,
        .target_mask = {.key_kind = c->target_key_mask},
        .attention_weights = VKF_ATTENTION_CROSS | VKF_ATTENTION_DECODER |
                             (c->encoder_layers > 0 ? (uint32_t)VKF_ATTENTION_ENCODER : 0u),
    };
    vkf_test_rig rig;
    vkf_test_rig_make(gpu, &config, dtype, &desc, &rig);
    token_run *actual = calloc(2, sizeof *actual), *expected = actual + 1;
    assert_non_null(actual);
    for (size_t i = 0; i < CASES(sizes); i++) {
        *actual = (token_run){.batch = sizes[i][0], .source_len = sizes[i][1], .target_len = sizes[i][2]};
        fill_run(&gpu->random, &config, actual);
        *expected = *actual;
        expect_run(&rig.weights, c, expected);
        run_session(rig.session, c, &config, actual);
        compare_runs(gpu, c, &config, dtype, actual, expected);
    }
    free(actual);
    vkf_test_rig_free(&rig);
}

static void test_seq2seq_f32(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    for (size_t i = 0; i < CASES(seq2seq_cases); i++)
        check_seq2seq(gpu, &seq2seq_cases[i], VKF_DTYPE_F32);
}

static void test_seq2seq_f16(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    check_seq2seq(gpu, &seq2seq_cases[0], VKF_DTYPE_F16);
    check_seq2seq(gpu, &seq2seq_cases[3], VKF_DTYPE_F16);
}

// nn.Transformer -----------------------------------------------------------------------------------------------------

typedef struct kinds {
    const char *name;
    vkf_attention_mask source, target, memory;
    vkf_fully_masked fully_masked;
} kinds;

#define E VKF_MASK_BOOL_EXCLUDE
#define A VKF_MASK_BOOL_ATTEND
#define F VKF_MASK_ADDITIVE
#define L VKF_MASK_LENGTHS

static const kinds mask_cases[] = {
    {.name = "no masks"},
    {.name = "key padding as booleans",
     .source = {.key_kind = E},
     .target = {.key_kind = E},
     .memory = {.key_kind = E}},
    {.name = "boolean masks",
     .source = {.kind = E},
     .target = {.kind = A, .key_kind = A},
     .memory = {.kind = E, .key_kind = A}},
    {.name = "additive masks",
     .source = {.kind = F, .key_kind = F},
     .target = {.kind = F, .key_kind = E},
     .memory = {.kind = F, .key_kind = F}},
    {.name = "masks per head, lengths",
     .source = {.kind = F, .per_head = true, .key_kind = L},
     .target = {.kind = E, .per_head = true, .key_kind = L},
     .memory = {.kind = A, .per_head = true, .key_kind = L}},
    {.name = "causal and windows",
     .source = {.causal = VKF_CAUSAL_TOP_LEFT, .window = 3},
     .target = {.causal = VKF_CAUSAL_TOP_LEFT, .key_kind = L},
     .memory = {.causal = VKF_CAUSAL_BOTTOM_RIGHT}},
    {.name = "fully masked rows give NaN",
     .target = {.kind = E},
     .memory = {.key_kind = L},
     .fully_masked = VKF_FULLY_MASKED_NAN},
    {.name = "fully masked rows are uniform",
     .source = {.key_kind = E},
     .target = {.kind = E},
     .memory = {.kind = E, .key_kind = L},
     .fully_masked = VKF_FULLY_MASKED_UNIFORM},
};

#undef E
#undef A
#undef F
#undef L

#define HEADS 2u
#define DIM 12u

// Values of one mask and its key mask, room for the largest run.
typedef struct mask_data {
    uint8_t bools[BATCH * HEADS * SOURCE * SOURCE];
    float floats[BATCH * HEADS * SOURCE * SOURCE];
    uint8_t key_bools[BATCH * SOURCE];
    float key_floats[BATCH * SOURCE];
    int32_t lengths[BATCH];
} mask_data;

static masks make_masks(vkf_test_random *random, const vkf_attention_mask *kind, uint32_t keys, mask_data *data)
{
    const size_t count = sizeof data->bools, key_count = sizeof data->key_bools;
    masks made = {.kind = *kind};
    vkf_test_fill_bools(random, data->bools, count, 0.4);
    vkf_test_fill_bools(random, data->key_bools, key_count, 0.3);
    for (size_t i = 0; i < count; i++)
        data->floats[i] = data->bools[i] ? -INFINITY : vkf_test_random_normal(random);
    for (size_t i = 0; i < key_count; i++)
        data->key_floats[i] = data->key_bools[i] ? -INFINITY : vkf_test_random_normal(random);
    for (size_t b = 0; b < BATCH; b++)
        data->lengths[b] = (int32_t)vkf_test_random_below(random, keys + 1);
    data->lengths[0] = 0; // a row with nothing to attend to
    if (kind->kind != VKF_MASK_NONE)
        made.values = kind->kind == VKF_MASK_ADDITIVE ? (const void *)data->floats : data->bools;
    if (kind->key_kind == VKF_MASK_LENGTHS)
        made.key_values = data->lengths;
    else if (kind->key_kind != VKF_MASK_NONE)
        made.key_values = kind->key_kind == VKF_MASK_ADDITIVE ? (const void *)data->key_floats : data->key_bools;
    return made;
}

static void check_transformer_run(vkf_test_gpu *gpu, vkf_session *session, const vkf_test_weights *weights,
                                  const kinds *c, uint32_t batch, uint32_t source_len, uint32_t target_len)
{
    float memory[BATCH * SOURCE * DIM], hidden[BATCH * TARGET * DIM];
    float expected_memory[BATCH * SOURCE * DIM], expected[BATCH * TARGET * DIM];
    mask_data *data = calloc(3, sizeof *data);
    assert_non_null(data);
    reference r = reference_of(weights, batch, source_len, target_len);
    size_t source_count = (size_t)batch * source_len * DIM, target_count = (size_t)batch * target_len * DIM;
    r.source = make_masks(&gpu->random, &c->source, source_len, &data[0]);
    r.target = make_masks(&gpu->random, &c->target, target_len, &data[1]);
    r.memory = make_masks(&gpu->random, &c->memory, source_len, &data[2]);
    r.fully_masked = c->fully_masked;
    vkf_test_fill_normal(&gpu->random, expected_memory, source_count, 0, 1);
    vkf_test_fill_normal(&gpu->random, expected, target_count, 0, 1);
    const vkf_encode_args encode = {.batch = batch,
                                    .source_len = source_len,
                                    .source = expected_memory,
                                    .source_mask = r.source.values,
                                    .source_key_mask = r.source.key_values,
                                    .out_memory = memory};
    const vkf_decode_args decode = {.target_len = target_len,
                                    .target = expected,
                                    .target_mask = r.target.values,
                                    .target_key_mask = r.target.key_values,
                                    .memory_mask = r.memory.values,
                                    .memory_key_mask = r.memory.key_values,
                                    .out_hidden = hidden};
    assert_int_equal(vkf_session_encode(session, &encode), VKF_OK);
    assert_int_equal(vkf_session_decode(session, &decode), VKF_OK);
    reference_encode(&r, expected_memory);
    reference_decode(&r, expected_memory, expected);
    assert_close(memory, expected_memory, source_count, 3e-5, 3e-5, vkf_test_label(gpu, "%s: memory", c->name));
    assert_close(hidden, expected, target_count, 3e-5, 3e-5, vkf_test_label(gpu, "%s: hidden", c->name));
    free(data);
}

static vkf_model_config transformer_config(bool norm_first)
{
    return (vkf_model_config){
        .kind = VKF_MODEL_TRANSFORMER,
        .d_model = DIM,
        .num_heads = HEADS,
        .dim_feedforward = 20,
        .num_encoder_layers = 2,
        .num_decoder_layers = 2,
        .activation = VKF_ACTIVATION_RELU,
        .norm_first = norm_first,
        .layer_norm_eps = 1e-5f,
    };
}

static void check_transformer(vkf_test_gpu *gpu, bool norm_first)
{
    const vkf_model_config config = transformer_config(norm_first);
    vkf_test_rig rig;
    vkf_test_rig_make(gpu, &config, VKF_DTYPE_F32, &(vkf_session_desc){0}, &rig);
    for (size_t i = 0; i < CASES(mask_cases); i++) {
        const kinds *c = &mask_cases[i];
        const vkf_session_desc desc = {
            .max_batch = BATCH,
            .max_source_len = SOURCE,
            .max_target_len = TARGET,
            .source_mask = c->source,
            .target_mask = c->target,
            .memory_mask = c->memory,
            .fully_masked = c->fully_masked,
        };
        vkf_session *session = vkf_test_make_session(gpu, rig.model, &desc);
        check_transformer_run(gpu, session, &rig.weights, c, BATCH, SOURCE, TARGET);
        check_transformer_run(gpu, session, &rig.weights, c, 2, 5, 6);
        vkf_session_destroy(&session);
    }
    vkf_test_rig_free(&rig);
}

static void test_transformer_masks_pre_norm(void **state)
{
    check_transformer(vkf_test_gpu_of(state), true);
}

static void test_transformer_masks_post_norm(void **state)
{
    check_transformer(vkf_test_gpu_of(state), false);
}

static void scale(vkf_test_weight *tensor, float factor)
{
    for (size_t i = 0; i < tensor->count; i++)
        tensor->values[i] *= factor;
}

// The comparison notices one wrong tensor of any kind: none of the model is without effect on the logits.
static void test_comparison_notices_a_changed_tensor(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    const struct seq2seq_case *c = &seq2seq_cases[2];
    const vkf_model_config config = seq2seq_config(c);
    const size_t count = (size_t)BATCH * TARGET * config.target_vocab;
    vkf_test_weights weights;
    token_run *right = calloc(2, sizeof *right), *wrong = right + 1;
    assert_non_null(right);
    vkf_test_weights_make(&gpu->random, &config, &weights);
    *right = (token_run){.batch = BATCH, .source_len = SOURCE, .target_len = TARGET};
    fill_run(&gpu->random, &config, right);
    *wrong = *right;
    expect_run(&weights, c, right);
    for (size_t i = 0; i < weights.count; i++) {
        scale(&weights.tensors[i], 1.25f);
        expect_run(&weights, c, wrong);
        scale(&weights.tensors[i], 0.8f);
        if (vkf_test_mismatches(wrong->logits, right->logits, count, 6e-5, 3e-5) == 0)
            fail_msg("%s has no effect, seed %llu", weights.tensors[i].name, (unsigned long long)gpu->seed);
    }
    vkf_test_weights_free(&weights);
    free(right);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_seq2seq_f32),
        cmocka_unit_test(test_seq2seq_f16),
        cmocka_unit_test(test_transformer_masks_pre_norm),
        cmocka_unit_test(test_transformer_masks_post_norm),
        cmocka_unit_test(test_comparison_notices_a_changed_tensor),
    };
    return cmocka_run_group_tests_name("session against reference", tests, vkf_test_gpu_setup, vkf_test_gpu_teardown);
}
