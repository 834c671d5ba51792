// A family's config.json as the configuration of a model.
#include <math.h>
#include <string.h>

#include "io/json_file.h"
#include "model/family.h"
#include "model/rotary.h"

#define MAX_DEMANDS (sizeof((vkf__family *)0)->demands / sizeof((vkf__family *)0)->demands[0])

// What is read, and what messages name.
typedef struct reader {
    const vkf__host *host;
    const char *path;
    const json_t *root;
    const vkf__family *family;
} reader;

// What transformers calls its activations. "gelu" is the exact one.
static const struct {
    const char *name;
    vkf_activation activation;
} activations[] = {
    {"gelu", VKF_ACTIVATION_GELU_ERF},
    {"gelu_python", VKF_ACTIVATION_GELU_ERF},
    {"gelu_new", VKF_ACTIVATION_GELU_TANH},
    {"gelu_fast", VKF_ACTIVATION_GELU_TANH},
    {"gelu_pytorch_tanh", VKF_ACTIVATION_GELU_TANH},
    {"relu", VKF_ACTIVATION_RELU},
    {"silu", VKF_ACTIVATION_SILU},
    {"swish", VKF_ACTIVATION_SILU},
    {"tanh", VKF_ACTIVATION_TANH},
};

static vkf_status find_activation(const reader *r, const char *key, const char *name, vkf_activation *out_activation)
{
    for (size_t i = 0; i < sizeof activations / sizeof activations[0]; i++) {
        if (strcmp(activations[i].name, name) == 0) {
            *out_activation = activations[i].activation;
            return VKF_OK;
        }
    }
    return vkf__fail(r->host, VKF_ERROR_UNSUPPORTED,
                     "%s: %s is \"%s\"; supported: gelu, gelu_new, gelu_fast, gelu_pytorch_tanh, relu, silu, tanh",
                     r->path, key, name);
}

static vkf_status read_activation(const reader *r, const char *key, vkf_activation *out_activation)
{
    const char *name = NULL;
    vkf_status status = vkf__json_string(r->host, r->path, r->root, key, &name);
    return status != VKF_OK ? status : find_activation(r, key, name, out_activation);
}

// "gated-gelu", whose activation is gelu_new, "gated-silu", or an activation alone.
static vkf_status read_gated_activation(const reader *r, const char *key, vkf_model_config *config)
{
    const char *name = NULL;
    vkf_status status = vkf__json_string(r->host, r->path, r->root, key, &name);
    if (status != VKF_OK)
        return status;
    config->gated = strncmp(name, "gated-", 6) == 0;
    if (config->gated && strcmp(name + 6, "gelu") == 0)
        return find_activation(r, key, "gelu_new", &config->activation);
    return find_activation(r, key, config->gated ? name + 6 : name, &config->activation);
}

static vkf_status check_demands(const reader *r)
{
    for (size_t i = 0; i < MAX_DEMANDS && r->family->demands[i].key; i++) {
        const vkf__family_demand *demand = &r->family->demands[i];
        const json_t *value = json_object_get(r->root, demand->key);
        const char *text = json_is_boolean(value) ? (json_is_true(value) ? "true" : "false") : json_string_value(value);
        if (value && (!text || strcmp(text, demand->value) != 0))
            return vkf__fail(r->host, VKF_ERROR_UNSUPPORTED, "%s: %s is \"%s\"; supported: \"%s\"", r->path,
                             demand->key, text ? text : "neither a string nor a boolean", demand->value);
    }
    return VKF_OK;
}

static uint32_t *vocab_of(vkf_model_config *config)
{
    return config->kind == VKF_MODEL_DECODER ? &config->target_vocab : &config->source_vocab;
}

static uint32_t *positions_of(vkf_model_config *config)
{
    return config->kind == VKF_MODEL_DECODER ? &config->max_target_len : &config->max_source_len;
}

static uint32_t *layers_of(vkf_model_config *config)
{
    return config->kind == VKF_MODEL_DECODER ? &config->num_decoder_layers : &config->num_encoder_layers;
}

