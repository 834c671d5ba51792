// Where a model is cut between its layers, so that each rank has what fits it and none is waited for longer than it
// must be.
#ifndef VKF_PROGRAM_LAYER_CUT_H
#define VKF_PROGRAM_LAYER_CUT_H

#include <stdbool.h>
#include <stdint.h>

// Where a part begins or ends.
typedef enum vkf_cut_place {
    VKF_CUT_FRONT = 0,  // before all layers
    VKF_CUT_IN_ENCODER, // between two of its layers
    VKF_CUT_BORDER,     // behind the encoder's last layer
    VKF_CUT_IN_DECODER,
    VKF_CUT_BEFORE_LAST, // layer of the decoder, which alone takes less: it runs but the last position of a prompt
    VKF_CUT_BACK,
    VKF_CUT_PLACE_COUNT
} vkf_cut_place;

typedef struct vkf_cut_stack {
    uint32_t layers;
    uint64_t layer_bytes; // weights and caches of a layer
    double layer_time;
} vkf_cut_stack;

// Layers are those of the encoder, where there is one, and then those of the decoder. A part takes what each of its
// layers does, and own_bytes beside them, by where it begins and where it ends.
typedef struct vkf_cut_model {
    vkf_cut_stack encoder, decoder;
    uint64_t own_bytes[VKF_CUT_PLACE_COUNT][VKF_CUT_PLACE_COUNT];
    double last_time; // of what follows the layers, in the unit of theirs
} vkf_cut_model;

typedef struct vkf_cut_rank {
    uint64_t memory_bytes;
    double speed; // beside that of the others
} vkf_cut_rank;

typedef struct vkf_cut_part {
    uint32_t first, count; // layers; a count of 0: this rank has none
    uint64_t bytes;
} vkf_cut_part;

uint32_t vkf_cut_layer_count(const vkf_cut_model *model);
// The place behind `layers` layers.
vkf_cut_place vkf_cut_place_of(const vkf_cut_model *model, uint32_t layers);
// How many of the layers from `first` to `end`, which is not among them, are the encoder's.
uint32_t vkf_cut_encoder_layers(const vkf_cut_model *model, uint32_t first, uint32_t end);
// What a part of these layers takes.
uint64_t vkf_cut_bytes(const vkf_cut_model *model, uint32_t first, uint32_t end);

// Parts follow each other as ranks do, and the first is not empty. The slowest part is as fast as it can be; of cuts
// that are equal in that, the one taken leaves the last ranks without layers. False: no cut fits, or memory is
// exhausted; the reason has been printed.
bool vkf_cut_layers(const vkf_cut_model *model, const vkf_cut_rank *ranks, uint32_t count, vkf_cut_part *out_parts);

#endif
