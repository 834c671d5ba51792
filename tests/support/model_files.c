// Writes small models with random weights.
#include "model_files.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/directories.h"
#include "base/half.h"
#include "base/system_file.h"
#include "system/terminal.h"

void vkf_test_directory_make(vkf_test_directory *directory)
{
    char temporary[64];
    assert_true(vkf_temporary_folder(temporary, sizeof temporary));
    snprintf(directory->path, sizeof directory->path, "%s/vkformer-model-XXXXXX", temporary);
    if (vkf__directory_make_temporary(directory->path) != 0)
        fail_msg("no directory %s", directory->path);
}

void vkf_test_directory_remove(vkf_test_directory *directory)
{
    vkf__listing *listing = vkf__listing_open(directory->path);
    for (const char *name; listing && (name = vkf__listing_next(listing));)
        (void)vkf__file_remove(vkf_test_path(directory, name));
    vkf__listing_close(listing);
    (void)vkf__directory_remove(directory->path);
}

const char *vkf_test_path(vkf_test_directory *directory, const char *name)
{
    int length = snprintf(directory->joined, sizeof directory->joined, "%s/%s", directory->path, name);
    assert_true(length > 0 && (size_t)length < sizeof directory->joined);
    return directory->joined;
}

void vkf_test_write_file(const char *path, const void *data, size_t size_bytes)
{
    FILE *stream = fopen(path, "wb");
    if (!stream || fwrite(data, 1, size_bytes, stream) != size_bytes || fclose(stream) != 0)
        fail_msg("%s cannot be written", path);
}

char *vkf_test_read_file(const char *path, size_t *out_size)
{
    FILE *stream = fopen(path, "rb");
    if (!stream || fseek(stream, 0, SEEK_END) != 0)
        fail_msg("%s cannot be read", path);
    long size = ftell(stream);
    assert_true(size >= 0);
    rewind(stream);
    char *data = calloc((size_t)size + 1, 1);
    assert_non_null(data);
    assert_int_equal(fread(data, 1, (size_t)size, stream), size);
    fclose(stream);
    if (out_size)
        *out_size = (size_t)size;
    return data;
}

void vkf_test_copy_file(vkf_test_directory *to, const char *from_directory, const char *name)
{
    char path[512];
    size_t bytes = 0;
    (void)snprintf(path, sizeof path, "%s/%s", from_directory, name);
    char *data = vkf_test_read_file(path, &bytes);
    vkf_test_write_file(vkf_test_path(to, name), data, bytes);
    free(data);
}

void vkf_test_write_model(vkf_test_directory *to, const char *from_directory, const vkf__stored_tensor *tensors,
                          size_t count)
{
    vkf__host host;
    assert_int_equal(vkf__host_init(&host, NULL, NULL, NULL, VKF_SEVERITY_WARNING), VKF_OK);
    assert_int_equal(vkf__safetensors_write(&host, vkf_test_path(to, "model.safetensors"), tensors, count), VKF_OK);
    vkf_test_copy_file(to, from_directory, "config.json");
}

vkf_model_config vkf_test_small_seq2seq(void)
{
    return (vkf_model_config){
        .kind = VKF_MODEL_SEQ2SEQ,
        .d_model = 32,
        .num_heads = 4,
        .dim_feedforward = 48,
        .num_encoder_layers = 2,
        .num_decoder_layers = 2,
        .activation = VKF_ACTIVATION_RELU,
        .norm_first = true,
        .layer_norm_eps = 1e-5f,
        .source_vocab = 23,
        .target_vocab = 19,
        .projection_bias = true,
        .pad_id = 0,
        .bos_id = 1,
        .eos_id = 2,
        .unk_id = 3,
        .max_source_len = 16,
        .max_target_len = 16,
    };
}

// A list under construction; names are put together from a prefix and a parameter's own name.
typedef struct maker {
    vkf_test_weights *weights;
    vkf_test_random *random;
} maker;

static void add(maker *make, const char *prefix, const char *name, uint32_t rows, uint32_t cols, float mean,
                float deviation)
{
    vkf_test_weights *list = make->weights;
    if (list->count == list->capacity) {
        list->capacity = list->capacity > 0 ? 2 * list->capacity : 32;
        list->tensors = realloc(list->tensors, list->capacity * sizeof *list->tensors);
        assert_non_null(list->tensors);
    }
    vkf_test_weight *tensor = &list->tensors[list->count++];
    *tensor = (vkf_test_weight){.rank = cols > 0 ? 2 : 1, .shape = {rows, cols}};
    tensor->count = (size_t)rows * (cols > 0 ? cols : 1);
    int length = snprintf(tensor->name, sizeof tensor->name, "%s%s", prefix, name);
    assert_true(length > 0 && (size_t)length < sizeof tensor->name);
    tensor->values = malloc(tensor->count * sizeof *tensor->values);
    assert_non_null(tensor->values);
    vkf_test_fill_normal(make->random, tensor->values, tensor->count, mean, deviation);
}

