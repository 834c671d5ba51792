#include "model/family.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "io/json_file.h"
#include "model/config.h"

static const vkf__family *const families[] = {&vkf__family_bert, &vkf__family_distilbert, &vkf__family_roberta};

#define FAMILY_COUNT (sizeof families / sizeof families[0])
#define MAX_MODEL_TYPES (sizeof families[0]->model_types / sizeof families[0]->model_types[0])
#define MAX_DEMANDS (sizeof families[0]->demands / sizeof families[0]->demands[0])

const vkf__family *vkf__family_find(const char *model_type)
{
    for (size_t i = 0; i < FAMILY_COUNT; i++)
        for (size_t j = 0; j < MAX_MODEL_TYPES && families[i]->model_types[j]; j++)
            if (strcmp(families[i]->model_types[j], model_type) == 0)
                return families[i];
    return NULL;
}

void vkf__family_names(char *out_text, size_t capacity)
{
    size_t used = 0;
    if (capacity > 0)
        out_text[0] = '\0';
    for (size_t i = 0; i < FAMILY_COUNT; i++)
        for (size_t j = 0; j < MAX_MODEL_TYPES && families[i]->model_types[j] && used < capacity; j++)
            used += (size_t)snprintf(out_text + used, capacity - used, "%s%s", used > 0 ? ", " : "",
                                     families[i]->model_types[j]);
}

// ---- config.json

// What transformers calls its activations. "gelu" is the exact one.
static const struct {
    const char *name;
    vkf_activation activation;
} activations[] = {
    {"gelu", VKF_ACTIVATION_GELU_ERF},      {"gelu_python", VKF_ACTIVATION_GELU_ERF},
    {"gelu_new", VKF_ACTIVATION_GELU_TANH}, {"gelu_pytorch_tanh", VKF_ACTIVATION_GELU_TANH},
    {"relu", VKF_ACTIVATION_RELU},
};

static vkf_status read_activation(const vkf__host *host, const char *path, const json_t *root, const char *key,
                                  vkf_activation *out_activation)
{
    const char *name = NULL;
    vkf_status status = vkf__json_string(host, path, root, key, &name);
    if (status != VKF_OK)
        return status;
    for (size_t i = 0; i < sizeof activations / sizeof activations[0]; i++) {
        if (strcmp(activations[i].name, name) == 0) {
            *out_activation = activations[i].activation;
            return VKF_OK;
        }
    }
    return vkf__fail(host, VKF_ERROR_UNSUPPORTED,
                     "%s: %s is \"%s\"; supported: gelu, gelu_new, gelu_pytorch_tanh, relu", path, key, name);
}

static vkf_status check_demands(const vkf__host *host, const char *path, const json_t *root, const vkf__family *family)
{
    vkf_status status = VKF_OK;
    for (size_t i = 0; i < MAX_DEMANDS && family->demands[i].key; i++) {
        const char *key = family->demands[i].key, *value = NULL;
        if (!json_object_get(root, key))
            continue;
        VKF_TRY(vkf__json_string(host, path, root, key, &value));
        if (strcmp(value, family->demands[i].value) != 0)
            return vkf__fail(host, VKF_ERROR_UNSUPPORTED, "%s: %s is \"%s\"; supported: \"%s\"", path, key, value,
                             family->demands[i].value);
    }
fail:
    return status;
}

// transformers writes null where a model has no padding token.
static vkf_status read_pad(const vkf__host *host, const char *path, const json_t *root, vkf_model_config *config)
{
    uint32_t pad = 0;
    const json_t *value = json_object_get(root, "pad_token_id");
    vkf_status status = VKF_OK;
    if (value && !json_is_null(value))
        status = vkf__json_u32(host, path, root, "pad_token_id", 0, config->source_vocab - 1, &pad);
    config->pad_id = (int32_t)pad;
    return status;
}

