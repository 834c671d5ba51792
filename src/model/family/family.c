// Turns a family's tables into weight slots: which tensors a model has, by which names and in which shapes.
#include "model/family/family.h"

#include <stddef.h>
#include <stdio.h>

#include "model/family/weight_fusion.h"

// The sizes of a configuration that tensor shapes are made of.
typedef enum extent {
    NONE = 0,
    MODEL,
    FEED_FORWARD,
    VOCAB,
    POSITIONS,
    TYPES,
    HEADS,
    KV_HEADS,
    HEAD,
    OUTPUTS,
    BUCKETS,
    HEAD_COUNT
} extent;

static uint32_t size_of(const vkf_model_config *config, const vkf__stack *stack, extent e)
{
    const vkf__kind_facts *facts = vkf__facts_of(config);
    const uint32_t sizes[] = {
        [MODEL] = config->d_model,
        [FEED_FORWARD] = stack->dim_feedforward,
        [VOCAB] = facts->decodes ? config->target_vocab : config->source_vocab,
        [POSITIONS] = stack->positions,
        [TYPES] = config->token_types,
        [HEADS] = stack->heads * stack->head_dim,
        [KV_HEADS] = stack->kv_heads * stack->head_dim,
        [HEAD] = stack->head_dim,
        [OUTPUTS] = facts->pools ? config->head_outputs : config->target_vocab,
        [BUCKETS] = config->relative_buckets,
        [HEAD_COUNT] = stack->heads,
    };
    return sizes[e];
}

// Further properties of a role's tensor.
enum {
    LINEAR = 1 << 0, // a Linear's weight
    IN_F32 = 1 << 1, // see vkf__weight_slot
    TIED = 1 << 2,   // the token embedding where the configuration ties the two
    // The tensor exists only where the configuration says so.
    ATTENTION_BIAS = 1 << 3,
    FEED_FORWARD_BIAS = 1 << 4,
    NORM_BIAS = 1 << 5,
    HEAD_BIAS = 1 << 6,
    PROJECTION_BIAS = 1 << 7,
    FIRST_NORM = 1 << 8, // the first layer may lack it
    OF_GATE = 1 << 9,    // only models with a gate have it
    UNGATED = 1 << 10,   // only models without a gate have it
    OWN_WORDS = 1 << 11, // only models whose sides have separate word tables have it
    // In a model that is cut into parts, only one with the first or the last layer of its side has it.
    EMBEDS = 1 << 12,
    ENDS = 1 << 13,
    CHOOSES = 1 << 14, // the same of the decoder's last layer, whatever the side
};

