// Makes the configuration of a model from a family's config.json.
#include <math.h>
#include <string.h>

#include "base/float_or.h"
#include "io/json_file.h"
#include "model/family/family.h"
#include "model/family/generation_config.h"
#include "model/family/labels.h"
#include "model/family/rotary_rows.h"

#define MAX_DEMANDS (sizeof((vkf__family *)0)->demands / sizeof((vkf__family *)0)->demands[0])

// The file that is read, and the family whose keys it has.
typedef struct reader {
    const vkf__host *host;
    const char *path;
    const json_t *root;
    const vkf__family *family;
} reader;

// The names of activations in transformers. "gelu" is the exact one, by erf.
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
    {"sigmoid", VKF_ACTIVATION_SIGMOID},
    {"mish", VKF_ACTIVATION_MISH},
    {"leaky_relu", VKF_ACTIVATION_LEAKY_RELU},
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
    if (!json_object_get(r->root, key))
        return VKF_OK;
    vkf_status status = vkf__json_string(r->host, r->path, r->root, key, &name);
    return status != VKF_OK ? status : find_activation(r, key, name, out_activation);
}

// The value is "gated-gelu", whose activation is gelu_new, "gated-silu", or the name of an activation alone.
static vkf_status read_gated_activation(const reader *r, const char *key, vkf_model_config *config)
{
    const char *name = NULL;
    if (!json_object_get(r->root, key))
        return VKF_OK;
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
        if (value && !json_is_null(value) && (!text || strcmp(text, demand->value) != 0))
            return vkf__fail(r->host, VKF_ERROR_UNSUPPORTED, "%s: %s is \"%s\"; supported: \"%s\"", r->path,
                             demand->key, text ? text : "neither a string nor a boolean", demand->value);
    }
    return VKF_OK;
}

static uint32_t *vocab_of(vkf_model_config *config)
{
    return vkf__facts_of(config)->prompts ? &config->target_vocab : &config->source_vocab;
}

static uint32_t *positions_of(vkf_model_config *config)
{
    return vkf__facts_of(config)->prompts ? &config->max_target_len : &config->max_source_len;
}

static uint32_t *layers_of(vkf_model_config *config)
{
    return vkf__facts_of(config)->prompts ? &config->num_decoder_layers : &config->num_encoder_layers;
}

// A size. Where the file lacks it the family's default holds. A derived one follows from others where it is null in the
// file or 0 by default.
typedef struct number {
    const char *key;
    uint32_t *value;
    uint32_t max;
    bool derived; // may follow from others
} number;

static vkf_status read_number(const reader *r, const number *n)
{
    const json_t *value = n->key ? json_object_get(r->root, n->key) : NULL;
    if (!n->key || (!value && (n->derived || *n->value > 0)))
        return VKF_OK;
    if (n->derived && json_is_null(value)) {
        *n->value = 0;
        return VKF_OK;
    }
    return vkf__json_u32(r->host, r->path, r->root, n->key, 1, n->max, n->value);
}

vkf_status vkf__read_eps(const vkf__host *host, const char *path, const json_t *root, const char *key,
                         vkf_model_config *config)
{
    VKF_RETURN_IF_ERROR(vkf__json_f32(host, path, root, key, &config->layer_norm_eps));
    config->layer_norm_eps = vkf__float_or(config->layer_norm_eps, VKF_ZERO);
    return VKF_OK;
}

