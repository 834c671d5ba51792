// A DECODER that is cut between its layers: each process loads a part of them, and runs go through all parts.
//
// All parts make the same calls with the same arguments, in the same order. A run takes the hidden states of the part
// before it, and gives its own to the one behind it. What the last part has chosen it shares with all others, where it
// stands as if it had been chosen there. So every part knows how far each sequence is, and nobody tells the others.
#ifndef VKF_MODEL_LAYER_PART_H
#define VKF_MODEL_LAYER_PART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <vkformer/status.h>

// How parts reach each other. All return false on a failure, which ends the run with VKF_ERROR_CANCELLED; whoever fails
// has said why.
typedef struct vkf__part_link {
    bool (*take)(void *user, void *out_bytes, size_t size_bytes);   // from the part before; not called by the first
    bool (*give)(void *user, const void *bytes, size_t size_bytes); // to the part behind; not called by the last
    bool (*share)(void *user, void *bytes, size_t size_bytes);      // the last part's bytes become those of all
    void *user;
} vkf__part_link;

typedef struct vkf__layer_part {
    uint32_t first, count; // the layers; a count of 0: the model is whole
    uint32_t total;        // layers of the whole model
    vkf__part_link link;
} vkf__layer_part;

// Whether this part embeds the tokens, and whether it has what follows the layers and chooses tokens.
static inline bool vkf__part_embeds(const vkf__layer_part *part)
{
    return part->count == 0 || part->first == 0;
}

static inline bool vkf__part_chooses(const vkf__layer_part *part)
{
    return part->count == 0 || part->first + part->count == part->total;
}

struct vkf_session;
struct vkf__session_sizes;

// Before and after a run of these sizes: the hidden states come from the part before, and go to the one behind. Both do
// nothing in a whole model. Statuses: CANCELLED, and those of vkf_buffer_read() and vkf_buffer_write().
VKF_MUST_CHECK vkf_status vkf__part_take(struct vkf_session *session, const struct vkf__session_sizes *sizes);
VKF_MUST_CHECK vkf_status vkf__part_give(struct vkf_session *session, const struct vkf__session_sizes *sizes);
// Makes the last part's bytes those of all parts. Status CANCELLED.
VKF_MUST_CHECK vkf_status vkf__part_share(const struct vkf_session *session, void *bytes, size_t size_bytes);

#endif
