// The table from labels of dispatches to what they compute.
#include "model/directory/module_rules.h"

#include <string.h>

#include "model/family/family.h"

#define OF_LAYER(kind_, field) \
    .kind = VKF_MODULE_##kind_, .scope = VKF_MODULE_OF_LAYER, .weight_count = 1, .weights = {VKF_MODULE_LAYER(field)}
#define OF_STACK(kind_, field) \
    .kind = VKF_MODULE_##kind_, .scope = VKF_MODULE_OF_STACK, .weight_count = 1, .weights = {VKF_MODULE_STACK(field)}
#define OF_MODEL(kind_, field) \
    .kind = VKF_MODULE_##kind_, .scope = VKF_MODULE_OF_MODEL, .weight_count = 1, .weights = {VKF_MODULE_MODEL(field)}
#define LAYER_ITSELF(kind_) .kind = VKF_MODULE_##kind_, .scope = VKF_MODULE_OF_LAYER
#define MODEL_ITSELF(kind_) .kind = VKF_MODULE_##kind_, .scope = VKF_MODULE_OF_MODEL

static const vkf__module_rule rules[] = {
    {.label = "self_attn.q_proj", OF_LAYER(OUTPUT, self.q_weight)},
    {.label = "self_attn.k_proj", OF_LAYER(OUTPUT, self.k_weight)},
    {.label = "self_attn.v_proj", OF_LAYER(OUTPUT, self.v_weight)},
    {.label = "self_attn.qkv_proj",
     LAYER_ITSELF(OUTPUT),
     .weight_count = 3,
     .weights = {VKF_MODULE_LAYER(self.q_weight), VKF_MODULE_LAYER(self.k_weight), VKF_MODULE_LAYER(self.v_weight)}},
    {.label = "self_attn.attention", OF_LAYER(ATTENTION, self.out_weight)},
    {.label = "self_attn.context", OF_LAYER(CONTEXT, self.out_weight)},
    {.label = "self_attn.out_proj", LAYER_ITSELF(STREAM)},
    {.label = "multihead_attn.q_proj", OF_LAYER(OUTPUT, cross.q_weight)},
    {.label = "multihead_attn.k_proj", OF_LAYER(OUTPUT, cross.k_weight), .of_memory = true},
    {.label = "multihead_attn.v_proj", OF_LAYER(OUTPUT, cross.v_weight), .of_memory = true},
    {.label = "multihead_attn.attention", OF_LAYER(ATTENTION, cross.out_weight)},
    {.label = "multihead_attn.context", OF_LAYER(CONTEXT, cross.out_weight)},
    {.label = "multihead_attn.out_proj", LAYER_ITSELF(STREAM), .block = 1},
    {.label = "norm1", OF_LAYER(OUTPUT, norm[0].weight)},
    {.label = "norm2", OF_LAYER(OUTPUT, norm[1].weight)},
    {.label = "norm3", OF_LAYER(OUTPUT, norm[2].weight)},
    {.label = "gate_linear1",
     LAYER_ITSELF(OUTPUT),
     .weight_count = 2,
     .weights = {VKF_MODULE_LAYER(gate.weight), VKF_MODULE_LAYER(feed_forward.weight1)}},
    {.label = "gate_linear", OF_LAYER(OUTPUT, gate.weight)},
    {.label = "linear1", OF_LAYER(EXPANDED, feed_forward.weight1)},
    {.label = "gate", OF_LAYER(INPUT, feed_forward.weight2)},
    {.label = "linear2", LAYER_ITSELF(STREAM), .block = VKF_MODULE_LAST_BLOCK},
    {.label = "logit_hidden", LAYER_ITSELF(ENTRY)},
    {.label = "embed", MODEL_ITSELF(WORDS)},
    {.label = "embed_types", OF_MODEL(OUTPUT, token_types)},
    {.label = "embed_norm", OF_STACK(OUTPUT, embedding_norm.weight)},
    {.label = "norm", OF_STACK(OUTPUT, final_norm.weight)},
    {.label = "head_pool", MODEL_ITSELF(POOLED), .of_head = true},
    {.label = "head_dense", MODEL_ITSELF(DENSE), .of_head = true},
    {.label = "head_norm", OF_MODEL(OUTPUT, head_norm.weight), .of_head = true},
    {.label = "head", MODEL_ITSELF(LOGITS), .of_head = true},
    {.label = "generator", MODEL_ITSELF(LOGITS)},
    // Heads turned by their positions, keys and values where they are kept, and separate steps of attention.
    {.label = "self_attn.qkv_rotary", LAYER_ITSELF(UNNAMED)},
    {.label = "self_attn.q_rotary", LAYER_ITSELF(UNNAMED)},
    {.label = "self_attn.k_rotary", LAYER_ITSELF(UNNAMED)},
    {.label = "self_attn.k_cache", LAYER_ITSELF(UNNAMED)},
    {.label = "self_attn.v_cache", LAYER_ITSELF(UNNAMED)},
    {.label = "self_attn.scores", LAYER_ITSELF(UNNAMED)},
    {.label = "self_attn.softmax", LAYER_ITSELF(UNNAMED)},
    {.label = "self_attn.weights", LAYER_ITSELF(UNNAMED)},
    {.label = "multihead_attn.scores", LAYER_ITSELF(UNNAMED)},
    {.label = "multihead_attn.softmax", LAYER_ITSELF(UNNAMED)},
    {.label = "multihead_attn.weights", LAYER_ITSELF(UNNAMED)},
    // The embedding of a text, which no module of transformers has.
    {.label = "pool", MODEL_ITSELF(UNNAMED)},
    {.label = "embedding_norm", MODEL_ITSELF(UNNAMED)},
    {.label = "embedding_dense", MODEL_ITSELF(UNNAMED)},
    {.label = "embedding_normalise", MODEL_ITSELF(UNNAMED)},
    // Keys and values move when beams change places.
    {.label = "k_moves", LAYER_ITSELF(UNNAMED)},
    {.label = "v_moves", LAYER_ITSELF(UNNAMED)},
    // What decoding does to logits.
    {.label = "step_bias", MODEL_ITSELF(UNNAMED)},
    {.label = "ban", MODEL_ITSELF(UNNAMED)},
    {.label = "sample", MODEL_ITSELF(UNNAMED)},
    {.label = "top", MODEL_ITSELF(UNNAMED)},
};

const vkf__module_rule *vkf__module_rule_of(const char *label, bool in_layer)
{
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        if (strcmp(rules[i].label, label) == 0 && (rules[i].scope == VKF_MODULE_OF_LAYER) == in_layer)
            return &rules[i];
    return NULL;
}
