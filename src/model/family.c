#include "model/family.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

static const vkf__family *const families[] = {
    &vkf__family_bert,    &vkf__family_distilbert, &vkf__family_gpt2,  &vkf__family_gpt_neox, &vkf__family_llama,
    &vkf__family_mistral, &vkf__family_modernbert, &vkf__family_qwen2, &vkf__family_qwen3,    &vkf__family_roberta,
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
typedef enum extent { NONE = 0, MODEL, FEED_FORWARD, VOCAB, POSITIONS, TYPES, HEADS, KV_HEADS, HEAD, OUTPUTS } extent;

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
        [OUTPUTS] = decoder ? config->target_vocab : config->head_outputs,
    };
    return sizes[e];
}

// What else there is to say of a role's tensor.
enum {
    LINEAR = 1 << 0, // a Linear's weight
    IN_F32 = 1 << 1, // see vkf__weight_slot
    TIED = 1 << 2,   // the words' table where the configuration ties them
    // Is there where the configuration says so.
    ATTENTION_BIAS = 1 << 3,
    FEED_FORWARD_BIAS = 1 << 4,
    NORM_BIAS = 1 << 5,
    HEAD_BIAS = 1 << 6,
    PROJECTION_BIAS = 1 << 7,
    FIRST_NORM = 1 << 8, // of layers but the first one
    // May be fused.
    PART_OF_QKV = 1 << 9,
    PART_OF_GATE = 1 << 10,
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
    [VKF_WEIGHT_EMBEDDING_NORM_BIAS] = {OF_MODEL(embedding_norm.bias), MODEL, NONE, NORM_BIAS},
    [VKF_WEIGHT_FINAL_NORM_WEIGHT] = {OF_MODEL(final_norm.weight), MODEL, NONE, 0},
    [VKF_WEIGHT_FINAL_NORM_BIAS] = {OF_MODEL(final_norm.bias), MODEL, NONE, NORM_BIAS},
    [VKF_WEIGHT_HEAD_DENSE] = {OF_MODEL(head_dense.weight), MODEL, MODEL, LINEAR},
    [VKF_WEIGHT_HEAD_DENSE_BIAS] = {OF_MODEL(head_dense.bias), MODEL, NONE, HEAD_BIAS},
    [VKF_WEIGHT_HEAD_NORM_WEIGHT] = {OF_MODEL(head_norm.weight), MODEL, NONE, 0},
    [VKF_WEIGHT_HEAD_NORM_BIAS] = {OF_MODEL(head_norm.bias), MODEL, NONE, NORM_BIAS},
    [VKF_WEIGHT_PROJECTION] = {OF_MODEL(projection), OUTPUTS, MODEL, LINEAR | TIED},
    [VKF_WEIGHT_PROJECTION_BIAS] = {OF_MODEL(projection_bias), OUTPUTS, NONE, PROJECTION_BIAS},
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
    [VKF_WEIGHT_ATTENTION_NORM_WEIGHT] = {OF_LAYER(norm[0].weight), MODEL, NONE, FIRST_NORM},
    [VKF_WEIGHT_ATTENTION_NORM_BIAS] = {OF_LAYER(norm[0].bias), MODEL, NONE, NORM_BIAS | FIRST_NORM},
    [VKF_WEIGHT_GATE] = {OF_LAYER(gate.weight), FEED_FORWARD, MODEL, LINEAR | PART_OF_GATE},
    [VKF_WEIGHT_FEED_FORWARD_1] = {OF_LAYER(feed_forward.weight1), FEED_FORWARD, MODEL, LINEAR | PART_OF_GATE},
    [VKF_WEIGHT_GATE_BIAS] = {OF_LAYER(gate.bias), FEED_FORWARD, NONE, FEED_FORWARD_BIAS | PART_OF_GATE},
    [VKF_WEIGHT_FEED_FORWARD_1_BIAS] = {OF_LAYER(feed_forward.bias1), FEED_FORWARD, NONE,
                                        FEED_FORWARD_BIAS | PART_OF_GATE},
    [VKF_WEIGHT_FEED_FORWARD_2] = {OF_LAYER(feed_forward.weight2), MODEL, FEED_FORWARD, LINEAR},
    [VKF_WEIGHT_FEED_FORWARD_2_BIAS] = {OF_LAYER(feed_forward.bias2), MODEL, NONE, FEED_FORWARD_BIAS},
    [VKF_WEIGHT_FEED_FORWARD_NORM_WEIGHT] = {OF_LAYER(norm[1].weight), MODEL, NONE, 0},
    [VKF_WEIGHT_FEED_FORWARD_NORM_BIAS] = {OF_LAYER(norm[1].bias), MODEL, NONE, NORM_BIAS},
};