static vkf_status read_numbers(const vkf__host *host, const char *path, const json_t *root, const vkf__family *family,
                               vkf_model_config *config)
{
    vkf_status status = VKF_OK;
    const struct {
        const char *key;
        uint32_t *value;
        uint32_t max;
    } numbers[] = {
        {family->keys.d_model, &config->d_model, VKF_MAX_DIM},
        {family->keys.num_heads, &config->num_heads, VKF_MAX_DIM},
        {family->keys.dim_feedforward, &config->dim_feedforward, VKF_MAX_DIM},
        {family->keys.num_layers, &config->num_encoder_layers, VKF_MAX_LAYERS},
        {family->keys.vocab, &config->source_vocab, VKF_MAX_VOCAB},
        {family->keys.max_positions, &config->max_source_len, VKF_MAX_LEN},
        {family->keys.token_types, &config->token_types, VKF_MAX_LEN},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (numbers[i].key)
            VKF_TRY(vkf__json_u32(host, path, root, numbers[i].key, 1, numbers[i].max, numbers[i].value));
    config->layer_norm_eps = family->layer_norm_eps;
    if (family->keys.layer_norm_eps)
        VKF_TRY(vkf__json_f32(host, path, root, family->keys.layer_norm_eps, &config->layer_norm_eps));
fail:
    return status;
}

vkf_status vkf__family_config(const vkf__host *host, const char *path, const json_t *root, const vkf__family *family,
                              vkf_model_config *out_config)
{
    vkf_status status = VKF_OK;
    vkf_model_config config = {.kind = VKF_MODEL_ENCODER};
    VKF_TRY(check_demands(host, path, root, family));
    VKF_TRY(read_numbers(host, path, root, family, &config));
    VKF_TRY(read_activation(host, path, root, family->keys.activation, &config.activation));
    VKF_TRY(read_pad(host, path, root, &config));
    if (family->positions_after_pad) {
        config.position_offset = (uint32_t)config.pad_id + 1;
        if (config.position_offset >= config.max_source_len)
            return vkf__fail(host, VKF_ERROR_FORMAT, "%s: %s is %u, which leaves no position behind pad_token_id %d",
                             path, family->keys.max_positions, config.max_source_len, config.pad_id);
        config.max_source_len -= config.position_offset;
    }
    *out_config = config;
fail:
    return status;
}

// ---- tensors

// Sizes of a configuration that shapes are made of.
typedef enum extent { NONE = 0, MODEL, FEED_FORWARD, VOCAB, POSITIONS, TYPES } extent;

static uint32_t size_of(const vkf_model_config *config, extent e)
{
    const uint32_t sizes[] = {
        [MODEL] = config->d_model,      [FEED_FORWARD] = config->dim_feedforward,
        [VOCAB] = config->source_vocab, [POSITIONS] = config->position_offset + config->max_source_len,
        [TYPES] = config->token_types,
    };
    return sizes[e];
}

// Where the tensor of a role goes, in vkf__weights or, from VKF_WEIGHT_Q on, in vkf__layer_weights.
static const struct role {
    size_t offset;
    extent rows, cols; // cols NONE: a vector
    bool linear;
    bool f32;
} roles[VKF_WEIGHT_ROLE_COUNT] = {
#define OF_MODEL(field) offsetof(vkf__weights, field)
#define OF_LAYER(field) offsetof(vkf__layer_weights, field)
    [VKF_WEIGHT_WORDS] = {OF_MODEL(source_embedding), VOCAB, MODEL, false, false},
    [VKF_WEIGHT_POSITIONS] = {OF_MODEL(positions), POSITIONS, MODEL, false, true},
    [VKF_WEIGHT_TYPES] = {OF_MODEL(token_types), TYPES, MODEL, false, false},
    [VKF_WEIGHT_EMBEDDING_NORM_WEIGHT] = {OF_MODEL(embedding_norm.weight), MODEL, NONE, false, false},
    [VKF_WEIGHT_EMBEDDING_NORM_BIAS] = {OF_MODEL(embedding_norm.bias), MODEL, NONE, false, false},
    [VKF_WEIGHT_Q] = {OF_LAYER(self.q_weight), MODEL, MODEL, true, false},
    [VKF_WEIGHT_K] = {OF_LAYER(self.k_weight), MODEL, MODEL, true, false},
    [VKF_WEIGHT_V] = {OF_LAYER(self.v_weight), MODEL, MODEL, true, false},
    [VKF_WEIGHT_Q_BIAS] = {OF_LAYER(self.q_bias), MODEL, NONE, false, false},
    [VKF_WEIGHT_K_BIAS] = {OF_LAYER(self.k_bias), MODEL, NONE, false, false},
    [VKF_WEIGHT_V_BIAS] = {OF_LAYER(self.v_bias), MODEL, NONE, false, false},
    [VKF_WEIGHT_OUT] = {OF_LAYER(self.out_weight), MODEL, MODEL, true, false},
    [VKF_WEIGHT_OUT_BIAS] = {OF_LAYER(self.out_bias), MODEL, NONE, false, false},
    [VKF_WEIGHT_ATTENTION_NORM_WEIGHT] = {OF_LAYER(norm[0].weight), MODEL, NONE, false, false},
    [VKF_WEIGHT_ATTENTION_NORM_BIAS] = {OF_LAYER(norm[0].bias), MODEL, NONE, false, false},
    [VKF_WEIGHT_FEED_FORWARD_1] = {OF_LAYER(feed_forward.weight1), FEED_FORWARD, MODEL, true, false},
    [VKF_WEIGHT_FEED_FORWARD_1_BIAS] = {OF_LAYER(feed_forward.bias1), FEED_FORWARD, NONE, false, false},
    [VKF_WEIGHT_FEED_FORWARD_2] = {OF_LAYER(feed_forward.weight2), MODEL, FEED_FORWARD, true, false},
    [VKF_WEIGHT_FEED_FORWARD_2_BIAS] = {OF_LAYER(feed_forward.bias2), MODEL, NONE, false, false},
    [VKF_WEIGHT_FEED_FORWARD_NORM_WEIGHT] = {OF_LAYER(norm[1].weight), MODEL, NONE, false, false},
    [VKF_WEIGHT_FEED_FORWARD_NORM_BIAS] = {OF_LAYER(norm[1].bias), MODEL, NONE, false, false},
};

static void fill_slot(vkf__weight_slot *slot, const struct role *role, const vkf_model_config *config, void *object)
{
    slot->rank = role->cols == NONE ? 1 : 2;
    slot->shape[0] = size_of(config, role->rows);
    slot->shape[1] = role->cols == NONE ? 0 : size_of(config, role->cols);
    slot->linear = role->linear;
    slot->f32 = role->f32;
    slot->target = (vkf_tensor *)((char *)object + role->offset);
}

static size_t add_roles(const vkf__family *family, const char *prefix, vkf__weight_role begin, vkf__weight_role end,
                        const vkf_model_config *config, void *object, vkf__weight_slot *slots)
{
    size_t count = 0;
    for (vkf__weight_role role = begin; role < end; role++) {
        if (!family->weights[role])
            continue;
        if (slots) {
            slots[count] = (vkf__weight_slot){0};
            snprintf(slots[count].name, sizeof slots[count].name, "%s%s", prefix, family->weights[role]);
            fill_slot(&slots[count], &roles[role], config, object);
        }
        count++;
    }
    return count;
}

size_t vkf__family_slots(const vkf__family *family, const char *base, const vkf_model_config *config,
                         vkf__weights *weights, vkf__weight_slot *slots)
{
    size_t count = add_roles(family, base, VKF_WEIGHT_WORDS, VKF_WEIGHT_Q, config, weights, slots);
    for (uint32_t i = 0; i < config->num_encoder_layers; i++) {
        char prefix[64];
        snprintf(prefix, sizeof prefix, "%s%s%u.", base, family->layer, i);
        count += add_roles(family, prefix, VKF_WEIGHT_Q, VKF_WEIGHT_ROLE_COUNT, config,
                           slots ? &weights->encoder[i] : NULL, slots ? slots + count : NULL);
    }
    return count;
}
