// What each dispatch of a model's run computes, by its label, in terms of the weights around it. The test module_labels
// compares the table with the labels that the library gives.
#ifndef VKF_MODEL_MODULE_RULES_H
#define VKF_MODEL_MODULE_RULES_H

#include <vkformer/directory.h>

typedef enum vkf__module_rule_kind {
    VKF_MODULE_UNNAMED = 0, // no module of PyTorch's has it
    VKF_MODULE_OUTPUT,      // the outputs of the modules of these weights, side by side
    VKF_MODULE_INPUT,       // the input of the module of the first weight
    VKF_MODULE_ATTENTION,   // the same, whose columns are heads
    VKF_MODULE_CONTEXT,     // the same, one head after the other
    VKF_MODULE_STREAM,      // the residual stream after a block; .block is its number in the layer
    VKF_MODULE_EXPANDED,    // the feed-forward's first product
    VKF_MODULE_WORDS,
    VKF_MODULE_DENSE, // a head's dense layer, with its activation
    VKF_MODULE_POOLED,
    VKF_MODULE_LOGITS,
    VKF_MODULE_ENTRY // the input of a layer
} vkf__module_rule_kind;

enum { VKF_MODULE_LAST_BLOCK = 2 };

// What the offsets of weights refer to.
typedef enum vkf__module_scope { VKF_MODULE_OF_MODEL = 0, VKF_MODULE_OF_STACK, VKF_MODULE_OF_LAYER } vkf__module_scope;

#define VKF_MODULE_LAYER(field) offsetof(vkf__layer_weights, field)
#define VKF_MODULE_STACK(field) offsetof(vkf__stack_weights, field)
#define VKF_MODULE_MODEL(field) offsetof(vkf__weights, field)

typedef struct vkf__module_rule {
    const char *label;
    vkf__module_rule_kind kind;
    vkf__module_scope scope;
    uint32_t weight_count, block;
    size_t weights[VKF_MODULE_MAX_PIECES];
    bool of_memory; // a row for each position of the encoder's output
    bool of_head;   // a row for each sequence where the model classifies sequences
} vkf__module_rule;

// NULL when the table does not have the label.
const vkf__module_rule *vkf__module_rule_of(const char *label, bool in_layer);

#endif
