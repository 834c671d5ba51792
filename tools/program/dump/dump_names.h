// Which module of the PyTorch model has a dispatch's result as its output or its input. The name comes from the names
// that a checkpoint gives to the weights around the dispatch.
#ifndef VKF_PROGRAM_DUMP_NAMES_H
#define VKF_PROGRAM_DUMP_NAMES_H

#include "dump/dump_rules.h"
#include "model/family/family.h"

#define VKF_DUMP_NAME_MAX (VKF_WEIGHT_NAME_MAX + 16)

// Some columns of a dispatch's result, and their place among the columns of the module's tensor.
typedef struct vkf_dump_piece {
    char name[VKF_DUMP_NAME_MAX]; // "encoder.layers.0.linear2.input"
    uint32_t width;               // columns
    // For a module that gives several results at once, as in vkf__weight_slot; parts is 0 for any other module.
    uint32_t parts, part, part_rows;
} vkf_dump_piece;

typedef struct vkf_dump_place {
    vkf_dump_piece pieces[VKF_DUMP_MAX_PIECES]; // side by side
    uint32_t piece_count;                       // 0: no module has the result
    bool of_memory;                             // a row for each position of the encoder's output
    bool of_sequences;                          // a row for each sequence
    bool in_heads;                              // the columns come as (heads, head_dim)
    // For attention that comes head by head, (B, key_heads, L, head_dim), one query head of each group at a time.
    // Otherwise 0.
    uint32_t key_heads, group, head_dim;
} vkf_dump_place;

typedef struct vkf_dump_names vkf_dump_names;

// Loads the names for the model in a directory, from its configuration and the header of its weights. Statuses as
// vkf_model_plan().
VKF_MUST_CHECK vkf_status vkf_dump_names_load(const vkf__host *host, const char *directory, vkf_dump_names **out_names);
void vkf_dump_names_free(const vkf__host *host, vkf_dump_names **names);

// `part` and `label` are those of a vkf_probe_output.
vkf_dump_place vkf_dump_place_of(const vkf_dump_names *names, const char *part, const char *label);

#endif
