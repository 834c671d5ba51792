#include "dump/dump_names.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/checkpoint.h"
#include "model/model_directory.h"
#include "model/weight_resolution.h"

struct vkf_dump_names {
    vkf__model_source source;
    vkf__weight_resolution found; // slots alone; nothing is loaded
};

// ---- rules

typedef enum rule_kind {
    OUTPUT = 0, // of the modules of these weights, side by side
    INPUT,      // of the module of the first
    ATTENTION,  // the same, whose columns are heads
    CONTEXT,    // the same, one head after the other
    STREAM,     // what a block has added to; .block is which one of the layer
    EXPANDED,   // the feed-forward's first product
    WORDS,
    DENSE, // of a head, with its activation
    POOLED,
    LOGITS,
    ENTRY // of a layer
} rule_kind;

enum { LAST_BLOCK = 2 };

typedef enum rule_scope { OF_MODEL = 0, OF_STACK, OF_LAYER } rule_scope;

typedef struct rule {
    const char *label;
    rule_kind kind;
    rule_scope scope; // what the offsets are of
    uint32_t weight_count, block;
    size_t weights[VKF_DUMP_MAX_PIECES];
    bool of_memory;
} rule;

#define LAYER(field) offsetof(vkf__layer_weights, field)
#define STACK(field) offsetof(vkf__stack_weights, field)
#define MODEL(field) offsetof(vkf__weights, field)

static const rule rules[] = {
    {"self_attn.q_proj", OUTPUT, OF_LAYER, 1, 0, {LAYER(self.q_weight)}, false},
    {"self_attn.k_proj", OUTPUT, OF_LAYER, 1, 0, {LAYER(self.k_weight)}, false},
    {"self_attn.v_proj", OUTPUT, OF_LAYER, 1, 0, {LAYER(self.v_weight)}, false},
    {"self_attn.qkv_proj",
     OUTPUT,
     OF_LAYER,
     3,
     0,
     {LAYER(self.q_weight), LAYER(self.k_weight), LAYER(self.v_weight)},
     false},
    {"self_attn.attention", ATTENTION, OF_LAYER, 1, 0, {LAYER(self.out_weight)}, false},
    {"self_attn.context", CONTEXT, OF_LAYER, 1, 0, {LAYER(self.out_weight)}, false},
    {"self_attn.out_proj", STREAM, OF_LAYER, 0, 0, {0}, false},
    {"multihead_attn.q_proj", OUTPUT, OF_LAYER, 1, 0, {LAYER(cross.q_weight)}, false},
    {"multihead_attn.k_proj", OUTPUT, OF_LAYER, 1, 0, {LAYER(cross.k_weight)}, true},
    {"multihead_attn.v_proj", OUTPUT, OF_LAYER, 1, 0, {LAYER(cross.v_weight)}, true},
    {"multihead_attn.attention", ATTENTION, OF_LAYER, 1, 0, {LAYER(cross.out_weight)}, false},
    {"multihead_attn.context", CONTEXT, OF_LAYER, 1, 0, {LAYER(cross.out_weight)}, false},
    {"multihead_attn.out_proj", STREAM, OF_LAYER, 0, 1, {0}, false},
    {"norm1", OUTPUT, OF_LAYER, 1, 0, {LAYER(norm[0].weight)}, false},
    {"norm2", OUTPUT, OF_LAYER, 1, 0, {LAYER(norm[1].weight)}, false},
    {"norm3", OUTPUT, OF_LAYER, 1, 0, {LAYER(norm[2].weight)}, false},
    {"gate_linear1", OUTPUT, OF_LAYER, 2, 0, {LAYER(gate.weight), LAYER(feed_forward.weight1)}, false},
    {"gate_linear", OUTPUT, OF_LAYER, 1, 0, {LAYER(gate.weight)}, false},
    {"linear1", EXPANDED, OF_LAYER, 1, 0, {LAYER(feed_forward.weight1)}, false},
    {"gate", INPUT, OF_LAYER, 1, 0, {LAYER(feed_forward.weight2)}, false},
    {"linear2", STREAM, OF_LAYER, 0, LAST_BLOCK, {0}, false},
    {"logit_hidden", ENTRY, OF_LAYER, 0, 0, {0}, false},
    {"embed", WORDS, OF_MODEL, 0, 0, {0}, false},
    {"embed_types", OUTPUT, OF_MODEL, 1, 0, {MODEL(token_types)}, false},
    {"embed_norm", OUTPUT, OF_STACK, 1, 0, {STACK(embedding_norm.weight)}, false},
    {"norm", OUTPUT, OF_STACK, 1, 0, {STACK(final_norm.weight)}, false},
    {"head_pool", POOLED, OF_MODEL, 0, 0, {0}, false},
    {"head_dense", DENSE, OF_MODEL, 0, 0, {0}, false},
    {"head_norm", OUTPUT, OF_MODEL, 1, 0, {MODEL(head_norm.weight)}, false},
    {"head", LOGITS, OF_MODEL, 0, 0, {0}, false},
    {"generator", LOGITS, OF_MODEL, 0, 0, {0}, false},
};