// The head that the configuration has, in the family's list.
static const vkf__family_head *head_of(const vkf__family *family, const vkf_model_config *config)
{
    const vkf__family_head *head = family->heads;
    while (head && head->architecture && head->head != config->head)
        head++;
    return head && head->architecture ? head : NULL;
}

// What stands in the family's list for a role; NULL: nothing.
static const char *listed(const vkf__family *family, const vkf_model_config *config, vkf__weight_role role)
{
    const vkf__family_head *head = head_of(family, config);
    if (role >= VKF_WEIGHT_HEAD_DENSE && role <= VKF_WEIGHT_PROJECTION_BIAS && head)
        return head->weights[role - VKF_WEIGHT_HEAD_DENSE];
    return family->weights[role];
}

// `layer` counts for roles of layers alone.
static bool has_role(const vkf__family *family, const vkf_model_config *config, vkf__weight_role role, uint32_t layer)
{
    const struct {
        unsigned trait;
        bool there;
    } conditions[] = {
        {ATTENTION_BIAS, config->attention_bias},
        {FEED_FORWARD_BIAS, config->feed_forward_bias},
        {NORM_BIAS, config->norm_bias},
        {HEAD_BIAS, config->head_dense_bias},
        {PROJECTION_BIAS, config->projection_bias},
        {FIRST_NORM, layer > 0 || !config->no_first_norm},
    };
    for (size_t i = 0; i < sizeof conditions / sizeof conditions[0]; i++)
        if ((roles[role].traits & conditions[i].trait) && !conditions[i].there)
            return false;
    return listed(family, config, role) != NULL;
}

static void set_part(vkf__weight_slot *slot, uint32_t parts, uint32_t part, uint32_t part_rows)
{
    slot->parts = parts;
    slot->part = part;
    slot->part_rows = part_rows;
}

// Which part of a fused tensor a role's is.
static void fill_part(vkf__weight_slot *slot, const vkf__family *family, vkf__weight_role role,
                      const vkf_model_config *config)
{
    bool bias = slot->rank == 1;
    if ((roles[role].traits & PART_OF_QKV) && family->qkv != VKF_SEPARATE)
        set_part(slot, 3, role - (bias ? VKF_WEIGHT_Q_BIAS : VKF_WEIGHT_Q),
                 family->qkv == VKF_FUSED_BY_HEAD ? config->head_dim : slot->shape[0]);
    if ((roles[role].traits & PART_OF_GATE) && family->gate_fused)
        set_part(slot, 2, role - (bias ? VKF_WEIGHT_GATE_BIAS : VKF_WEIGHT_GATE), slot->shape[0]);
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
    slot->transposed = slot->linear && family->transposed && number >= VKF_WEIGHT_Q;
    fill_part(slot, family, number, config);
    slot->target = (vkf_tensor *)((char *)object + role->offset);
}

// The words' name serves a tied projection.
static const char *name_of(const vkf__family *family, const vkf_model_config *config, vkf__weight_role role)
{
    bool tied = (roles[role].traits & TIED) && config->tie_projection;
    return tied ? family->weights[VKF_WEIGHT_WORDS] : listed(family, config, role);
}

// Of the model, or of a layer.
static size_t add_roles(const vkf__family *family, const char *prefix, bool of_layer, uint32_t layer,
                        const vkf_model_config *config, void *object, vkf__weight_slot *slots)
{
    size_t count = 0;
    vkf__weight_role end = of_layer ? VKF_WEIGHT_ROLE_COUNT : VKF_WEIGHT_Q;
    for (vkf__weight_role role = of_layer ? VKF_WEIGHT_Q : VKF_WEIGHT_WORDS; role < end; role++) {
        if (!has_role(family, config, role, layer))
            continue;
        if (slots) {
            bool apart = role >= VKF_WEIGHT_HEAD_DENSE && role <= VKF_WEIGHT_PROJECTION_BIAS;
            apart = apart && !((roles[role].traits & TIED) && config->tie_projection);
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
    size_t count = add_roles(family, base, false, 0, config, weights, slots);
    bool decoder = config->kind == VKF_MODEL_DECODER;
    for (uint32_t i = 0; i < (decoder ? config->num_decoder_layers : config->num_encoder_layers); i++) {
        char prefix[64];
        snprintf(prefix, sizeof prefix, "%s%s%u.", base, family->layer, i);
        vkf__layer_weights *layer = slots ? &(decoder ? weights->decoder : weights->encoder)[i] : NULL;
        count += add_roles(family, prefix, true, i, config, layer, slots ? slots + count : NULL);
    }
    return count;
}