static void add_linear(maker *make, const char *prefix, const char *weight, const char *bias, uint32_t out, uint32_t in)
{
    add(make, prefix, weight, out, in, 0, 1 / sqrtf((float)in));
    if (bias)
        add(make, prefix, bias, out, 0, 0, 0.2f);
}

static void add_norm(maker *make, const char *prefix, const char *name, uint32_t dim)
{
    char weight[32], bias[32];
    snprintf(weight, sizeof weight, "%s.weight", name);
    snprintf(bias, sizeof bias, "%s.bias", name);
    add(make, prefix, weight, dim, 0, 1, 0.2f);
    add(make, prefix, bias, dim, 0, 0, 0.2f);
}

static void add_attention(maker *make, const char *layer, const char *name, uint32_t dim)
{
    char prefix[80];
    snprintf(prefix, sizeof prefix, "%s%s.", layer, name);
    add_linear(make, prefix, "in_proj_weight", "in_proj_bias", 3 * dim, dim);
    add_linear(make, prefix, "out_proj.weight", "out_proj.bias", dim, dim);
}

static void add_stack(maker *make, const char *root, const char *stack, uint32_t layers, bool decoder)
{
    const vkf_model_config *config = &make->weights->config;
    char prefix[64];
    for (uint32_t i = 0; i < layers; i++) {
        snprintf(prefix, sizeof prefix, "%s%s.layers.%u.", root, stack, i);
        add_attention(make, prefix, "self_attn", config->d_model);
        if (decoder)
            add_attention(make, prefix, "multihead_attn", config->d_model);
        add_linear(make, prefix, "linear1.weight", "linear1.bias", config->dim_feedforward, config->d_model);
        add_linear(make, prefix, "linear2.weight", "linear2.bias", config->d_model, config->dim_feedforward);
        add_norm(make, prefix, "norm1", config->d_model);
        add_norm(make, prefix, "norm2", config->d_model);
        if (decoder)
            add_norm(make, prefix, "norm3", config->d_model);
    }
    snprintf(prefix, sizeof prefix, "%s%s.", root, stack);
    if (layers > 0)
        add_norm(make, prefix, "norm", config->d_model);
}

void vkf_test_weights_make(vkf_test_random *random, const vkf_model_config *config, vkf_test_weights *out_weights)
{
    *out_weights = (vkf_test_weights){.config = *config};
    maker make = {out_weights, random};
    bool tokens = config->kind == VKF_MODEL_SEQ2SEQ;
    const char *root = tokens ? "transformer." : "";
    float embedding = 1 / sqrtf((float)config->d_model);
    add_stack(&make, root, "encoder", config->num_encoder_layers, false);
    add_stack(&make, root, "decoder", config->num_decoder_layers, true);
    if (!tokens)
        return;
    add(&make, "", "src_embed.weight", config->source_vocab, config->d_model, 0, embedding);
    if (!config->share_embedding)
        add(&make, "", "tgt_embed.weight", config->target_vocab, config->d_model, 0, embedding);
    if (!config->tie_projection)
        add_linear(&make, "", "generator.weight", NULL, config->target_vocab, config->d_model);
    if (config->projection_bias)
        add(&make, "", "generator.bias", config->target_vocab, 0, 0, 0.2f);
}

void vkf_test_weights_free(vkf_test_weights *weights)
{
    for (size_t i = 0; i < weights->count; i++)
        free(weights->tensors[i].values);
    free(weights->tensors);
    *weights = (vkf_test_weights){0};
}

vkf_test_weight *vkf_test_weight_of(const vkf_test_weights *weights, const char *format, ...)
{
    char name[96];
    va_list args;
    va_start(args, format);
    vsnprintf(name, sizeof name, format, args);
    va_end(args);
    for (size_t i = 0; i < weights->count; i++) {
        if (strcmp(weights->tensors[i].name, name) == 0)
            return &weights->tensors[i];
    }
    fail_msg("the test's own model has no tensor %s", name);
    return NULL;
}

static float rounded(float value, vkf__stored_type type)
{
    if (type == VKF_STORED_F16)
        return vkf__float_from_half(vkf__half_from_float(value));
    return type == VKF_STORED_BF16 ? vkf__float_from_bfloat(vkf__bfloat_from_float(value)) : value;
}