// What a dispatch belongs to.
typedef struct site {
    const vkf_dump_names *names;
    bool target; // the decoder's side
    uint32_t layer;
    bool in_layer;
} site;

// ---- weights and their modules

static const vkf__weight_slot *slot_of(const vkf_dump_names *names, const vkf_tensor *target)
{
    for (size_t i = 0; i < names->found.count; i++)
        if (names->found.slots[i].target == target && !names->found.slots[i].tied)
            return &names->found.slots[i];
    return NULL;
}

// A decoder alone has its words and final norm where either side's are.
static const vkf__weight_slot *slot_at(const site *s, rule_scope scope, size_t offset)
{
    const vkf__weights *weights = &s->names->found.weights;
    const vkf__layer_weights *layers = s->target ? weights->decoder : weights->encoder;
    const void *objects[] = {[OF_MODEL] = weights,
                             [OF_STACK] = s->target ? &weights->target : &weights->source,
                             [OF_LAYER] = layers ? &layers[s->layer] : NULL};
    return objects[scope] ? slot_of(s->names, (const vkf_tensor *)((const char *)objects[scope] + offset)) : NULL;
}

static vkf_dump_piece *add_piece(vkf_dump_place *place, uint32_t width)
{
    vkf_dump_piece *piece = &place->pieces[place->piece_count++];
    piece->width = width;
    return piece;
}

// Of "encoder.norm.weight", encoder.norm.
static void set_name(vkf_dump_piece *piece, const char *weight, const char *suffix)
{
    size_t length = strlen(weight);
    const size_t ending = sizeof ".weight" - 1;
    if (length > ending && strcmp(weight + length - ending, ".weight") == 0)
        length -= ending;
    (void)snprintf(piece->name, sizeof piece->name, "%.*s%s", (int)length, weight, suffix);
}

static void add_input(vkf_dump_place *place, const vkf__weight_slot *slot)
{
    set_name(add_piece(place, slot->shape[slot->rank - 1]), slot->name, ".input");
}

static void add_output(vkf_dump_place *place, const vkf__weight_slot *slot)
{
    vkf_dump_piece *piece = add_piece(place, slot->linear || slot->rank == 1 ? slot->shape[0] : slot->shape[1]);
    piece->parts = slot->parts;
    piece->part = slot->part;
    piece->part_rows = slot->part_rows;
    set_name(piece, slot->name, "");
}

// nn.MultiheadAttention has its three products in one weight, and no modules for them: they are named as if there were.
static bool add_in_proj(vkf_dump_place *place, const site *s, size_t offset)
{
    static const struct {
        size_t offset, whole;
        const char *name;
    } parts[] = {
        {LAYER(self.q_weight), LAYER(self.q_weight), "q_proj"},
        {LAYER(self.k_weight), LAYER(self.q_weight), "k_proj"},
        {LAYER(self.v_weight), LAYER(self.q_weight), "v_proj"},
        {LAYER(cross.q_weight), LAYER(cross.q_weight), "q_proj"},
        {LAYER(cross.k_weight), LAYER(cross.q_weight), "k_proj"},
        {LAYER(cross.v_weight), LAYER(cross.q_weight), "v_proj"},
    };
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        const vkf__weight_slot *slot = slot_at(s, OF_LAYER, parts[i].whole);
        if (parts[i].offset != offset || !slot || slot->cut == 0)
            continue;
        vkf_dump_piece *piece = add_piece(place, slot->shape[0] / slot->cut);
        int module = (int)(strrchr(slot->name, '.') + 1 - slot->name);
        (void)snprintf(piece->name, sizeof piece->name, "%.*s%s", module, slot->name, parts[i].name);
        return true;
    }
    return false;
}