// Where the tensor of a role goes, and its shape. Offsets are into vkf__weights, from VKF_WEIGHT_POSITIONS on into
// vkf__stack_weights, and from VKF_WEIGHT_Q on into vkf__layer_weights.
static const struct role {
    size_t offset;
    extent rows, cols; // a vector has cols NONE
    unsigned traits;
} roles[VKF_WEIGHT_ROLE_COUNT] = {
#define OF_MODEL(field) offsetof(vkf__weights, field)
#define OF_STACK(field) offsetof(vkf__stack_weights, field)
#define OF_LAYER(field) offsetof(vkf__layer_weights, field)
    [VKF_WEIGHT_WORDS] = {OF_MODEL(source_embedding), VOCAB, MODEL, EMBEDS},
    [VKF_WEIGHT_TARGET_WORDS] = {OF_MODEL(target_embedding), VOCAB, MODEL, OWN_WORDS | EMBEDS},
    [VKF_WEIGHT_POSITIONS] = {OF_STACK(positions), POSITIONS, MODEL, IN_F32 | EMBEDS},
    [VKF_WEIGHT_TYPES] = {OF_MODEL(token_types), TYPES, MODEL, 0},
    [VKF_WEIGHT_EMBEDDING_NORM_WEIGHT] = {OF_STACK(embedding_norm.weight), MODEL, NONE, EMBEDS},
    [VKF_WEIGHT_EMBEDDING_NORM_BIAS] = {OF_STACK(embedding_norm.bias), MODEL, NONE, NORM_BIAS | EMBEDS},
    [VKF_WEIGHT_FINAL_NORM_WEIGHT] = {OF_STACK(final_norm.weight), MODEL, NONE, ENDS},
    [VKF_WEIGHT_FINAL_NORM_BIAS] = {OF_STACK(final_norm.bias), MODEL, NONE, NORM_BIAS | ENDS},
    [VKF_WEIGHT_HEAD_DENSE] = {OF_MODEL(head_dense.weight), MODEL, MODEL, LINEAR},
    [VKF_WEIGHT_HEAD_DENSE_BIAS] = {OF_MODEL(head_dense.bias), MODEL, NONE, HEAD_BIAS},
    [VKF_WEIGHT_HEAD_NORM_WEIGHT] = {OF_MODEL(head_norm.weight), MODEL, NONE, 0},
    [VKF_WEIGHT_HEAD_NORM_BIAS] = {OF_MODEL(head_norm.bias), MODEL, NONE, NORM_BIAS},
    [VKF_WEIGHT_PROJECTION] = {OF_MODEL(projection), OUTPUTS, MODEL, LINEAR | TIED | CHOOSES},
    [VKF_WEIGHT_PROJECTION_BIAS] = {OF_MODEL(projection_bias), OUTPUTS, NONE, PROJECTION_BIAS | CHOOSES},
    [VKF_WEIGHT_RELATIVE_BIAS] = {OF_STACK(relative_bias), BUCKETS, HEAD_COUNT, IN_F32},
    [VKF_WEIGHT_CROSS_Q] = {OF_LAYER(cross.q_weight), HEADS, MODEL, LINEAR},
    [VKF_WEIGHT_CROSS_K] = {OF_LAYER(cross.k_weight), HEADS, MODEL, LINEAR},
    [VKF_WEIGHT_CROSS_V] = {OF_LAYER(cross.v_weight), HEADS, MODEL, LINEAR},
    [VKF_WEIGHT_CROSS_Q_BIAS] = {OF_LAYER(cross.q_bias), HEADS, NONE, ATTENTION_BIAS},
    [VKF_WEIGHT_CROSS_K_BIAS] = {OF_LAYER(cross.k_bias), HEADS, NONE, ATTENTION_BIAS},
    [VKF_WEIGHT_CROSS_V_BIAS] = {OF_LAYER(cross.v_bias), HEADS, NONE, ATTENTION_BIAS},
    [VKF_WEIGHT_CROSS_OUT] = {OF_LAYER(cross.out_weight), MODEL, HEADS, LINEAR},
    [VKF_WEIGHT_CROSS_OUT_BIAS] = {OF_LAYER(cross.out_bias), MODEL, NONE, ATTENTION_BIAS},
    [VKF_WEIGHT_CROSS_NORM_WEIGHT] = {OF_LAYER(norm[1].weight), MODEL, NONE, 0},
    [VKF_WEIGHT_CROSS_NORM_BIAS] = {OF_LAYER(norm[1].bias), MODEL, NONE, NORM_BIAS},
    [VKF_WEIGHT_Q] = {OF_LAYER(self.q_weight), HEADS, MODEL, LINEAR},
    [VKF_WEIGHT_K] = {OF_LAYER(self.k_weight), KV_HEADS, MODEL, LINEAR},
    [VKF_WEIGHT_V] = {OF_LAYER(self.v_weight), KV_HEADS, MODEL, LINEAR},
    [VKF_WEIGHT_Q_BIAS] = {OF_LAYER(self.q_bias), HEADS, NONE, ATTENTION_BIAS},
    [VKF_WEIGHT_K_BIAS] = {OF_LAYER(self.k_bias), KV_HEADS, NONE, ATTENTION_BIAS},
    [VKF_WEIGHT_V_BIAS] = {OF_LAYER(self.v_bias), KV_HEADS, NONE, ATTENTION_BIAS},
    [VKF_WEIGHT_Q_NORM] = {OF_LAYER(q_norm), HEAD, NONE, 0},
    [VKF_WEIGHT_K_NORM] = {OF_LAYER(k_norm), HEAD, NONE, 0},
    [VKF_WEIGHT_OUT] = {OF_LAYER(self.out_weight), MODEL, HEADS, LINEAR},
    [VKF_WEIGHT_OUT_BIAS] = {OF_LAYER(self.out_bias), MODEL, NONE, ATTENTION_BIAS},
    [VKF_WEIGHT_ATTENTION_NORM_WEIGHT] = {OF_LAYER(norm[0].weight), MODEL, NONE, FIRST_NORM},
    [VKF_WEIGHT_ATTENTION_NORM_BIAS] = {OF_LAYER(norm[0].bias), MODEL, NONE, NORM_BIAS | FIRST_NORM},
    [VKF_WEIGHT_GATE] = {OF_LAYER(gate.weight), FEED_FORWARD, MODEL, LINEAR | OF_GATE},
    [VKF_WEIGHT_FEED_FORWARD_1] = {OF_LAYER(feed_forward.weight1), FEED_FORWARD, MODEL, LINEAR},
    [VKF_WEIGHT_UNGATED_1] = {OF_LAYER(feed_forward.weight1), FEED_FORWARD, MODEL, LINEAR | UNGATED},
    [VKF_WEIGHT_GATE_BIAS] = {OF_LAYER(gate.bias), FEED_FORWARD, NONE, FEED_FORWARD_BIAS | OF_GATE},
    [VKF_WEIGHT_FEED_FORWARD_1_BIAS] = {OF_LAYER(feed_forward.bias1), FEED_FORWARD, NONE, FEED_FORWARD_BIAS},
    [VKF_WEIGHT_FEED_FORWARD_2] = {OF_LAYER(feed_forward.weight2), MODEL, FEED_FORWARD, LINEAR},
    [VKF_WEIGHT_FEED_FORWARD_2_BIAS] = {OF_LAYER(feed_forward.bias2), MODEL, NONE, FEED_FORWARD_BIAS},
    [VKF_WEIGHT_FEED_FORWARD_NORM_WEIGHT] = {OF_LAYER(norm[1].weight), MODEL, NONE, 0},
    [VKF_WEIGHT_FEED_FORWARD_NORM_BIAS] = {OF_LAYER(norm[1].bias), MODEL, NONE, NORM_BIAS},
};