void vkf_test_weights_round(vkf_test_weights *weights, vkf__stored_type type)
{
    for (size_t i = 0; i < weights->count; i++) {
        vkf_test_weight *tensor = &weights->tensors[i];
        for (size_t j = 0; j < tensor->count; j++)
            tensor->values[j] = rounded(tensor->values[j], type);
    }
}

static uint8_t *stored_bytes(const vkf_test_weight *tensor, vkf__stored_type type)
{
    uint8_t *bytes = malloc(tensor->count * vkf__stored_type_size(type));
    assert_non_null(bytes);
    if (type == VKF_STORED_F32) {
        memcpy(bytes, tensor->values, tensor->count * sizeof *tensor->values);
        return bytes;
    }
    for (size_t i = 0; i < tensor->count; i++) {
        float value = tensor->values[i];
        uint16_t half = type == VKF_STORED_F16 ? vkf__half_from_float(value) : vkf__bfloat_from_float(value);
        memcpy(bytes + i * sizeof half, &half, sizeof half);
    }
    return bytes;
}

void vkf_test_weights_write(const vkf_test_weights *weights, vkf__stored_type type, const char *path)
{
    vkf__host host;
    const vkf_allocator allocator = {0};
    assert_int_equal(vkf__host_init(&host, &allocator, NULL, NULL, VKF_SEVERITY_ERROR), VKF_OK);
    vkf__stored_tensor *stored = calloc(weights->count, sizeof *stored);
    assert_non_null(stored);
    for (size_t i = 0; i < weights->count; i++) {
        const vkf_test_weight *tensor = &weights->tensors[i];
        stored[i] = (vkf__stored_tensor){
            .name = tensor->name,
            .type = type,
            .rank = tensor->rank,
            .shape = {tensor->shape[0], tensor->shape[1]},
            .data = stored_bytes(tensor, type),
            .size_bytes = tensor->count * vkf__stored_type_size(type),
        };
    }
    vkf_status status = vkf__safetensors_write(&host, path, stored, weights->count);
    for (size_t i = 0; i < weights->count; i++)
        free((void *)(uintptr_t)stored[i].data);
    free(stored);
    assert_int_equal(status, VKF_OK);
}

void vkf_test_config_write(const vkf_model_config *config, const char *path)
{
    char text[1024];
    int length = snprintf(
        text, sizeof text,
        "{\"model_type\": \"vkformer-seq2seq\", \"d_model\": %u, \"nhead\": %u, \"dim_feedforward\": %u,\n"
        "\"activation\": \"%s\", \"norm_first\": %s, \"layer_norm_eps\": %.9g, \"num_encoder_layers\": %u,\n"
        "\"num_decoder_layers\": %u, \"src_vocab\": %u, \"tgt_vocab\": %u, \"share_embed\": %s, \"tie_proj\": %s,\n"
        "\"proj_bias\": %s, \"pad_id\": %d, \"bos_id\": %d, \"eos_id\": %d, \"unk_id\": %d, \"max_len\": %u,\n"
        "\"max_source_len\": %u}\n",
        config->d_model, config->num_heads, config->dim_feedforward,
        config->activation == VKF_ACTIVATION_RELU ? "relu" : "gelu", config->norm_first ? "true" : "false",
        (double)config->layer_norm_eps, config->num_encoder_layers, config->num_decoder_layers, config->source_vocab,
        config->target_vocab, config->share_embedding ? "true" : "false", config->tie_projection ? "true" : "false",
        config->projection_bias ? "true" : "false", config->pad_id, config->bos_id, config->eos_id, config->unk_id,
        config->max_target_len, config->max_source_len);
    assert_true(length > 0 && (size_t)length < sizeof text);
    vkf_test_write_file(path, text, (size_t)length);
}

vkf_model_precision vkf_test_precision(vkf_dtype dtype)
{
    return dtype == VKF_DTYPE_F16 ? VKF_MODEL_PRECISION_F16 : VKF_MODEL_PRECISION_F32;
}

static void must_have(const vkf_test_gpu *gpu, vkf_status status, const char *what, const char *directory)
{
    if (status != VKF_OK)
        fail_msg("%s: no %s%s%s: %s", vkf_status_name(status), what, directory ? " of " : "",
                 directory ? directory : "", gpu->last_error);
}

vkf_model *vkf_test_load(vkf_test_gpu *gpu, const vkf_model_desc *desc)
{
    vkf_model *model = NULL;
    must_have(gpu, vkf_model_load(gpu->context, desc, &model), "model", desc->directory);
    return model;
}

vkf_session *vkf_test_make_session(vkf_test_gpu *gpu, vkf_model *model, const vkf_session_desc *desc)
{
    vkf_session *session = NULL;
    must_have(gpu, vkf_session_create(model, desc, &session), "session", NULL);
    return session;
}

