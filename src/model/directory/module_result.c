// Derives the names of modules from the checkpoint's names of the weights around a dispatch.
#include "model/directory/module_result.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/directory/module_rules.h"
#include "model/family/family.h"

// The place of a dispatch in the model.
typedef struct site {
    const vkf__inspection *model;
    bool target; // the decoder's side
    uint32_t layer;
    bool in_layer;
} site;

// ---- weights and their modules

static const vkf__weight_slot *slot_of(const vkf__inspection *model, const vkf_tensor *target)
{
    for (size_t i = 0; i < model->found.count; i++)
        if (model->found.slots[i].target == target && !model->found.slots[i].tied)
            return &model->found.slots[i];
    return NULL;
}

// In a model that is only a decoder, the token embedding and the final norm are where either side has them.
static const vkf__weight_slot *slot_at(const site *s, vkf__module_scope scope, size_t offset)
{
    const vkf__weights *weights = &s->model->found.weights;
    const vkf__layer_weights *layers = s->target ? weights->decoder : weights->encoder;
    const void *objects[] = {[VKF_MODULE_OF_MODEL] = weights,
                             [VKF_MODULE_OF_STACK] = s->target ? &weights->target : &weights->source,
                             [VKF_MODULE_OF_LAYER] = layers ? &layers[s->layer] : NULL};
    return objects[scope] ? slot_of(s->model, (const vkf_tensor *)((const char *)objects[scope] + offset)) : NULL;
}

static vkf_module_piece *add_piece(vkf_module_result *result, uint32_t width)
{
    vkf_module_piece *piece = &result->pieces[result->piece_count++];
    piece->width = width;
    return piece;
}

// Makes "encoder.norm" of "encoder.norm.weight".
static void set_name(vkf_module_piece *piece, const char *weight, const char *suffix)
{
    size_t length = strlen(weight);
    const size_t ending = sizeof ".weight" - 1;
    if (length > ending && strcmp(weight + length - ending, ".weight") == 0)
        length -= ending;
    (void)snprintf(piece->name, sizeof piece->name, "%.*s%s", (int)length, weight, suffix);
}

static void add_input(vkf_module_result *result, const vkf__weight_slot *slot)
{
    set_name(add_piece(result, slot->shape[slot->rank - 1]), slot->name, ".input");
}

static void add_output(vkf_module_result *result, const vkf__weight_slot *slot)
{
    vkf_module_piece *piece = add_piece(result, slot->linear || slot->rank == 1 ? slot->shape[0] : slot->shape[1]);
    piece->parts = slot->parts;
    piece->part = slot->part;
    piece->part_rows = slot->part_rows;
    set_name(piece, slot->name, "");
}

// nn.MultiheadAttention has its three products in one weight, and no modules for them. They are named as if it had.
static bool add_in_proj(vkf_module_result *result, const site *s, size_t offset)
{
    static const struct {
        size_t offset, whole;
        const char *name;
    } parts[] = {
        {VKF_MODULE_LAYER(self.q_weight), VKF_MODULE_LAYER(self.q_weight), "q_proj"},
        {VKF_MODULE_LAYER(self.k_weight), VKF_MODULE_LAYER(self.q_weight), "k_proj"},
        {VKF_MODULE_LAYER(self.v_weight), VKF_MODULE_LAYER(self.q_weight), "v_proj"},
        {VKF_MODULE_LAYER(cross.q_weight), VKF_MODULE_LAYER(cross.q_weight), "q_proj"},
        {VKF_MODULE_LAYER(cross.k_weight), VKF_MODULE_LAYER(cross.q_weight), "k_proj"},
        {VKF_MODULE_LAYER(cross.v_weight), VKF_MODULE_LAYER(cross.q_weight), "v_proj"},
    };
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        const vkf__weight_slot *slot = slot_at(s, VKF_MODULE_OF_LAYER, parts[i].whole);
        if (parts[i].offset != offset || !slot || slot->cut == 0)
            continue;
        vkf_module_piece *piece = add_piece(result, slot->shape[0] / slot->cut);
        int module = (int)(strrchr(slot->name, '.') + 1 - slot->name);
        (void)snprintf(piece->name, sizeof piece->name, "%.*s%s", module, slot->name, parts[i].name);
        return true;
    }
    return false;
}