// Which roles are multiplied as one. The roles of a fusion are adjacent in vkf__weight_role.
static const struct {
    vkf__fusion of;
    uint32_t part;
} fusions[VKF_WEIGHT_ROLE_COUNT] = {
    [VKF_WEIGHT_Q] = {VKF_FUSION_QKV, 0},
    [VKF_WEIGHT_K] = {VKF_FUSION_QKV, 1},
    [VKF_WEIGHT_V] = {VKF_FUSION_QKV, 2},
    [VKF_WEIGHT_Q_BIAS] = {VKF_FUSION_QKV_BIAS, 0},
    [VKF_WEIGHT_K_BIAS] = {VKF_FUSION_QKV_BIAS, 1},
    [VKF_WEIGHT_V_BIAS] = {VKF_FUSION_QKV_BIAS, 2},
    [VKF_WEIGHT_GATE] = {VKF_FUSION_GATE, 0},
    [VKF_WEIGHT_FEED_FORWARD_1] = {VKF_FUSION_GATE, 1},
    [VKF_WEIGHT_GATE_BIAS] = {VKF_FUSION_GATE_BIAS, 0},
    [VKF_WEIGHT_FEED_FORWARD_1_BIAS] = {VKF_FUSION_GATE_BIAS, 1},
};

const vkf__family_head *vkf__family_head_of(const vkf__family *family, const vkf_model_config *config)
{
    const vkf__family_head *head = family->heads;
    while (head && head->architecture && head->head != config->head)
        head++;
    return head && head->architecture ? head : NULL;
}

// The model, the side and the layer whose tensors are being listed.
typedef struct place {
    const vkf__family *family;
    const vkf_model_config *config;
    const vkf__layer_part *part;
    const vkf__checkpoint *checkpoint; // may be NULL
    const char *base;
    bool target; // the decoder's side
    vkf__stack stack;
    uint32_t layer;     // for the roles of a layer
    const char *prefix; // goes before names
    void *object;       // what the roles' offsets are relative to
} place;

static bool is_own_decoder(const place *p)
{
    return p->target && vkf__facts_of(p->config)->own_decoder;
}

static bool of_head(vkf__weight_role role)
{
    return role >= VKF_WEIGHT_HEAD_DENSE && role <= VKF_WEIGHT_PROJECTION_BIAS;
}

// The name that the family's list has for a role; NULL where it has none.
static const char *listed(const place *p, vkf__weight_role role)
{
    const vkf__family_head *head = vkf__family_head_of(p->family, p->config);
    if (of_head(role) && vkf__facts_of(p->config)->pools) // even in a family whose decoders have lm_head
        return head ? head->weights[role - VKF_WEIGHT_HEAD_DENSE] : NULL;
    if (is_own_decoder(p))
        return p->family->decoder_weights[role];
    return p->family->weights[role];
}

static bool is_tied(const place *p, vkf__weight_role role)
{
    return (roles[role].traits & TIED) && p->config->tie_projection;
}