static vkf_status read_numbers(const reader *r, vkf_model_config *config)
{
    const vkf__family *family = r->family;
    const char *eps = family->keys.layer_norm_eps;
    const number numbers[] = {
        {family->keys.d_model, &config->d_model, VKF_MAX_DIM, false},
        {family->keys.num_heads, &config->num_heads, VKF_MAX_DIM, false},
        {family->keys.dim_feedforward, &config->dim_feedforward, VKF_MAX_DIM, family->feed_forward_factor > 0},
        {family->keys.num_layers, layers_of(config), VKF_MAX_LAYERS, false},
        {family->keys.vocab, vocab_of(config), VKF_MAX_VOCAB, false},
        {family->keys.max_positions, positions_of(config), VKF_MAX_LEN, false},
        {family->keys.token_types, &config->token_types, VKF_MAX_LEN, false},
        {family->keys.num_kv_heads, &config->num_kv_heads, VKF_MAX_DIM, true},
        {family->keys.head_dim, &config->head_dim, VKF_MAX_DIM, true},
        {family->keys.window, &config->window, UINT32_MAX / 2, true},
        {family->keys.decoder_layers, &config->num_decoder_layers, VKF_MAX_LAYERS, true},
        {family->keys.decoder_heads, &config->num_decoder_heads, VKF_MAX_DIM, true},
        {family->keys.decoder_feed_forward, &config->dim_decoder_feedforward, VKF_MAX_DIM, true},
        {family->keys.relative_buckets, &config->relative_buckets, VKF_MAX_DIM, false},
        {family->keys.relative_distance, &config->relative_distance, VKF_MAX_LEN, false},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        VKF_RETURN_IF_ERROR(read_number(r, &numbers[i]));
    if (eps && (json_object_get(r->root, eps) || config->layer_norm_eps == 0.0f))
        VKF_RETURN_IF_ERROR(vkf__read_eps(r->host, r->path, r->root, eps, config));
    return VKF_OK;
}

static vkf_status read_switches(const reader *r, vkf_model_config *config, bool *windowed)
{
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
        {family->keys.causal, &config->causal},
        {"tie_word_embeddings", &config->tie_projection},
    };
    for (size_t i = 0; i < sizeof switches / sizeof switches[0]; i++) {
        if (vkf__json_has(r->root, switches[i].key))
            VKF_RETURN_IF_ERROR(vkf__json_bool(r->host, r->path, r->root, switches[i].key, switches[i].value));
        else if (switches[i].key && json_object_get(r->root, switches[i].key)) // null
            *switches[i].value = false;
    }
    config->unscaled_embedding = !scaled;
    return VKF_OK;
}

