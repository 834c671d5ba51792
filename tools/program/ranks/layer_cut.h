// Where a model is cut between its layers, so that each rank has what fits it and none is waited for longer than it
// must be.
#ifndef VKF_PROGRAM_LAYER_CUT_H
#define VKF_PROGRAM_LAYER_CUT_H

#include <stdbool.h>
#include <stdint.h>

// What a part takes: that of its place, and so much for each of its layers.
typedef struct vkf_cut_model {
    uint32_t layers;
    uint64_t layer_bytes;                                        // weights and caches of a layer
    uint64_t first_bytes, middle_bytes, last_bytes, whole_bytes; // what a part in this place has beside its layers
    double layer_time, last_time; // of a layer and of what follows the layers, in one unit
} vkf_cut_model;

typedef struct vkf_cut_rank {
    uint64_t memory_bytes;
    double speed; // beside that of the others
} vkf_cut_rank;

typedef struct vkf_cut_part {
    uint32_t first, count; // layers; a count of 0: this rank has none
    uint64_t bytes;
} vkf_cut_part;

// Parts follow each other as ranks do, and the first is not empty. The slowest part is as fast as it can be; of cuts
// that are equal in that, the one taken leaves the last ranks without layers. False: no cut fits, or memory is
// exhausted; the reason has been printed.
bool vkf_cut_layers(const vkf_cut_model *model, const vkf_cut_rank *ranks, uint32_t count, vkf_cut_part *out_parts);

#endif