// The name of a role's tensor, without its prefix. A tied projection goes by the name of the token embedding.
static const char *name_of(const place *p, vkf__weight_role role)
{
    const vkf__family_head *head = vkf__family_head_of(p->family, p->config);
    const char *own_bias = head && role == VKF_WEIGHT_PROJECTION_BIAS ? head->own_bias : NULL;
    if (own_bias && p->checkpoint && vkf__checkpoint_find(p->checkpoint, own_bias))
        return own_bias;
    if (role == VKF_WEIGHT_WORDS && !p->config->share_embedding)
        return p->family->own_words;
    return is_tied(p, role) ? p->family->weights[VKF_WEIGHT_WORDS] : listed(p, role);
}

// A table of words that both sides share is wherever one of them begins.
static bool embeds(const place *p, vkf__weight_role role)
{
    const bool shared = role == VKF_WEIGHT_WORDS && p->config->share_embedding;
    const bool target = p->target || role == VKF_WEIGHT_TARGET_WORDS;
    return vkf__part_begins(p->part, target) || (shared && vkf__part_begins(p->part, true));
}

static bool has_role(const place *p, vkf__weight_role role)
{
    const vkf_model_config *config = p->config;
    const struct {
        unsigned trait;
        bool there;
    } conditions[] = {
        {ATTENTION_BIAS, config->attention_bias},
        {FEED_FORWARD_BIAS, config->feed_forward_bias},
        {NORM_BIAS, config->norm_bias},
        {HEAD_BIAS, config->head_dense_bias},
        {PROJECTION_BIAS, config->projection_bias},
        {FIRST_NORM, p->layer > 0 || !config->no_first_norm},
        {OF_GATE, config->gated},
        {UNGATED, !config->gated},
        {OWN_WORDS, !config->share_embedding},
        {EMBEDS, embeds(p, role)},
        {ENDS, vkf__part_ends(p->part, p->target)},
        {CHOOSES, vkf__part_chooses(p->part)},
    };
    for (size_t i = 0; i < sizeof conditions / sizeof conditions[0]; i++)
        if ((roles[role].traits & conditions[i].trait) && !conditions[i].there)
            return false;
    if (role == VKF_WEIGHT_FEED_FORWARD_1 && listed(p, VKF_WEIGHT_UNGATED_1) && !config->gated)
        return false;
    return listed(p, role) != NULL;
}

// Says which part of a fusion the slot is, and which part of a stored tensor where files of the family hold it fused.
static void fill_part(vkf__weight_slot *slot, const place *p, vkf__weight_role role)
{
    bool qkv = fusions[role].of == VKF_FUSION_QKV || fusions[role].of == VKF_FUSION_QKV_BIAS;
    slot->fusion = fusions[role].of;
    slot->fusion_part = fusions[role].part;
    if (slot->fusion == VKF_FUSION_NONE || !(qkv ? p->family->qkv != VKF_SEPARATE : p->family->gate_fused))
        return;
    slot->parts = vkf__fusion_parts(slot->fusion);
    slot->part = slot->fusion_part;
    slot->part_rows = qkv && p->family->qkv == VKF_FUSED_BY_HEAD ? p->stack.head_dim : slot->shape[0];
}

// In a decoder layer with cross attention the feed-forward's norm is the third one, otherwise the second.
static size_t offset_of(const place *p, vkf__weight_role role)
{
    bool feed_forward = role == VKF_WEIGHT_FEED_FORWARD_NORM_WEIGHT || role == VKF_WEIGHT_FEED_FORWARD_NORM_BIAS;
    bool third = feed_forward && p->target && vkf__facts_of(p->config)->crosses;
    return roles[role].offset + (third ? sizeof(vkf_norm_weights) : 0);
}

static void fill_slot(vkf__weight_slot *slot, const place *p, vkf__weight_role number)
{
    const struct role *role = &roles[number];
    bool apart = of_head(number) && !is_tied(p, number);
    *slot = (vkf__weight_slot){0};
    snprintf(slot->name, sizeof slot->name, "%s%s", apart ? "" : p->prefix, name_of(p, number));
    slot->rank = role->cols == NONE ? 1 : 2;
    slot->shape[0] = size_of(p->config, &p->stack, role->rows);
    slot->shape[1] = role->cols == NONE ? 0 : size_of(p->config, &p->stack, role->cols);
    slot->linear = role->traits & LINEAR;
    slot->f32 = role->traits & IN_F32;
    slot->tied = is_tied(p, number) && vkf__part_begins(p->part, true);
    slot->transposed = slot->linear && p->family->transposed && number >= VKF_WEIGHT_Q;
    slot->as_row = number == VKF_WEIGHT_PROJECTION_BIAS && p->family->bias_as_row;
    slot->layer = number >= VKF_WEIGHT_Q ? p->object : NULL;
    fill_part(slot, p, number);
    slot->target = (vkf_tensor *)((char *)p->object + offset_of(p, number));
}