// Completes the sizes that follow from others where config.json does not give them.
static void complete_sizes(const vkf__family *family, vkf_model_config *config)
{
    if (config->dim_feedforward == 0)
        config->dim_feedforward = family->feed_forward_factor * config->d_model;
    if (vkf__facts_of(config)->own_decoder) {
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

// Newer directories list the type of each layer. In older ones the window holds from a certain layer on, except in
// every full_every-th layer.
static vkf_status read_windows(const reader *r, bool windowed, vkf_model_config *config)
{
    const json_t *types = json_object_get(r->root, "layer_types");
    uint32_t from = r->family->windowed_from, full_every = r->family->full_every;
    if (!windowed)
        config->window = 0;
    if (config->window == 0)
        return VKF_OK;
    if (json_is_array(types) && !r->family->ignores_layer_types)
        return read_layer_types(r, types, config);
    if (vkf__json_has(r->root, r->family->keys.windowed_from))
        VKF_RETURN_IF_ERROR(
            vkf__json_u32(r->host, r->path, r->root, r->family->keys.windowed_from, 0, UINT32_MAX / 2, &from));
    if (vkf__json_has(r->root, r->family->keys.full_every))
        VKF_RETURN_IF_ERROR(
            vkf__json_u32(r->host, r->path, r->root, r->family->keys.full_every, 1, UINT32_MAX / 2, &full_every));
    for (uint32_t i = from; i < *layers_of(config); i++)
        if (full_every == 0 || i % full_every != 0)
            set_windowed(config, i);
    return VKF_OK;
}

// Reads the id of a special token. An id outside the vocabulary can never occur and becomes -1.
static vkf_status read_token(const reader *r, const char *key, uint32_t vocab, int32_t *id)
{
    const json_t *value = json_object_get(r->root, key);
    if (value && !json_is_null(value) && !json_is_integer(value))
        return vkf__fail(r->host, VKF_ERROR_FORMAT, "%s: %s is no whole number", r->path, key);
    json_int_t given = json_is_integer(value) ? json_integer_value(value) : value ? -1 : *id;
    *id = given >= 0 && given < (json_int_t)vocab ? (int32_t)given : -1;
    return VKF_OK;
}

static vkf_status read_positions(const reader *r, vkf_model_config *config)
{
    const json_t *pad = json_object_get(r->root, "pad_token_id");
    if (!r->family->positions_after_pad)
        return VKF_OK;
    if (config->pad_id < 0 && (!json_is_integer(pad) || json_integer_value(pad) != -1))
        return vkf__fail(r->host, VKF_ERROR_FORMAT,
                         "%s: pad_token_id, behind which positions begin, is no token of the vocabulary of %u", r->path,
                         config->source_vocab);
    config->position_offset = (uint32_t)(config->pad_id + 1);
    if (config->position_offset >= config->max_source_len)
        return vkf__fail(r->host, VKF_ERROR_FORMAT, "%s: %s is %u, which leaves no position behind pad_token_id %d",
                         r->path, r->family->keys.max_positions, config->max_source_len, config->pad_id);
    config->max_source_len -= config->position_offset;
    return VKF_OK;
}

static const char *class_of(const reader *r)
{
    return json_string_value(json_array_get(json_object_get(r->root, "architectures"), 0));
}

// Refuses classes of models with a decoder that do something else than predict the next token.
static vkf_status check_class(const reader *r)
{
    static const char *const built[] = {"ForCausalLM", "ForConditionalGeneration"};
    const char *class = class_of(r), *purpose = class ? strstr(class, "For") : NULL;
    for (size_t i = 0; purpose && i < sizeof built / sizeof built[0]; i++)
        if (strcmp(purpose, built[i]) == 0)
            purpose = NULL;
    if (!purpose)
        return VKF_OK;
    return vkf__fail(r->host, VKF_ERROR_UNSUPPORTED,
                     "%s: architectures is \"%.100s\", a class that is not built for model_type \"%s\"", r->path, class,
                     json_string_value(json_object_get(r->root, "model_type")));
}

static vkf_status read_seq2seq(const reader *r, bool windowed, vkf_model_config *config)
{
    (void)windowed; // no such family has windows
    int32_t bos = -1;
    VKF_RETURN_IF_ERROR(check_class(r));
    VKF_RETURN_IF_ERROR(read_token(r, "bos_token_id", config->target_vocab, &bos));
    config->bos_id = config->bos_id < (int32_t)config->target_vocab ? config->bos_id : -1;
    VKF_RETURN_IF_ERROR(vkf__read_generation(r->host, r->path, r->root, config));
    config->bos_id = config->bos_id >= 0 ? config->bos_id : bos;
    bool scaled = r->family->scales_tied_logits && config->tie_projection;
    if (vkf__json_has(r->root, r->family->keys.scaled_logits))
        VKF_RETURN_IF_ERROR(vkf__json_bool(r->host, r->path, r->root, r->family->keys.scaled_logits, &scaled));
    if (scaled)
        config->logit_scale = 1.0f / sqrtf((float)config->d_model);
    return VKF_OK;
}

static vkf_status read_head_pooling(const reader *r, const char *key, vkf_pooling *out_pooling)
{
    const char *name = NULL;
    if (!json_object_get(r->root, key))
        return VKF_OK;
    vkf_status status = vkf__json_string(r->host, r->path, r->root, key, &name);
    if (status != VKF_OK)
        return status;
    if (strcmp(name, "cls") != 0 && strcmp(name, "mean") != 0)
        return vkf__fail(r->host, VKF_ERROR_UNSUPPORTED, "%s: %s is \"%s\"; supported: cls, mean", r->path, key, name);
    *out_pooling = name[0] == 'c' ? VKF_POOLING_FIRST : VKF_POOLING_MEAN;
    return VKF_OK;
}

static vkf_status read_head(const reader *r, const vkf__family_head *head, vkf_model_config *config)
{
    config->head = head->head;
    const char *problem = json_string_value(json_object_get(r->root, "problem_type"));
    config->head_multi_label = problem && strcmp(problem, "multi_label_classification") == 0;
    config->head_regression = problem && strcmp(problem, "regression") == 0;
    config->head_pooling = head->pooling;
    config->head_activation = head->activation != VKF_ACTIVATION_DEFAULT ? head->activation : config->activation;
    config->head_outputs = head->head == VKF_HEAD_MASKED_LM            ? config->source_vocab
                           : head->head == VKF_HEAD_QUESTION_ANSWERING ? 2
                                                                       : vkf__label_count(r->root);
    // Only a masked LM may have its projection tied to the token embedding, and only its projection may lack a bias.
    config->tie_projection = config->tie_projection && head->head == VKF_HEAD_MASKED_LM;
    config->projection_bias = config->projection_bias || head->head != VKF_HEAD_MASKED_LM;
    if (head->activation_key)
        VKF_RETURN_IF_ERROR(read_activation(r, head->activation_key, &config->head_activation));
    if (head->pooling_key)
        VKF_RETURN_IF_ERROR(read_head_pooling(r, head->pooling_key, &config->head_pooling));
    return VKF_OK;
}

// The head of the class that the model was saved from; NULL where that class has none in the family's list.
static const vkf__family_head *find_head(const reader *r)
{
    const char *class = class_of(r);
    const vkf__family_head *head = r->family->heads;
    while (head && head->architecture && class && strcmp(head->architecture, class) != 0)
        head++;
    return head && head->architecture && class ? head : NULL;
}

static vkf_status read_encoder(const reader *r, bool windowed, vkf_model_config *config)
{
    const vkf__family_head *head = find_head(r);
    VKF_RETURN_IF_ERROR(read_windows(r, windowed, config));
    if (r->family->rotary_theta > 0.0f)
        VKF_RETURN_IF_ERROR(vkf__rotary_load(r->host, r->path, r->root, r->family, config));
    if (head)
        return read_head(r, head, config);
    config->tie_projection = false;
    return VKF_OK;
}

void vkf__make_causal_encoder(vkf_model_config *config)
{
    config->kind = VKF_MODEL_ENCODER;
    config->causal = true;
    config->num_encoder_layers = config->num_decoder_layers;
    config->source_vocab = config->target_vocab;
    config->max_source_len = config->max_target_len;
    config->num_decoder_layers = config->target_vocab = config->max_target_len = 0;
}

static vkf_status read_decoder(const reader *r, bool windowed, vkf_model_config *config)
{
    const vkf__family_head *head = find_head(r);
    VKF_RETURN_IF_ERROR(read_windows(r, windowed, config));
    if (r->family->rotary_theta > 0.0f)
        VKF_RETURN_IF_ERROR(vkf__rotary_load(r->host, r->path, r->root, r->family, config));
    if (head) {
        vkf__make_causal_encoder(config);
        return read_head(r, head, config);
    }
    VKF_RETURN_IF_ERROR(check_class(r));
    VKF_RETURN_IF_ERROR(read_token(r, "bos_token_id", config->target_vocab, &config->bos_id));
    return vkf__read_generation(r->host, r->path, r->root, config);
}

// Reads what only models of one kind have. No family is a TRANSFORMER.
static vkf_status (*const read_kind[VKF_MODEL_KIND_COUNT])(const reader *, bool, vkf_model_config *) = {
    [VKF_MODEL_SEQ2SEQ] = read_seq2seq,
    [VKF_MODEL_ENCODER] = read_encoder,
    [VKF_MODEL_DECODER] = read_decoder,
};

vkf_status vkf__family_config(const vkf__host *host, const char *path, const json_t *root, const vkf__family *family,
                              vkf_model_config *out_config)
{
    const reader r = {host, path, root, family};
    vkf_model_config config = family->config;
    bool windowed = !family->keys.windowed;
    VKF_RETURN_IF_ERROR(check_demands(&r));
    VKF_RETURN_IF_ERROR(read_numbers(&r, &config));
    VKF_RETURN_IF_ERROR(read_switches(&r, &config, &windowed));
    complete_sizes(family, &config);
    if (family->keys.gated_activation)
        VKF_RETURN_IF_ERROR(read_gated_activation(&r, family->keys.gated_activation, &config));
    else
        VKF_RETURN_IF_ERROR(read_activation(&r, family->keys.activation, &config.activation));
    VKF_RETURN_IF_ERROR(read_token(&r, "pad_token_id", *vocab_of(&config), &config.pad_id));
    VKF_RETURN_IF_ERROR(read_positions(&r, &config));
    config.share_embedding = true; // unless vkf__family_untie() finds a table for each side
    VKF_RETURN_IF_ERROR(read_kind[config.kind](&r, windowed, &config));
    *out_config = config;
    return VKF_OK;
}
