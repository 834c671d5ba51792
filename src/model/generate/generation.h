// One generation over a batch of prompts: what sampling (generation.c) and beam search (beam_generation.c) share.
#ifndef VKF_MODEL_GENERATION_H
#define VKF_MODEL_GENERATION_H

#include "model/session/prompt.h"

// The caller's arrays are written only when all results are there.
typedef struct vkf__generation {
    vkf_session *session;
    const vkf_generate_args *args;
    vkf__prompt prompt;
    uint32_t first; // the place of the prompt from which on it runs
    uint32_t max_new;
    bool submits; // runs are submitted, and waited for by the next turn
    int32_t *ids; // (batch, max_new), padded
    uint32_t *lengths;
    vkf_stop_reason *reasons;
    float *logits; // (vocab) of one row, where the caller chooses
    // Generation of one token after the other.
    uint32_t made;                // runs whose tokens were taken
    bool *ended;                  // (batch)
    double began_ns, prompted_ns; // the times before and after the prompt's run
} vkf__generation;

// A generation in turns, so that those of several sessions can take theirs one after the other. begin() runs the
// prompts. turn() takes what the last run has chosen, and runs the next step; *out_more is false when nothing is left
// to run. Then give() writes the caller's arrays. end() comes in any case, after begin() has failed as well; `g` was
// zeroed but for `session`, `args` and `submits`. Statuses: those of vkf_session_generate().
VKF_MUST_CHECK vkf_status vkf__generation_begin(vkf__generation *g);
VKF_MUST_CHECK vkf_status vkf__generation_turn(vkf__generation *g, bool *out_more);
void vkf__generation_give(const vkf__generation *g);
void vkf__generation_end(vkf__generation *g);

// Fails with TOO_LARGE where there is no room for prompts of up to `longest` tokens and `new_tokens` after them. 0 new
// tokens count as 1.
VKF_MUST_CHECK vkf_status vkf__session_check_room(const vkf_session *session, uint32_t longest, uint32_t new_tokens);
// The number of new tokens that there is room for after prompts of up to `longest` tokens.
uint32_t vkf__session_room(const vkf_session *session, uint32_t longest);
VKF_MUST_CHECK vkf_status vkf__session_generate(vkf_session *session, const vkf_generate_args *args);

#endif
