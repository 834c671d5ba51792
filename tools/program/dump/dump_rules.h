// What each dispatch of a model's run computes, by its label, in terms of the weights around it: the table behind the
// names in a dump. The test dump_labels compares it with the labels that the library gives.
#ifndef VKF_PROGRAM_DUMP_RULES_H
#define VKF_PROGRAM_DUMP_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VKF_DUMP_MAX_PIECES 3

typedef enum vkf_dump_rule_kind {
    VKF_DUMP_UNNAMED = 0, // no module of PyTorch's has it
    VKF_DUMP_OUTPUT,      // the outputs of the modules of these weights, side by side
    VKF_DUMP_INPUT,       // the input of the module of the first weight
    VKF_DUMP_ATTENTION,   // the same, whose columns are heads
    VKF_DUMP_CONTEXT,     // the same, one head after the other
    VKF_DUMP_STREAM,      // the residual stream after a block; .block is its number in the layer
    VKF_DUMP_EXPANDED,    // the feed-forward's first product
    VKF_DUMP_WORDS,
    VKF_DUMP_DENSE, // a head's dense layer, with its activation
    VKF_DUMP_POOLED,
    VKF_DUMP_LOGITS,
    VKF_DUMP_ENTRY // the input of a layer
} vkf_dump_rule_kind;

enum { VKF_DUMP_LAST_BLOCK = 2 };

// What the offsets of weights refer to.
typedef enum vkf_dump_scope { VKF_DUMP_OF_MODEL = 0, VKF_DUMP_OF_STACK, VKF_DUMP_OF_LAYER } vkf_dump_scope;

#define VKF_DUMP_LAYER(field) offsetof(vkf__layer_weights, field)
#define VKF_DUMP_STACK(field) offsetof(vkf__stack_weights, field)
#define VKF_DUMP_MODEL(field) offsetof(vkf__weights, field)

typedef struct vkf_dump_rule {
    const char *label;
    vkf_dump_rule_kind kind;
    vkf_dump_scope scope;
    uint32_t weight_count, block;
    size_t weights[VKF_DUMP_MAX_PIECES];
    bool of_memory; // a row for each position of the encoder's output
    bool of_head;   // a row for each sequence where the model classifies sequences
} vkf_dump_rule;

// NULL when the table does not have the label.
const vkf_dump_rule *vkf_dump_rule_of(const char *label, bool in_layer);

#endif