static void add_weight_input(vkf_module_result *result, const site *s, const vkf__module_rule *r)
{
    const vkf__weight_slot *slot = slot_at(s, r->scope, r->weights[0]);
    if (slot)
        add_input(result, slot);
}

static void add_outputs(vkf_module_result *result, const site *s, const vkf__module_rule *r)
{
    for (uint32_t i = 0; i < r->weight_count; i++) {
        if (r->scope == VKF_MODULE_OF_LAYER && add_in_proj(result, s, r->weights[i]))
            continue;
        const vkf__weight_slot *slot = slot_at(s, r->scope, r->weights[i]);
        if (slot)
            add_output(result, slot);
    }
}

// ---- what is not a module's output by itself

// The name of a layer, such as "encoder.layer.3": the part of a weight's name up to the first number that is the
// layer's.
static void add_layer(vkf_module_result *result, const site *s, const char *suffix)
{
    char number[16];
    const vkf__weight_slot *slot = slot_at(s, VKF_MODULE_OF_LAYER, VKF_MODULE_LAYER(self.out_weight));
    int length = snprintf(number, sizeof number, ".%u.", s->layer);
    const char *found = slot ? strstr(slot->name, number) : NULL;
    if (!found)
        return;
    vkf_module_piece *piece = add_piece(result, s->model->source.config.d_model);
    (void)snprintf(piece->name, sizeof piece->name, "%.*s%s", (int)(found - slot->name) + length - 1, slot->name,
                   suffix);
}

static void add_stream(vkf_module_result *result, const site *s, uint32_t block)
{
    const vkf_model_config *config = &s->model->source.config;
    bool crosses = s->target && !vkf__facts_of(config)->prompts;
    uint32_t last = crosses ? 2 : 1, index = block < last ? block : last;
    uint32_t norm = config->norm_first ? index + 1 : index;
    const vkf__weight_slot *slot =
        norm <= last ? slot_at(s, VKF_MODULE_OF_LAYER, VKF_MODULE_LAYER(norm) + norm * sizeof(vkf_norm_weights)) : NULL;
    if (config->parallel && index < last)
        return;
    if (slot)
        add_input(result, slot);
    else
        add_layer(result, s, "");
}

// The token embedding, with what is added to it, is the input of what follows. BERT adds token types in between, and no
// module sees the sum before that.
static void add_embedding(vkf_module_result *result, const site *s)
{
    const vkf__weight_slot *norm = slot_at(s, VKF_MODULE_OF_STACK, VKF_MODULE_STACK(embedding_norm.weight));
    if (!s->target && slot_at(s, VKF_MODULE_OF_MODEL, VKF_MODULE_MODEL(token_types)))
        return;
    if (norm)
        add_input(result, norm);
    else
        add_layer(result, s, ".input");
}

// The name of the projection itself, even where the table of words serves as its weight.
static const char *projection_of(const vkf__inspection *model)
{
    const vkf__family *family = model->source.family;
    const vkf_head head = model->source.config.head;
    if (!family)
        return "generator.weight";
    for (const vkf__family_head *h = family->heads; h && h->architecture; h++)
        if (h->head == head)
            return h->weights[VKF_HEAD_PROJECTION];
    return family->weights[VKF_WEIGHT_PROJECTION];
}

static void add_logits_input(vkf_module_result *result, const site *s)
{
    const char *name = projection_of(s->model);
    if (name)
        set_name(add_piece(result, s->model->source.config.d_model), name, ".input");
}

// BART adds its bias after the projection, so the sum is the model's output and no module's.
static void add_logits(vkf_module_result *result, const site *s)
{
    const vkf_model_config *config = &s->model->source.config;
    const vkf__family *family = s->model->source.family;
    const char *name = family && family->bias_as_row ? "logits" : projection_of(s->model);
    if (name)
        set_name(add_piece(result, vkf__facts_of(config)->pools ? config->head_outputs : config->target_vocab), name,
                 "");
}