static size_t add_roles(const place *p, vkf__weight_role begin, vkf__weight_role end, vkf__weight_slot *slots)
{
    size_t count = 0;
    for (vkf__weight_role role = begin; role < end; role++) {
        if (!has_role(p, role))
            continue;
        if (slots)
            fill_slot(&slots[count], p, role);
        count++;
    }
    return count;
}

// Adds the tensors of one side: those around its layers, then those of each layer.
static size_t add_side(place *p, vkf__weights *weights, vkf__weight_slot *slots)
{
    vkf__layer_weights *layers = p->target ? weights->decoder : weights->encoder;
    bool own = is_own_decoder(p);
    p->prefix = p->base;
    p->object = p->target ? &weights->target : &weights->source;
    size_t count = add_roles(p, VKF_WEIGHT_POSITIONS, VKF_WEIGHT_Q, slots);
    for (p->layer = 0; p->layer < p->stack.layers; p->layer++) {
        char prefix[64];
        snprintf(prefix, sizeof prefix, "%s%s%u.", p->base, own ? p->family->decoder_layer : p->family->layer,
                 vkf__part_layer(p->part, p->target) + p->layer);
        p->prefix = prefix;
        p->object = slots ? &layers[p->layer] : NULL;
        count += add_roles(p, VKF_WEIGHT_Q, VKF_WEIGHT_ROLE_COUNT, slots ? slots + count : NULL);
    }
    return count;
}

size_t vkf__family_slots(const vkf__family *family, const char *base, const vkf__checkpoint *checkpoint,
                         const vkf_model_config *config, const vkf__layer_part *part, vkf__weights *weights,
                         vkf__weight_slot *slots)
{
    place p = {
        .family = family,
        .config = config,
        .part = part,
        .checkpoint = checkpoint,
        .base = base,
        .prefix = base,
        .object = weights,
    };
    size_t count = add_roles(&p, VKF_WEIGHT_WORDS, VKF_WEIGHT_POSITIONS, slots);
    for (int target = 0; target < 2; target++) {
        p.target = target != 0;
        p.stack = vkf__stack_of(config, p.target);
        if (p.stack.layers > 0)
            count += add_side(&p, weights, slots ? slots + count : NULL);
    }
    return count;
}

static bool has_tensor(const vkf__family *family, const vkf__checkpoint *checkpoint, const char *name)
{
    char full[128];
    if (!name)
        return false;
    (void)snprintf(full, sizeof full, "%s%s", family->base, name);
    return vkf__checkpoint_find(checkpoint, name) || vkf__checkpoint_find(checkpoint, full);
}

void vkf__family_untie(const vkf__family *family, const vkf__checkpoint *checkpoint, vkf_model_config *config)
{
    const vkf__family_head *head = vkf__family_head_of(family, config);
    const char *projection = head ? head->weights[VKF_HEAD_PROJECTION] : family->weights[VKF_WEIGHT_PROJECTION];
    if (vkf__facts_of(config)->own_decoder && !config->tie_projection &&
        has_tensor(family, checkpoint, family->own_words) &&
        has_tensor(family, checkpoint, family->weights[VKF_WEIGHT_TARGET_WORDS]))
        config->share_embedding = false;
    if (projection && vkf__checkpoint_find(checkpoint, projection))
        config->tie_projection = false;
}

vkf_status vkf__family_check_class(const vkf__host *host, const vkf__family *family, const vkf__checkpoint *checkpoint,
                                   const vkf_model_config *config)
{
    const vkf__family_head *head = vkf__facts_of(config)->prompts ? family->heads : NULL;
    for (; head && head->architecture; head++)
        if (vkf__checkpoint_find(checkpoint, head->weights[VKF_HEAD_PROJECTION]))
            return vkf__fail(
                host, VKF_ERROR_UNSUPPORTED,
                "%s: %s is a classifier's, but config.json's architectures name no class that has one, like %s",
                vkf__checkpoint_path(checkpoint), head->weights[VKF_HEAD_PROJECTION], head->architecture);
    return VKF_OK;
}
