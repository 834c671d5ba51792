// Writes a safetensors file of random weights, and loads it as a model.
#include "lab/bench/bench_random_model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/directories.h"
#include "base/system_file.h"
#include "command/session_context.h"
#include "io/safetensors.h"
#include "system/terminal.h"

enum { PAD, BOS, EOS, UNK };

#define NEVER (-6e4f) // added to the logits of special tokens; fits in 16 bits
#define MAX_LEN (1u << 20)
#define NAME_BYTES 80

typedef struct stored_name {
    char text[NAME_BYTES];
} stored_name;

// Tensors under construction. All weights use the same random numbers, so that host memory does not grow with the
// model.
typedef struct weights {
    vkf_model_config config;
    vkf__stored_tensor *tensors;
    stored_name *names;
    size_t count, capacity;
    float *random;
    float *projection_bias;
} weights;

vkf_model_config vkf_bench_random_config(const vkf_bench_settings *settings)
{
    return (vkf_model_config){
        .kind = VKF_MODEL_SEQ2SEQ,
        .d_model = settings->d_model,
        .num_heads = settings->heads,
        .dim_feedforward = settings->ff,
        .num_encoder_layers = settings->encoder_layers,
        .num_decoder_layers = settings->decoder_layers,
        .activation = VKF_ACTIVATION_RELU,
        .norm_first = true,
        .layer_norm_eps = 1e-5f,
        .source_vocab = settings->vocab,
        .target_vocab = settings->vocab,
        .projection_bias = true,
        .pad_id = PAD,
        .bos_id = BOS,
        .eos_id = EOS,
        .unk_id = UNK,
        .max_source_len = MAX_LEN,
        .max_target_len = MAX_LEN,
    };
}

// cols is 0 for a vector.
static void add(weights *w, const char *prefix, const char *name, uint64_t rows, uint64_t cols)
{
    if (w->count == w->capacity)
        return;
    uint64_t count = rows * (cols > 0 ? cols : 1);
    snprintf(w->names[w->count].text, NAME_BYTES, "%.48s%.30s", prefix, name);
    w->tensors[w->count] = (vkf__stored_tensor){
        .name = w->names[w->count].text,
        .type = VKF_STORED_F32,
        .rank = cols > 0 ? 2 : 1,
        .shape = {rows, cols},
        .count = count,
        .data = (const uint8_t *)w->random,
        .size_bytes = count * sizeof(float),
    };
    w->count++;
}

static void add_layer(weights *w, const char *stack, uint32_t index, bool decoder)
{
    char prefix[48];
    uint64_t d = w->config.d_model, ff = w->config.dim_feedforward;
    snprintf(prefix, sizeof prefix, "transformer.%.8s.layers.%u.", stack, index);
    add(w, prefix, "self_attn.in_proj_weight", 3 * d, d);
    add(w, prefix, "self_attn.in_proj_bias", 3 * d, 0);
    add(w, prefix, "self_attn.out_proj.weight", d, d);
    add(w, prefix, "self_attn.out_proj.bias", d, 0);
    if (decoder) {
        add(w, prefix, "multihead_attn.in_proj_weight", 3 * d, d);
        add(w, prefix, "multihead_attn.in_proj_bias", 3 * d, 0);
        add(w, prefix, "multihead_attn.out_proj.weight", d, d);
        add(w, prefix, "multihead_attn.out_proj.bias", d, 0);
        add(w, prefix, "norm3.weight", d, 0);
        add(w, prefix, "norm3.bias", d, 0);
    }
    add(w, prefix, "linear1.weight", ff, d);
    add(w, prefix, "linear1.bias", ff, 0);
    add(w, prefix, "linear2.weight", d, ff);
    add(w, prefix, "linear2.bias", d, 0);
    add(w, prefix, "norm1.weight", d, 0);
    add(w, prefix, "norm1.bias", d, 0);
    add(w, prefix, "norm2.weight", d, 0);
    add(w, prefix, "norm2.bias", d, 0);
}