static void add_weight_input(vkf_dump_place *place, const site *s, const rule *r)
{
    const vkf__weight_slot *slot = slot_at(s, r->scope, r->weights[0]);
    if (slot)
        add_input(place, slot);
}

static void add_outputs(vkf_dump_place *place, const site *s, const rule *r)
{
    for (uint32_t i = 0; i < r->weight_count; i++) {
        if (r->scope == OF_LAYER && add_in_proj(place, s, r->weights[i]))
            continue;
        const vkf__weight_slot *slot = slot_at(s, r->scope, r->weights[i]);
        if (slot)
            add_output(place, slot);
    }
}

// ---- what is no module's output by itself

// "encoder.layer.3": what stands before the first number of that size in a name.
static void add_layer(vkf_dump_place *place, const site *s, const char *suffix)
{
    char number[16];
    const vkf__weight_slot *slot = slot_at(s, OF_LAYER, LAYER(self.out_weight));
    int length = snprintf(number, sizeof number, ".%u.", s->layer);
    const char *found = slot ? strstr(slot->name, number) : NULL;
    if (!found)
        return;
    vkf_dump_piece *piece = add_piece(place, s->names->source.config.d_model);
    (void)snprintf(piece->name, sizeof piece->name, "%.*s%s", (int)(found - slot->name) + length - 1, slot->name,
                   suffix);
}

static void add_stream(vkf_dump_place *place, const site *s, uint32_t block)
{
    const vkf_model_config *config = &s->names->source.config;
    bool crosses = s->target && config->kind != VKF_MODEL_DECODER;
    uint32_t last = crosses ? 2 : 1, index = block < last ? block : last;
    uint32_t norm = config->norm_first ? index + 1 : index;
    const vkf__weight_slot *slot =
        norm <= last ? slot_at(s, OF_LAYER, LAYER(norm) + norm * sizeof(vkf_norm_weights)) : NULL;
    if (config->parallel && index < last)
        return;
    if (slot)
        add_input(place, slot);
    else
        add_layer(place, s, "");
}

// Words, with what is added to them, are what comes next. In between BERT adds token types, which no module is told.
static void add_words(vkf_dump_place *place, const site *s)
{
    const vkf__weight_slot *norm = slot_at(s, OF_STACK, STACK(embedding_norm.weight));
    if (!s->target && slot_at(s, OF_MODEL, MODEL(token_types)))
        return;
    if (norm)
        add_input(place, norm);
    else
        add_layer(place, s, ".input");
}

// The projection's own name, also where the words' table serves for it.
static const char *projection_of(const vkf_dump_names *names)
{
    const vkf__family *family = names->source.family;
    const vkf_head head = names->source.config.head;
    if (!family)
        return "generator.weight";
    for (const vkf__family_head *h = family->heads; h && h->architecture; h++)
        if (h->head == head)
            return h->weights[VKF_HEAD_PROJECTION];
    return family->weights[VKF_WEIGHT_PROJECTION];
}

static void add_logits_input(vkf_dump_place *place, const site *s)
{
    const char *name = projection_of(s->names);
    if (name)
        set_name(add_piece(place, s->names->source.config.d_model), name, ".input");
}

// BART adds its bias behind the projection: what comes of that is the model's output, and no module's.
static void add_logits(vkf_dump_place *place, const site *s)
{
    const vkf_model_config *config = &s->names->source.config;
    const vkf__family *family = s->names->source.family;
    const char *name = family && family->bias_as_row ? "logits" : projection_of(s->names);
    if (name)
        set_name(add_piece(place, config->kind == VKF_MODEL_ENCODER ? config->head_outputs : config->target_vocab),
                 name, "");
}

static void add_dense(vkf_dump_place *place, const site *s)
{
    const vkf__weight_slot *dense = slot_at(s, OF_MODEL, MODEL(head_dense.weight));
    const vkf__weight_slot *norm = slot_at(s, OF_MODEL, MODEL(head_norm.weight));
    if (s->names->source.config.head_activation == VKF_ACTIVATION_NONE && dense)
        add_output(place, dense);
    else if (norm)
        add_input(place, norm);
    else
        add_logits_input(place, s);
}

