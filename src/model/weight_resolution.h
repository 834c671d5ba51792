// Which tensor of its files serves each of a model's weights: names and shapes alone, without a device.
#ifndef VKF_MODEL_WEIGHT_RESOLUTION_H
#define VKF_MODEL_WEIGHT_RESOLUTION_H

#include "model/weight_names.h"

typedef struct vkf__weight_resolution {
    vkf__weights weights; // arrays of layers alone: what the slots point into
    vkf__weight_slot *slots;
    const vkf__stored_tensor **stored; // per slot
    size_t count;
    vkf_dtype blocks; // in which the file has Linears' weights, one kind at most; F32: in none
} vkf__weight_resolution;

// Changes what config.json says to what the file has: tables that are not tied after all, a bias of zeros that was left
// out, and a head that the file has no tensor of, with a warning.
void vkf__source_settle(const vkf__host *host, vkf__model_source *source);

// The files that a slot's tensor is in.
const vkf__checkpoint *vkf__slot_checkpoint(const vkf__model_source *source, const vkf__weight_slot *slot);

// Only lists the slots; nothing is looked for. The slots point into *out, which begins as zeros and stays where it is;
// vkf__weight_resolution_free() in either case. Status OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__weights_list(const vkf__host *host, const vkf__model_source *source,
                                            vkf__weight_resolution *out);

// The same, and finds each slot's tensor under the name that it has today or one of its older ones, and checks its
// shape and type. Statuses: FORMAT (missing tensor, wrong shape or type), UNSUPPORTED (two kinds of blocks, a
// classifier's tensor in a file whose class says no such thing), OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__weights_resolve(const vkf__host *host, const vkf__model_source *source,
                                               vkf__weight_resolution *out);
void vkf__weight_resolution_free(const vkf__host *host, vkf__weight_resolution *resolution);

#endif