static void add_dense(vkf_module_result *result, const site *s)
{
    const vkf__weight_slot *dense = slot_at(s, VKF_MODULE_OF_MODEL, VKF_MODULE_MODEL(head_dense.weight));
    const vkf__weight_slot *norm = slot_at(s, VKF_MODULE_OF_MODEL, VKF_MODULE_MODEL(head_norm.weight));
    if (s->model->source.config.head_activation == VKF_ACTIVATION_DEFAULT && dense)
        add_output(result, dense);
    else if (norm)
        add_input(result, norm);
    else
        add_logits_input(result, s);
}

static void add_pooled(vkf_module_result *result, const site *s)
{
    const vkf__weight_slot *dense = slot_at(s, VKF_MODULE_OF_MODEL, VKF_MODULE_MODEL(head_dense.weight));
    if (dense)
        add_input(result, dense);
    else
        add_logits_input(result, s);
}

// In a gated feed-forward it is the module's own output. Otherwise the activation has already been applied to it.
static void add_expanded(vkf_module_result *result, const site *s, const vkf__module_rule *r)
{
    const vkf__weight_slot *second = slot_at(s, VKF_MODULE_OF_LAYER, VKF_MODULE_LAYER(feed_forward.weight2));
    if (s->model->source.config.gated)
        add_outputs(result, s, r);
    else if (second)
        add_input(result, second);
}

static void set_heads(vkf_module_result *result, const site *s, const vkf__module_rule *r)
{
    const vkf__stack stack = vkf__stack_of(&s->model->source.config, s->target);
    bool self = r->weights[0] == VKF_MODULE_LAYER(self.out_weight);
    result->key_heads = self ? stack.kv_heads : stack.heads;
    result->group = stack.heads / result->key_heads;
    result->head_dim = stack.head_dim;
}

// ---- dispatches

static void apply(vkf_module_result *result, const site *s, const vkf__module_rule *r)
{
    switch (r->kind) {
    case VKF_MODULE_OUTPUT:
        add_outputs(result, s, r);
        break;
    case VKF_MODULE_CONTEXT:
        set_heads(result, s, r);
        add_weight_input(result, s, r);
        break;
    case VKF_MODULE_ATTENTION:
        result->in_heads = true;
        add_weight_input(result, s, r);
        break;
    case VKF_MODULE_INPUT:
        add_weight_input(result, s, r);
        break;
    case VKF_MODULE_STREAM:
        add_stream(result, s, r->block);
        break;
    case VKF_MODULE_EXPANDED:
        add_expanded(result, s, r);
        break;
    case VKF_MODULE_WORDS:
        add_embedding(result, s);
        break;
    case VKF_MODULE_DENSE:
        add_dense(result, s);
        break;
    case VKF_MODULE_POOLED:
        add_pooled(result, s);
        break;
    case VKF_MODULE_LOGITS:
        add_logits(result, s);
        break;
    case VKF_MODULE_ENTRY:
        add_layer(result, s, ".input");
        break;
    case VKF_MODULE_UNNAMED:
        break;
    }
}

// Parses parts such as "step.2" and "encoder.head".
static site site_of(const vkf__inspection *model, const char *part)
{
    const vkf_model_config *config = &model->source.config;
    const char *dot = strchr(part, '.'), *digits = dot ? dot + 1 : part;
    site s = {.model = model, .target = strncmp(part, "encoder", 7) != 0};
    s.in_layer = *digits >= '0' && *digits <= '9';
    s.layer = s.in_layer ? (uint32_t)strtoul(digits, NULL, 10) : 0;
    if (s.layer >= (s.target ? config->num_decoder_layers : config->num_encoder_layers))
        s.layer = 0;
    return s;
}

bool vkf__module_result_of(const vkf__inspection *model, const char *part, const char *label,
                           vkf_module_result *out_result)
{
    const site s = site_of(model, part);
    vkf_module_result result = {0};
    const vkf__module_rule *rule = vkf__module_rule_of(label, s.in_layer);
    if (!rule)
        return false;
    apply(&result, &s, rule);
    result.of_memory = rule->of_memory;
    result.of_sequences = rule->of_head && model->source.config.head == VKF_HEAD_SEQUENCE_CLASSIFICATION;
    *out_result = result;
    return true;
}
