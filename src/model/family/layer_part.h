// What a part of a model has of it: see vkf_layer_part.
#ifndef VKF_MODEL_LAYER_PART_H
#define VKF_MODEL_LAYER_PART_H

#include <vkformer/model.h>

typedef struct vkf__layer_part {
    uint32_t first, count;   // the layers; a count of 0: the model is whole
    uint32_t encoder, total; // of the whole model: how many layers are the encoder's, and how many there are
    vkf_part_link link;
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