vkf_generator *vkf_test_make_generator(vkf_test_gpu *gpu, const vkf_generator_desc *desc)
{
    vkf_generator *generator = NULL;
    must_have(gpu, vkf_generator_load(gpu->context, desc, &generator), "generator", desc->directory);
    return generator;
}

vkf_embedder *vkf_test_make_embedder(vkf_test_gpu *gpu, const vkf_embedder_desc *desc)
{
    vkf_embedder *embedder = NULL;
    must_have(gpu, vkf_embedder_load(gpu->context, desc, &embedder), "embedder", desc->directory);
    return embedder;
}

vkf_session *vkf_test_load_session(vkf_test_gpu *gpu, const vkf_model_desc *model_desc, const vkf_session_desc *desc)
{
    vkf_model *model = vkf_test_load(gpu, model_desc);
    vkf_session *session = vkf_test_make_session(gpu, model, desc);
    vkf_model_destroy(&model);
    return session;
}

void vkf_test_expect(const vkf_test_gpu *gpu, vkf_status status, vkf_status expected, const char *text)
{
    if (status != expected || !strstr(gpu->last_error, text))
        fail_msg("%s with \"%s\", expected %s with \"%s\"", vkf_status_name(status), gpu->last_error,
                 vkf_status_name(expected), text);
}

void vkf_test_must(const vkf_test_gpu *gpu, vkf_status status)
{
    vkf_test_expect(gpu, status, VKF_OK, "");
}

vkf_memory_usage vkf_test_usage(const vkf_test_gpu *gpu)
{
    vkf_memory_usage usage;
    vkf_context_get_memory_usage(gpu->context, &usage);
    return usage;
}

void vkf_test_assert_took(const vkf_test_gpu *gpu, const vkf_memory_usage *before, const vkf_memory_plan *plan)
{
    const vkf_memory_usage now = vkf_test_usage(gpu);
    assert_int_equal(plan->heap_count, now.heap_count);
    for (uint32_t heap = 0; heap < now.heap_count; heap++)
        assert_int_equal(now.used_bytes[heap] - before->used_bytes[heap], plan->heap_bytes[heap]);
}

vkf_model *vkf_test_model_load(vkf_test_gpu *gpu, vkf_test_directory *directory, const vkf_test_weights *weights,
                               vkf_dtype dtype)
{
    const char *path = vkf_test_path(directory, "weights.safetensors");
    vkf_test_weights_write(weights, VKF_STORED_F32, path);
    const vkf_model_desc desc = {
        .config = &weights->config, .weights_path = path, .precision = vkf_test_precision(dtype)};
    return vkf_test_load(gpu, &desc);
}

void vkf_test_rig_make(vkf_test_gpu *gpu, const vkf_model_config *config, vkf_dtype dtype, const vkf_session_desc *desc,
                       vkf_test_rig *out_rig)
{
    *out_rig = (vkf_test_rig){.gpu = gpu, .dtype = dtype, .desc = *desc};
    vkf_test_directory_make(&out_rig->directory);
    vkf_test_weights_make(&gpu->random, config, &out_rig->weights);
    vkf_test_rig_reload(out_rig);
}

void vkf_test_rig_reload(vkf_test_rig *rig)
{
    vkf_session_destroy(&rig->session);
    vkf_model_destroy(&rig->model);
    rig->model = vkf_test_model_load(rig->gpu, &rig->directory, &rig->weights, rig->dtype);
    if (rig->desc.max_batch > 0)
        rig->session = vkf_test_make_session(rig->gpu, rig->model, &rig->desc);
}

void vkf_test_rig_free(vkf_test_rig *rig)
{
    vkf_session_destroy(&rig->session);
    vkf_model_destroy(&rig->model);
    vkf_test_weights_free(&rig->weights);
    vkf_test_directory_remove(&rig->directory);
}

int vkf_test_counted_open(void **state, size_t size_bytes)
{
    vkf_test_counted *counted = calloc(1, size_bytes);
    if (!counted)
        return -1;
    *state = counted;
    vkf_context_desc desc = {.allocator = counting_callbacks(&counted->memory)};
    return vkf_test_gpu_open(&counted->gpu, &desc);
}

int vkf_test_counted_setup(void **state)
{
    return vkf_test_counted_open(state, sizeof(vkf_test_counted));
}

int vkf_test_counted_teardown(void **state)
{
    vkf_test_counted *counted = *state;
    vkf_context_destroy(&counted->gpu.context);
    if (counted->memory.live > 0)
        print_error("%zu blocks of host memory are left\n", counted->memory.live);
    return counted->memory.live > 0 ? -1 : vkf_test_gpu_teardown(state);
}
