#include "model/family.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

static const vkf__family *const families[] = {
    &vkf__family_bert,    &vkf__family_distilbert, &vkf__family_gpt2,  &vkf__family_gpt_neox, &vkf__family_llama,
    &vkf__family_mistral, &vkf__family_qwen2,      &vkf__family_qwen3, &vkf__family_roberta,
};

#define FAMILY_COUNT (sizeof families / sizeof families[0])
#define MAX_MODEL_TYPES (sizeof families[0]->model_types / sizeof families[0]->model_types[0])

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

// ---- tensors

// Sizes of a configuration that shapes are made of.
typedef enum extent { NONE = 0, MODEL, FEED_FORWARD, VOCAB, POSITIONS, TYPES, HEADS, KV_HEADS, HEAD } extent;

static uint32_t size_of(const vkf_model_config *config, extent e)
{
    bool decoder = config->kind == VKF_MODEL_DECODER;
    const uint32_t sizes[] = {
        [MODEL] = config->d_model,
        [FEED_FORWARD] = config->dim_feedforward,
        [VOCAB] = decoder ? config->target_vocab : config->source_vocab,
        [POSITIONS] = decoder ? config->max_target_len : config->position_offset + config->max_source_len,
        [TYPES] = config->token_types,
        [HEADS] = config->num_heads * config->head_dim,
        [KV_HEADS] = config->num_kv_heads * config->head_dim,
        [HEAD] = config->head_dim,
    };
    return sizes[e];
}

// What else there is to say of a role's tensor.
enum {
    LINEAR = 1,             // a Linear's weight
    IN_F32 = 2,             // see vkf__weight_slot
    TIED = 4,               // the words' table where the configuration ties them
    ATTENTION_BIAS = 8,     // is there where the configuration says so
    FEED_FORWARD_BIAS = 16, // likewise
    PART_OF_QKV = 32,       // may be fused
};

// Where the tensor of a role goes, in vkf__weights or, from VKF_WEIGHT_Q on, in vkf__layer_weights.
static const struct role {
    size_t offset;
    extent rows, cols; // cols NONE: a vector
    unsigned traits;
} roles[VKF_WEIGHT_ROLE_COUNT] = {
#define OF_MODEL(field) offsetof(vkf__weights, field)
#define OF_LAYER(field) offsetof(vkf__layer_weights, field)
    [VKF_WEIGHT_WORDS] = {OF_MODEL(source_embedding), VOCAB, MODEL, 0},
    [VKF_WEIGHT_POSITIONS] = {OF_MODEL(positions), POSITIONS, MODEL, IN_F32},
    [VKF_WEIGHT_TYPES] = {OF_MODEL(token_types), TYPES, MODEL, 0},
    [VKF_WEIGHT_EMBEDDING_NORM_WEIGHT] = {OF_MODEL(embedding_norm.weight), MODEL, NONE, 0},
    [VKF_WEIGHT_EMBEDDING_NORM_BIAS] = {OF_MODEL(embedding_norm.bias), MODEL, NONE, 0},
    [VKF_WEIGHT_FINAL_NORM_WEIGHT] = {OF_MODEL(decoder_norm.weight), MODEL, NONE, 0},
    [VKF_WEIGHT_FINAL_NORM_BIAS] = {OF_MODEL(decoder_norm.bias), MODEL, NONE, 0},
    [VKF_WEIGHT_PROJECTION] = {OF_MODEL(projection), VOCAB, MODEL, LINEAR | TIED},
    [VKF_WEIGHT_Q] = {OF_LAYER(self.q_weight), HEADS, MODEL, LINEAR | PART_OF_QKV},
    [VKF_WEIGHT_K] = {OF_LAYER(self.k_weight), KV_HEADS, MODEL, LINEAR | PART_OF_QKV},
    [VKF_WEIGHT_V] = {OF_LAYER(self.v_weight), KV_HEADS, MODEL, LINEAR | PART_OF_QKV},
    [VKF_WEIGHT_Q_BIAS] = {OF_LAYER(self.q_bias), HEADS, NONE, ATTENTION_BIAS | PART_OF_QKV},
    [VKF_WEIGHT_K_BIAS] = {OF_LAYER(self.k_bias), KV_HEADS, NONE, ATTENTION_BIAS | PART_OF_QKV},
    [VKF_WEIGHT_V_BIAS] = {OF_LAYER(self.v_bias), KV_HEADS, NONE, ATTENTION_BIAS | PART_OF_QKV},
    [VKF_WEIGHT_Q_NORM] = {OF_LAYER(q_norm), HEAD, NONE, 0},
    [VKF_WEIGHT_K_NORM] = {OF_LAYER(k_norm), HEAD, NONE, 0},
    [VKF_WEIGHT_OUT] = {OF_LAYER(self.out_weight), MODEL, HEADS, LINEAR},
    [VKF_WEIGHT_OUT_BIAS] = {OF_LAYER(self.out_bias), MODEL, NONE, ATTENTION_BIAS},
    [VKF_WEIGHT_ATTENTION_NORM_WEIGHT] = {OF_LAYER(norm[0].weight), MODEL, NONE, 0},
    [VKF_WEIGHT_ATTENTION_NORM_BIAS] = {OF_LAYER(norm[0].bias), MODEL, NONE, 0},
    [VKF_WEIGHT_GATE] = {OF_LAYER(gate.weight), FEED_FORWARD, MODEL, LINEAR},
    [VKF_WEIGHT_FEED_FORWARD_1] = {OF_LAYER(feed_forward.weight1), FEED_FORWARD, MODEL, LINEAR},
    [VKF_WEIGHT_GATE_BIAS] = {OF_LAYER(gate.bias), FEED_FORWARD, NONE, FEED_FORWARD_BIAS},
    [VKF_WEIGHT_FEED_FORWARD_1_BIAS] = {OF_LAYER(feed_forward.bias1), FEED_FORWARD, NONE, FEED_FORWARD_BIAS},
    [VKF_WEIGHT_FEED_FORWARD_2] = {OF_LAYER(feed_forward.weight2), MODEL, FEED_FORWARD, LINEAR},
    [VKF_WEIGHT_FEED_FORWARD_2_BIAS] = {OF_LAYER(feed_forward.bias2), MODEL, NONE, FEED_FORWARD_BIAS},
    [VKF_WEIGHT_FEED_FORWARD_NORM_WEIGHT] = {OF_LAYER(norm[1].weight), MODEL, NONE, 0},
    [VKF_WEIGHT_FEED_FORWARD_NORM_BIAS] = {OF_LAYER(norm[1].bias), MODEL, NONE, 0},
};

