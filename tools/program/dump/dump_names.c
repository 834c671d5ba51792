// Derives the names of modules from the checkpoint's names of the weights around a dispatch.
#include "dump/dump_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dump/dump_rules.h"
#include "io/checkpoint.h"
#include "model/load/model_directory.h"
#include "model/load/weight_resolution.h"

struct vkf_dump_names {
    vkf__model_source source;
    vkf__weight_resolution found; // only slots; nothing is loaded
};

// The place of a dispatch in the model.
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

// In a model that is only a decoder, the words and the final norm are where either side has them.
static const vkf__weight_slot *slot_at(const site *s, vkf_dump_scope scope, size_t offset)
{
    const vkf__weights *weights = &s->names->found.weights;
    const vkf__layer_weights *layers = s->target ? weights->decoder : weights->encoder;
    const void *objects[] = {[VKF_DUMP_OF_MODEL] = weights,
                             [VKF_DUMP_OF_STACK] = s->target ? &weights->target : &weights->source,
                             [VKF_DUMP_OF_LAYER] = layers ? &layers[s->layer] : NULL};
    return objects[scope] ? slot_of(s->names, (const vkf_tensor *)((const char *)objects[scope] + offset)) : NULL;
}

static vkf_dump_piece *add_piece(vkf_dump_place *place, uint32_t width)
{
    vkf_dump_piece *piece = &place->pieces[place->piece_count++];
    piece->width = width;
    return piece;
}

// Makes "encoder.norm" of "encoder.norm.weight".
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

// nn.MultiheadAttention has its three products in one weight, and no modules for them. They are named as if it had.
static bool add_in_proj(vkf_dump_place *place, const site *s, size_t offset)
{
    static const struct {
        size_t offset, whole;
        const char *name;
    } parts[] = {
        {VKF_DUMP_LAYER(self.q_weight), VKF_DUMP_LAYER(self.q_weight), "q_proj"},
        {VKF_DUMP_LAYER(self.k_weight), VKF_DUMP_LAYER(self.q_weight), "k_proj"},
        {VKF_DUMP_LAYER(self.v_weight), VKF_DUMP_LAYER(self.q_weight), "v_proj"},
        {VKF_DUMP_LAYER(cross.q_weight), VKF_DUMP_LAYER(cross.q_weight), "q_proj"},
        {VKF_DUMP_LAYER(cross.k_weight), VKF_DUMP_LAYER(cross.q_weight), "k_proj"},
        {VKF_DUMP_LAYER(cross.v_weight), VKF_DUMP_LAYER(cross.q_weight), "v_proj"},
    };
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        const vkf__weight_slot *slot = slot_at(s, VKF_DUMP_OF_LAYER, parts[i].whole);
        if (parts[i].offset != offset || !slot || slot->cut == 0)
            continue;
        vkf_dump_piece *piece = add_piece(place, slot->shape[0] / slot->cut);
        int module = (int)(strrchr(slot->name, '.') + 1 - slot->name);
        (void)snprintf(piece->name, sizeof piece->name, "%.*s%s", module, slot->name, parts[i].name);
        return true;
    }
    return false;
}

static void add_weight_input(vkf_dump_place *place, const site *s, const vkf_dump_rule *r)
{
    const vkf__weight_slot *slot = slot_at(s, r->scope, r->weights[0]);
    if (slot)
        add_input(place, slot);
}

static void add_outputs(vkf_dump_place *place, const site *s, const vkf_dump_rule *r)
{
    for (uint32_t i = 0; i < r->weight_count; i++) {
        if (r->scope == VKF_DUMP_OF_LAYER && add_in_proj(place, s, r->weights[i]))
            continue;
        const vkf__weight_slot *slot = slot_at(s, r->scope, r->weights[i]);
        if (slot)
            add_output(place, slot);
    }
}

// ---- what is not a module's output by itself

// The name of a layer, such as "encoder.layer.3": the part of a weight's name up to the first number that is the
// layer's.
static void add_layer(vkf_dump_place *place, const site *s, const char *suffix)
{
    char number[16];
    const vkf__weight_slot *slot = slot_at(s, VKF_DUMP_OF_LAYER, VKF_DUMP_LAYER(self.out_weight));
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
        norm <= last ? slot_at(s, VKF_DUMP_OF_LAYER, VKF_DUMP_LAYER(norm) + norm * sizeof(vkf_norm_weights)) : NULL;
    if (config->parallel && index < last)
        return;
    if (slot)
        add_input(place, slot);
    else
        add_layer(place, s, "");
}