static void add_pooled(vkf_dump_place *place, const site *s)
{
    const vkf__weight_slot *dense = slot_at(s, OF_MODEL, MODEL(head_dense.weight));
    if (dense)
        add_input(place, dense);
    else
        add_logits_input(place, s);
}

// Of gated ones it is the module's own output; otherwise the activation was applied to it already.
static void add_expanded(vkf_dump_place *place, const site *s, const rule *r)
{
    const vkf__weight_slot *second = slot_at(s, OF_LAYER, LAYER(feed_forward.weight2));
    if (s->names->source.config.gated)
        add_outputs(place, s, r);
    else if (second)
        add_input(place, second);
}

static void set_heads(vkf_dump_place *place, const site *s, const rule *r)
{
    const vkf__stack stack = vkf__stack_of(&s->names->source.config, s->target);
    bool self = r->weights[0] == LAYER(self.out_weight);
    place->key_heads = self ? stack.kv_heads : stack.heads;
    place->group = stack.heads / place->key_heads;
    place->head_dim = stack.head_dim;
}

// ---- dispatches

static void apply(vkf_dump_place *place, const site *s, const rule *r)
{
    switch (r->kind) {
    case OUTPUT:
        add_outputs(place, s, r);
        break;
    case CONTEXT:
        set_heads(place, s, r);
        add_weight_input(place, s, r);
        break;
    case ATTENTION:
        place->in_heads = true;
        add_weight_input(place, s, r);
        break;
    case INPUT:
        add_weight_input(place, s, r);
        break;
    case STREAM:
        add_stream(place, s, r->block);
        break;
    case EXPANDED:
        add_expanded(place, s, r);
        break;
    case WORDS:
        add_words(place, s);
        break;
    case DENSE:
        add_dense(place, s);
        break;
    case POOLED:
        add_pooled(place, s);
        break;
    case LOGITS:
        add_logits(place, s);
        break;
    case ENTRY:
        add_layer(place, s, ".input");
        break;
    }
}

// "step.2", "encoder.head"
static site site_of(const vkf_dump_names *names, const char *part)
{
    const vkf_model_config *config = &names->source.config;
    const char *dot = strchr(part, '.'), *digits = dot ? dot + 1 : part;
    site s = {.names = names, .target = strncmp(part, "encoder", 7) != 0};
    s.in_layer = *digits >= '0' && *digits <= '9';
    s.layer = s.in_layer ? (uint32_t)strtoul(digits, NULL, 10) : 0;
    if (s.layer >= (s.target ? config->num_decoder_layers : config->num_encoder_layers))
        s.layer = 0;
    return s;
}

vkf_dump_place vkf_dump_place_of(const vkf_dump_names *names, const char *part, const char *label)
{
    const site s = site_of(names, part);
    vkf_dump_place place = {0};
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        if (strcmp(rules[i].label, label) != 0 || (rules[i].scope == OF_LAYER) != s.in_layer)
            continue;
        apply(&place, &s, &rules[i]);
        place.of_memory = rules[i].of_memory;
        place.of_sequences =
            strncmp(label, "head", 4) == 0 && names->source.config.head == VKF_HEAD_SEQUENCE_CLASSIFICATION;
    }
    return place;
}

// ---- the model

void vkf_dump_names_free(const vkf__host *host, vkf_dump_names **names)
{
    if (!*names)
        return;
    vkf__model_source_close(&(*names)->source);
    vkf__weight_resolution_free(host, &(*names)->found);
    vkf__free(host, *names);
    *names = NULL;
}

vkf_status vkf_dump_names_load(const vkf__host *host, const char *directory, vkf_dump_names **out_names)
{
    vkf_status status = VKF_OK;
    vkf_dump_names *names = NULL;
    VKF_ALLOC(host, names, 1);
    vkf__model_source *source = &names->source;
    VKF_TRY(vkf__model_directory_load(host, directory, source));
    VKF_TRY(vkf__model_source_open(host, directory, source));
    VKF_TRY(vkf__weights_list(host, source, &names->found));
    *out_names = names;
    names = NULL;
fail:
    vkf_dump_names_free(host, &names);
    return status;
}