static vkf_status read_numbers(const reader *r, vkf_model_config *config)
{
    vkf_status status = VKF_OK;
    const vkf__family *family = r->family;
    const struct {
        const char *key;
        uint32_t *value;
        uint32_t max;
        bool optional;
    } numbers[] = {
        {family->keys.d_model, &config->d_model, VKF_MAX_DIM, false},
        {family->keys.num_heads, &config->num_heads, VKF_MAX_DIM, false},
        {family->keys.dim_feedforward, &config->dim_feedforward, VKF_MAX_DIM, family->feed_forward_factor > 0},
        {family->keys.num_layers, layers_of(config), VKF_MAX_LAYERS, false},
        {family->keys.vocab, vocab_of(config), VKF_MAX_VOCAB, false},
        {family->keys.max_positions, positions_of(config), VKF_MAX_LEN, *positions_of(config) > 0},
        {family->keys.token_types, &config->token_types, VKF_MAX_LEN, false},
        {family->keys.num_kv_heads, &config->num_kv_heads, VKF_MAX_DIM, true},
        {family->keys.head_dim, &config->head_dim, VKF_MAX_DIM, true},
        {family->keys.window, &config->window, UINT32_MAX / 2, true},
        {family->keys.decoder_layers, &config->num_decoder_layers, VKF_MAX_LAYERS, true},
        {family->keys.decoder_heads, &config->num_decoder_heads, VKF_MAX_DIM, true},
        {family->keys.decoder_feed_forward, &config->dim_decoder_feedforward, VKF_MAX_DIM, true},
        {family->keys.relative_buckets, &config->relative_buckets, VKF_MAX_DIM, true},
        {family->keys.relative_distance, &config->relative_distance, VKF_MAX_LEN, true},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (numbers[i].key && (!numbers[i].optional || vkf__json_has(r->root, numbers[i].key)))
            VKF_TRY(vkf__json_u32(r->host, r->path, r->root, numbers[i].key, 1, numbers[i].max, numbers[i].value));
    if (family->keys.layer_norm_eps)
        VKF_TRY(vkf__json_f32(r->host, r->path, r->root, family->keys.layer_norm_eps, &config->layer_norm_eps));
fail:
    return status;
}

static vkf_status read_switches(const reader *r, vkf_model_config *config, bool *windowed)
{
    vkf_status status = VKF_OK;
    bool scaled = !config->unscaled_embedding;
    const vkf__family *family = r->family;
    const struct {
        const char *key;
        bool *value;
    } switches[] = {
        {family->keys.parallel, &config->parallel},
        {family->keys.attention_bias, &config->attention_bias},
        {family->keys.feed_forward_bias, &config->feed_forward_bias},
        {family->keys.windowed, windowed},
        {family->keys.norm_bias, &config->norm_bias},
        {family->keys.head_dense_bias, &config->head_dense_bias},
        {family->keys.projection_bias, &config->projection_bias},
        {family->keys.scaled_embedding, &scaled},
        {"tie_word_embeddings", &config->tie_projection},
    };
    for (size_t i = 0; i < sizeof switches / sizeof switches[0]; i++)
        if (vkf__json_has(r->root, switches[i].key))
            VKF_TRY(vkf__json_bool(r->host, r->path, r->root, switches[i].key, switches[i].value));
    config->unscaled_embedding = !scaled;
fail:
    return status;
}

// Sizes that follow from others where config.json does not say them.
static void complete_sizes(const vkf__family *family, vkf_model_config *config)
{
    if (config->dim_feedforward == 0)
        config->dim_feedforward = family->feed_forward_factor * config->d_model;
    if (config->kind == VKF_MODEL_SEQ2SEQ) {
        config->target_vocab = config->source_vocab;
        config->max_target_len = config->max_source_len;
        config->num_decoder_layers =
            config->num_decoder_layers > 0 ? config->num_decoder_layers : config->num_encoder_layers;
        return;
    }
    if (config->num_kv_heads == 0)
        config->num_kv_heads = config->num_heads;
    if (config->head_dim == 0 && config->d_model % config->num_heads == 0) // else it stays 0, and is refused
        config->head_dim = config->d_model / config->num_heads;
}

static void set_windowed(vkf_model_config *config, size_t layer)
{
    config->windowed_layers[layer / 32] |= 1u << layer % 32;
}

static vkf_status read_layer_types(const reader *r, const json_t *types, vkf_model_config *config)
{
    if (json_array_size(types) != *layers_of(config))
        return vkf__fail(r->host, VKF_ERROR_FORMAT, "%s: layer_types has %zu elements for %u layers", r->path,
                         json_array_size(types), *layers_of(config));
    for (size_t i = 0; i < json_array_size(types); i++) {
        const char *type = json_string_value(json_array_get(types, i));
        if (type && strcmp(type, "sliding_attention") == 0)
            set_windowed(config, i);
        else if (!type || strcmp(type, "full_attention") != 0)
            return vkf__fail(r->host, VKF_ERROR_UNSUPPORTED,
                             "%s: layer_types[%zu] is %s; supported: full_attention, sliding_attention", r->path, i,
                             type ? type : "no string");
    }
    return VKF_OK;
}

// Newer directories say of each layer what it is; before, the window held from a certain layer on.
static vkf_status read_windows(const reader *r, bool windowed, vkf_model_config *config)
{
    vkf_status status = VKF_OK;
    const json_t *types = json_object_get(r->root, "layer_types");
    uint32_t from = 0, full_every = 0;
    if (!windowed)
        config->window = 0;
    if (config->window == 0)
        return VKF_OK;
    if (json_is_array(types))
        return read_layer_types(r, types, config);
    if (vkf__json_has(r->root, r->family->keys.windowed_from))
        VKF_TRY(vkf__json_u32(r->host, r->path, r->root, r->family->keys.windowed_from, 0, UINT32_MAX / 2, &from));
    if (vkf__json_has(r->root, r->family->keys.full_every))
        VKF_TRY(vkf__json_u32(r->host, r->path, r->root, r->family->keys.full_every, 1, UINT32_MAX / 2, &full_every));
    for (uint32_t i = from; i < *layers_of(config); i++)
        if (full_every == 0 || i % full_every != 0)
            set_windowed(config, i);
fail:
    return status;
}

// transformers writes null where a model has no such token.
static vkf_status read_token(const reader *r, const char *key, uint32_t vocab, int32_t *out_id)
{
    vkf_status status = VKF_OK;
    uint32_t id = 0;
    if (vkf__json_has(r->root, key))
        status = vkf__json_u32(r->host, r->path, r->root, key, 0, vocab - 1, &id);
    *out_id = (int32_t)id;
    return status;
}

static vkf_status read_positions(const reader *r, vkf_model_config *config)
{
    if (!r->family->positions_after_pad)
        return VKF_OK;
    config->position_offset = (uint32_t)config->pad_id + 1;
    if (config->position_offset >= config->max_source_len)
        return vkf__fail(r->host, VKF_ERROR_FORMAT, "%s: %s is %u, which leaves no position behind pad_token_id %d",
                         r->path, r->family->keys.max_positions, config->max_source_len, config->pad_id);
    config->max_source_len -= config->position_offset;
    return VKF_OK;
}

// One id, several, or null.
static vkf_status read_eos(const vkf__host *host, const char *path, const json_t *root, vkf_model_config *config)
{
    const json_t *value = json_object_get(root, "eos_token_id");
    size_t count = json_is_array(value) ? json_array_size(value) : 1;
    if (!vkf__json_has(root, "eos_token_id"))
        return VKF_OK;
    if (count > VKF_MAX_EOS)
        return vkf__fail(host, VKF_ERROR_UNSUPPORTED, "%s: eos_token_id has %zu elements; supported: up to %d", path,
                         count, VKF_MAX_EOS);
    for (size_t i = 0; i < count; i++) {
        const json_t *id = json_is_array(value) ? json_array_get(value, i) : value;
        if (!json_is_integer(id) || json_integer_value(id) < 0 || json_integer_value(id) >= config->target_vocab)
            return vkf__fail(host, VKF_ERROR_FORMAT, "%s: eos_token_id is no token of the vocabulary of %u", path,
                             config->target_vocab);
        config->eos_ids[i] = (int32_t)json_integer_value(id);
    }
    config->eos_count = (uint32_t)count;
    config->eos_id = count > 0 ? config->eos_ids[0] : 0;
    return VKF_OK;
}

// An id that need not be there, and that a list of one may stand for. *out_found stays as it is without it.
static vkf_status read_id(const vkf__host *host, const char *path, const json_t *object, const char *key,
                          uint32_t vocab, bool *out_found, int32_t *out_id)
{
    vkf_status status = VKF_OK;
    uint32_t id = 0;
    if (!vkf__json_has(object, key))
        return VKF_OK;
    VKF_TRY(vkf__json_u32(host, path, object, key, 0, vocab - 1, &id));
    *out_id = (int32_t)id;
    *out_found = true;
fail:
    return status;
}

// Words of one token: a longer one would have to be watched for.
static vkf_status read_banned(const vkf__host *host, const char *path, const json_t *root, vkf_model_config *config)
{
    const json_t *words = json_object_get(root, "bad_words_ids");
    config->banned_count = 0;
    for (size_t i = 0; i < json_array_size(words); i++) {
        const json_t *word = json_array_get(words, i), *id = json_array_get(word, 0);
        if (i == VKF_MAX_EOS || json_array_size(word) != 1)
            return vkf__fail(host, VKF_ERROR_UNSUPPORTED,
                             "%s: bad_words_ids has more than %d words, or one that is not of one token", path,
                             VKF_MAX_EOS);
        if (!json_is_integer(id) || json_integer_value(id) < 0 || json_integer_value(id) >= config->target_vocab)
            return vkf__fail(host, VKF_ERROR_FORMAT, "%s: bad_words_ids has what is no token", path);
        config->banned_ids[config->banned_count++] = (int32_t)json_integer_value(id);
    }
    return VKF_OK;
}

vkf_status vkf__read_generation(const vkf__host *host, const char *path, const json_t *root, vkf_model_config *config)
{
    vkf_status status = VKF_OK;
    uint32_t vocab = config->target_vocab;
    bool start = false;
    VKF_TRY(read_eos(host, path, root, config));
    if (config->kind != VKF_MODEL_SEQ2SEQ)
        return VKF_OK;
    VKF_TRY(read_id(host, path, root, "decoder_start_token_id", vocab, &start, &config->bos_id));
    VKF_TRY(read_id(host, path, root, "forced_bos_token_id", vocab, &config->forced_bos, &config->forced_bos_id));
    VKF_TRY(read_id(host, path, root, "forced_eos_token_id", vocab, &config->forced_eos, &config->forced_eos_id));
    VKF_TRY(read_banned(host, path, root, config));
fail:
    return status;
}

static vkf_status read_seq2seq(const reader *r, vkf_model_config *config)
{
    vkf_status status = VKF_OK;
    VKF_TRY(vkf__read_generation(r->host, r->path, r->root, config));
    bool scaled = r->family->scales_tied_logits && config->tie_projection;
    if (vkf__json_has(r->root, r->family->keys.scaled_logits))
        VKF_TRY(vkf__json_bool(r->host, r->path, r->root, r->family->keys.scaled_logits, &scaled));
    if (scaled)
        config->logit_scale = 1.0f / sqrtf((float)config->d_model);
fail:
    return status;
}

static vkf_status read_head_pooling(const reader *r, const char *key, vkf_pooling *out_pooling)
{
    const char *name = NULL;
    vkf_status status = vkf__json_string(r->host, r->path, r->root, key, &name);
    if (status != VKF_OK)
        return status;
    if (strcmp(name, "cls") != 0 && strcmp(name, "mean") != 0)
        return vkf__fail(r->host, VKF_ERROR_UNSUPPORTED, "%s: %s is \"%s\"; supported: cls, mean", r->path, key, name);
    *out_pooling = name[0] == 'c' ? VKF_POOLING_FIRST : VKF_POOLING_MEAN;
    return VKF_OK;
}

// As transformers counts them: the names, or two where there are none.
static uint32_t count_labels(const reader *r)
{
    size_t names = json_object_size(json_object_get(r->root, "id2label"));
    return names > 0 && names <= VKF_MAX_VOCAB ? (uint32_t)names : 2;
}

static vkf_status read_head(const reader *r, const vkf__family_head *head, vkf_model_config *config)
{
    vkf_status status = VKF_OK;
    config->head = head->head;
    const char *problem = json_string_value(json_object_get(r->root, "problem_type"));
    config->head_multi_label = problem && strcmp(problem, "multi_label_classification") == 0;
    config->head_regression = problem && strcmp(problem, "regression") == 0;
    config->head_pooling = head->pooling;
    config->head_activation = head->activation;
    config->head_outputs = head->head == VKF_HEAD_MASKED_LM            ? config->source_vocab
                           : head->head == VKF_HEAD_QUESTION_ANSWERING ? 2
                                                                       : count_labels(r);
    // Only a masked LM's projection may be the words' table, and only its bias may be missing.
    config->tie_projection = config->tie_projection && head->head == VKF_HEAD_MASKED_LM;
    config->projection_bias = config->projection_bias || head->head != VKF_HEAD_MASKED_LM;
    if (head->activation_key)
        VKF_TRY(read_activation(r, head->activation_key, &config->head_activation));
    if (head->pooling_key)
        VKF_TRY(read_head_pooling(r, head->pooling_key, &config->head_pooling));
fail:
    return status;
}

// The class that the model was saved from, if it is one that says something.
static vkf_status read_encoder(const reader *r, bool windowed, vkf_model_config *config)
{
    vkf_status status = VKF_OK;
    const char *class = json_string_value(json_array_get(json_object_get(r->root, "architectures"), 0));
    const vkf__family_head *head = r->family->heads;
    VKF_TRY(read_windows(r, windowed, config));
    if (r->family->rotary_theta > 0.0f)
        VKF_TRY(vkf__rotary_load(r->host, r->path, r->root, r->family, config));
    while (head && head->architecture && class && strcmp(head->architecture, class) != 0)
        head++;
    if (head && head->architecture && class)
        return read_head(r, head, config);
    config->tie_projection = false;
fail:
    return status;
}

static vkf_status read_decoder(const reader *r, bool windowed, vkf_model_config *config)
{
    vkf_status status = VKF_OK;
    VKF_TRY(read_windows(r, windowed, config));
    VKF_TRY(read_token(r, "bos_token_id", config->target_vocab, &config->bos_id));
    VKF_TRY(vkf__read_generation(r->host, r->path, r->root, config));
    if (r->family->rotary_theta > 0.0f)
        VKF_TRY(vkf__rotary_load(r->host, r->path, r->root, r->family, config));
fail:
    return status;
}

vkf_status vkf__family_config(const vkf__host *host, const char *path, const json_t *root, const vkf__family *family,
                              vkf_model_config *out_config)
{
    vkf_status status = VKF_OK;
    const reader r = {host, path, root, family};
    vkf_model_config config = family->config;
    bool windowed = true;
    VKF_TRY(check_demands(&r));
    VKF_TRY(read_numbers(&r, &config));
    VKF_TRY(read_switches(&r, &config, &windowed));
    complete_sizes(family, &config);
    if (family->keys.gated_activation)
        VKF_TRY(read_gated_activation(&r, family->keys.gated_activation, &config));
    else
        VKF_TRY(read_activation(&r, family->keys.activation, &config.activation));
    VKF_TRY(read_token(&r, "pad_token_id", *vocab_of(&config), &config.pad_id));
    VKF_TRY(read_positions(&r, &config));
    config.share_embedding = true; // the words serve both sides of a model that has one
    if (config.kind == VKF_MODEL_DECODER)
        VKF_TRY(read_decoder(&r, windowed, &config));
    else if (config.kind == VKF_MODEL_SEQ2SEQ)
        VKF_TRY(read_seq2seq(&r, &config));
    else
        VKF_TRY(read_encoder(&r, windowed, &config));
    *out_config = config;
fail:
    return status;
}