static bool has_role(const vkf__family *family, const vkf_model_config *config, vkf__weight_role role)
{
    bool named = family->weights[role] != NULL;
    if (roles[role].traits & ATTENTION_BIAS)
        return named && config->attention_bias;
    if (roles[role].traits & FEED_FORWARD_BIAS)
        return named && config->feed_forward_bias;
    return named;
}

// Which of the three parts of a fused tensor a role's is.
static uint32_t part_of(vkf__weight_role role)
{
    return role >= VKF_WEIGHT_Q_BIAS ? role - VKF_WEIGHT_Q_BIAS : role - VKF_WEIGHT_Q;
}

static void fill_slot(vkf__weight_slot *slot, const vkf__family *family, vkf__weight_role number,
                      const vkf_model_config *config, void *object)
{
    const struct role *role = &roles[number];
    slot->rank = role->cols == NONE ? 1 : 2;
    slot->shape[0] = size_of(config, role->rows);
    slot->shape[1] = role->cols == NONE ? 0 : size_of(config, role->cols);
    slot->linear = role->traits & LINEAR;
    slot->f32 = role->traits & IN_F32;
    slot->tied = (role->traits & TIED) && config->tie_projection;
    slot->transposed = slot->linear && family->transposed && number != VKF_WEIGHT_PROJECTION;
    if ((role->traits & PART_OF_QKV) && family->qkv != VKF_SEPARATE) {
        slot->parts = 3;
        slot->part = part_of(number);
        slot->part_rows = family->qkv == VKF_FUSED_BY_HEAD ? config->head_dim : slot->shape[0];
    }
    slot->target = (vkf_tensor *)((char *)object + role->offset);
}

// The words' name serves a tied projection.
static const char *name_of(const vkf__family *family, const vkf_model_config *config, vkf__weight_role role)
{
    bool tied = (roles[role].traits & TIED) && config->tie_projection;
    return family->weights[tied ? VKF_WEIGHT_WORDS : role];
}

static size_t add_roles(const vkf__family *family, const char *prefix, vkf__weight_role begin, vkf__weight_role end,
                        const vkf_model_config *config, void *object, vkf__weight_slot *slots)
{
    size_t count = 0;
    for (vkf__weight_role role = begin; role < end; role++) {
        if (!has_role(family, config, role))
            continue;
        if (slots) {
            bool apart = role == VKF_WEIGHT_PROJECTION && !config->tie_projection;
            slots[count] = (vkf__weight_slot){0};
            snprintf(slots[count].name, sizeof slots[count].name, "%s%s", apart ? "" : prefix,
                     name_of(family, config, role));
            fill_slot(&slots[count], family, role, config, object);
        }
        count++;
    }
    return count;
}

size_t vkf__family_slots(const vkf__family *family, const char *base, const vkf_model_config *config,
                         vkf__weights *weights, vkf__weight_slot *slots)
{
    size_t count = add_roles(family, base, VKF_WEIGHT_WORDS, VKF_WEIGHT_Q, config, weights, slots);
    bool decoder = config->kind == VKF_MODEL_DECODER;
    for (uint32_t i = 0; i < (decoder ? config->num_decoder_layers : config->num_encoder_layers); i++) {
        char prefix[64];
        snprintf(prefix, sizeof prefix, "%s%s%u.", base, family->layer, i);
        vkf__layer_weights *layer = slots ? &(decoder ? weights->decoder : weights->encoder)[i] : NULL;
        count +=
            add_roles(family, prefix, VKF_WEIGHT_Q, VKF_WEIGHT_ROLE_COUNT, config, layer, slots ? slots + count : NULL);
    }
    return count;
}
