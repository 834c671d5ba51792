// What the ways of generating share: one run over a batch of prompts.
#ifndef VKF_MODEL_GENERATION_H
#define VKF_MODEL_GENERATION_H

#include "model/prompt.h"

// The caller's arrays are written only when all of it is there.
typedef struct vkf__generation {
    vkf_session *session;
    const vkf_generate_args *args;
    vkf__prompt prompt;
    uint32_t max_new;
    int32_t *ids; // (batch, max_new), padded
    uint32_t *lengths;
    vkf_stop_reason *reasons;
    double began_ns, prompted_ns; // before the prompt, and behind it
} vkf__generation;

// Whether a sequence ends with this token.
bool vkf__generation_ends(const vkf__generation *g, int32_t token);

// Whether the caller ends a row behind these new tokens.
bool vkf__generation_caller_ends(const vkf__generation *g, uint32_t row, const int32_t *tokens, uint32_t count);

// Where the model itself says which new token comes, `made` being there: *out_token.
bool vkf__generation_forces(const vkf__generation *g, uint32_t made, int32_t *out_token);

// The token number `index` of the new ones, of a row of the session.
VKF_MUST_CHECK vkf_status vkf__generation_write_token(const vkf__generation *g, uint32_t row, uint32_t index,
                                                      int32_t token);

// What counts as seen of a row of the session: of prompt `source`, and of so many new tokens.
VKF_MUST_CHECK vkf_status vkf__generation_write_seen(const vkf__generation *g, uint32_t row, uint32_t source,
                                                     const int32_t *tokens, uint32_t count);

// The step behind new token number `made` - 1; the caller completes the sizes.
vkf__session_sizes vkf__generation_step(const vkf__generation *g, uint32_t made);

// beam_generation.c: instead of one token after the other.
VKF_MUST_CHECK vkf_status vkf__generate_by_beams(vkf__generation *g);

#endif