static void add_all(weights *w)
{
    const vkf_model_config *c = &w->config;
    for (uint32_t i = 0; i < c->num_encoder_layers; i++)
        add_layer(w, "encoder", i, false);
    for (uint32_t i = 0; i < c->num_decoder_layers; i++)
        add_layer(w, "decoder", i, true);
    add(w, "transformer.encoder.norm.", "weight", c->d_model, 0);
    add(w, "transformer.encoder.norm.", "bias", c->d_model, 0);
    add(w, "transformer.decoder.norm.", "weight", c->d_model, 0);
    add(w, "transformer.decoder.norm.", "bias", c->d_model, 0);
    add(w, "src_embed.", "weight", c->source_vocab, c->d_model);
    add(w, "tgt_embed.", "weight", c->target_vocab, c->d_model);
    add(w, "generator.", "weight", c->target_vocab, c->d_model);
    add(w, "generator.", "bias", c->target_vocab, 0);
    w->tensors[w->count - 1].data = (const uint8_t *)w->projection_bias;
}

static uint64_t largest_count(const vkf_model_config *c)
{
    uint64_t d = c->d_model, ff = c->dim_feedforward, vocab = c->target_vocab;
    uint64_t largest = 3 * d > ff ? 3 * d : ff;
    return d * (largest > vocab ? largest : vocab);
}

static bool allocate(weights *w)
{
    uint64_t count = largest_count(&w->config);
    w->capacity = 18 * (size_t)(w->config.num_encoder_layers + w->config.num_decoder_layers) + 8;
    w->tensors = calloc(w->capacity, sizeof *w->tensors);
    w->names = calloc(w->capacity, sizeof *w->names);
    w->random = count < SIZE_MAX / sizeof *w->random ? malloc((size_t)count * sizeof *w->random) : NULL;
    w->projection_bias = calloc(w->config.target_vocab, sizeof *w->projection_bias);
    if (!w->tensors || !w->names || !w->random || !w->projection_bias)
        return false;
    float amplitude = sqrtf(3.0f / (float)w->config.d_model);
    uint32_t state = 0x9e3779b9u;
    for (uint64_t i = 0; i < count; i++) {
        state = state * 1664525u + 1013904223u; // Numerical Recipes' generator, because only speed matters here
        w->random[i] = ((float)(state >> 8) * 0x1p-23f - 1.0f) * amplitude;
    }
    w->projection_bias[PAD] = w->projection_bias[BOS] = w->projection_bias[EOS] = NEVER;
    return true;
}

static void release(weights *w)
{
    free(w->tensors);
    free(w->names);
    free(w->random);
    free(w->projection_bias);
}

static vkf_status write_and_load(vkf_context *context, const vkf_bench_options *options, const weights *w,
                                 const vkf_model_desc *desc, vkf_model **out_model)
{
    vkf__host host;
    vkf_status status =
        vkf__host_init(&host, NULL, vkf_message_log_receive, options->common.messages, VKF_SEVERITY_WARNING);
    if (status == VKF_OK)
        status = vkf__safetensors_write(&host, desc->weights_path, w->tensors, w->count);
    if (status == VKF_OK)
        status = vkf_model_load(context, desc, out_model);
    (void)vkf__file_remove(desc->weights_path);
    return status;
}

vkf_status vkf_bench_random_model(vkf_context *context, const vkf_bench_options *options, vkf_model_precision precision,
                                  bool trainable, vkf_model **out_model)
{
    char temporary[400], directory[512], path[560];
    weights w = {.config = vkf_bench_random_config(&options->settings)};
    vkf_status status = VKF_ERROR_OUT_OF_HOST_MEMORY;
    if (!vkf_temporary_folder(temporary, sizeof temporary)) {
        vkf_print_error("the system names no folder for files of a moment");
        return VKF_ERROR_FILE;
    }
    snprintf(directory, sizeof directory, "%s/vkformer-bench-XXXXXX", temporary);
    const int error = vkf__directory_make_temporary(directory);
    if (error != 0) {
        vkf_print_error("'%s' cannot be made for the weights: %s", directory, strerror(error));
        return VKF_ERROR_FILE;
    }
    snprintf(path, sizeof path, "%s/model.safetensors", directory);
    if (allocate(&w)) {
        const vkf_model_desc desc = {
            .config = &w.config, .weights_path = path, .precision = precision, .trainable = trainable};
        add_all(&w);
        status = write_and_load(context, options, &w, &desc, out_model);
    }
    (void)vkf__directory_remove(directory);
    release(&w);
    if (status != VKF_OK)
        vkf_print_error("a model of random weights cannot be made: %s", vkf_status_text(status));
    return status;
}
