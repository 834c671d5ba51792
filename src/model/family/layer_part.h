// A model that generates, cut between its layers: each process loads a part of them, and runs go through all parts.
// Layers are those of the encoder, if there is one, and then those of the decoder.
//
// All parts make the same calls with the same arguments, in the same order. A run takes the hidden states of the part
// before it, and gives its own to the one behind it. The encoder's run goes through all parts: from its last layer on,
// what passes is the memory, which every part keeps for its decoder layers. The decoder's runs begin with the part that
// has its first layer, and parts before that only take what was chosen. What the last part has chosen it shares with
// all others, where it stands as if it had been chosen there. So every part knows how far each sequence is, and nobody
// tells the others.
#ifndef VKF_MODEL_LAYER_PART_H
#define VKF_MODEL_LAYER_PART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// How parts reach each other. All return false on a failure, which ends the run with VKF_ERROR_CANCELLED; whoever fails
// has said why.
typedef struct vkf__part_link {
    bool (*take)(void *user, void *out_bytes, size_t size_bytes);   // from the part before; not called by the first
    bool (*give)(void *user, const void *bytes, size_t size_bytes); // to the part behind; not called by the last
    bool (*share)(void *user, void *bytes, size_t size_bytes);      // the last part's bytes become those of all
    void *user;
} vkf__part_link;

typedef struct vkf__layer_part {
    uint32_t first, count;   // the layers; a count of 0: the model is whole
    uint32_t encoder, total; // of the whole model: how many layers are the encoder's, and how many there are
    vkf__part_link link;
} vkf__layer_part;

// Whether this part has the first layer of the encoder, or with `target` of the decoder, and with it what comes before
// the layers, and whether it has its last layer, and with it what follows them.
static inline bool vkf__part_begins(const vkf__layer_part *part, bool target)
{
    const bool crosses = part->first <= part->encoder && part->first + part->count > part->encoder;
    return part->count == 0 || (target ? crosses : part->first == 0);
}

static inline bool vkf__part_ends(const vkf__layer_part *part, bool target)
{
    const uint32_t end = part->first + part->count;
    return part->count == 0 || (target ? end == part->total : part->first < part->encoder && end >= part->encoder);
}

// Whether this part chooses tokens.
static inline bool vkf__part_chooses(const vkf__layer_part *part)
{
    return vkf__part_ends(part, true);
}

// The number, in the encoder or with `target` in the decoder, of the first layer that this part has there.
static inline uint32_t vkf__part_layer(const vkf__layer_part *part, bool target)
{
    if (!target)
        return part->first;
    return part->first > part->encoder ? part->first - part->encoder : 0;
}

#endif