// The words, with what is added to them, are the input of what follows. BERT adds token types in between, and no module
// sees the sum before that.
static void add_words(vkf_dump_place *place, const site *s)
{
    const vkf__weight_slot *norm = slot_at(s, VKF_DUMP_OF_STACK, VKF_DUMP_STACK(embedding_norm.weight));
    if (!s->target && slot_at(s, VKF_DUMP_OF_MODEL, VKF_DUMP_MODEL(token_types)))
        return;
    if (norm)
        add_input(place, norm);
    else
        add_layer(place, s, ".input");
}

// The name of the projection itself, even where the table of words serves as its weight.
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

// BART adds its bias after the projection, so the sum is the model's output and no module's.
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
    const vkf__weight_slot *dense = slot_at(s, VKF_DUMP_OF_MODEL, VKF_DUMP_MODEL(head_dense.weight));
    const vkf__weight_slot *norm = slot_at(s, VKF_DUMP_OF_MODEL, VKF_DUMP_MODEL(head_norm.weight));
    if (s->names->source.config.head_activation == VKF_ACTIVATION_DEFAULT && dense)
        add_output(place, dense);
    else if (norm)
        add_input(place, norm);
    else
        add_logits_input(place, s);
}

static void add_pooled(vkf_dump_place *place, const site *s)
{
    const vkf__weight_slot *dense = slot_at(s, VKF_DUMP_OF_MODEL, VKF_DUMP_MODEL(head_dense.weight));
    if (dense)
        add_input(place, dense);
    else
        add_logits_input(place, s);
}

// In a gated feed-forward it is the module's own output. Otherwise the activation has already been applied to it.
static void add_expanded(vkf_dump_place *place, const site *s, const vkf_dump_rule *r)
{
    const vkf__weight_slot *second = slot_at(s, VKF_DUMP_OF_LAYER, VKF_DUMP_LAYER(feed_forward.weight2));
    if (s->names->source.config.gated)
        add_outputs(place, s, r);
    else if (second)
        add_input(place, second);
}

static void set_heads(vkf_dump_place *place, const site *s, const vkf_dump_rule *r)
{
    const vkf__stack stack = vkf__stack_of(&s->names->source.config, s->target);
    bool self = r->weights[0] == VKF_DUMP_LAYER(self.out_weight);
    place->key_heads = self ? stack.kv_heads : stack.heads;
    place->group = stack.heads / place->key_heads;
    place->head_dim = stack.head_dim;
}

// ---- dispatches

static void apply(vkf_dump_place *place, const site *s, const vkf_dump_rule *r)
{
    switch (r->kind) {
    case VKF_DUMP_OUTPUT:
        add_outputs(place, s, r);
        break;
    case VKF_DUMP_CONTEXT:
        set_heads(place, s, r);
        add_weight_input(place, s, r);
        break;
    case VKF_DUMP_ATTENTION:
        place->in_heads = true;
        add_weight_input(place, s, r);
        break;
    case VKF_DUMP_INPUT:
        add_weight_input(place, s, r);
        break;
    case VKF_DUMP_STREAM:
        add_stream(place, s, r->block);
        break;
    case VKF_DUMP_EXPANDED:
        add_expanded(place, s, r);
        break;
    case VKF_DUMP_WORDS:
        add_words(place, s);
        break;
    case VKF_DUMP_DENSE:
        add_dense(place, s);
        break;
    case VKF_DUMP_POOLED:
        add_pooled(place, s);
        break;
    case VKF_DUMP_LOGITS:
        add_logits(place, s);
        break;
    case VKF_DUMP_ENTRY:
        add_layer(place, s, ".input");
        break;
    case VKF_DUMP_UNNAMED:
        break;
    }
}

// Parses parts such as "step.2" and "encoder.head".
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
    const vkf_dump_rule *rule = vkf_dump_rule_of(label, s.in_layer);
    if (!rule)
        return place;
    apply(&place, &s, rule);
    place.of_memory = rule->of_memory;
    place.of_sequences = rule->of_head && names->source.config.head == VKF_HEAD_SEQUENCE_CLASSIFICATION;
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
    vkf__model_place place = {0};
    VKF_ALLOC(host, names, 1);
    vkf__model_source *source = &names->source;
    VKF_TRY(vkf__model_place_find(host, directory, NULL, &place));
    VKF_TRY(vkf__model_place_load(host, &place, source));
    VKF_TRY(vkf__model_place_open(host, &place, source));
    VKF_TRY(vkf__weights_list(host, source, &names->found));
    *out_names = names;
    names = NULL;
fail:
    vkf__model_place_free(host, &place);
    vkf_dump_names_free(host, &names);
    return status;
}
