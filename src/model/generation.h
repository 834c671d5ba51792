// One generation over a batch of prompts: what sampling (generation.c) and beam search (beam_generation.c) share.
#ifndef VKF_MODEL_GENERATION_H
#define VKF_MODEL_GENERATION_H

#include "model/prompt.h"

// The caller's arrays are written only when all results are there.
typedef struct vkf__generation {
    vkf_session *session;
    const vkf_generate_args *args;
    vkf__prompt prompt;
    uint32_t first; // the place of the prompt from which on it runs
    uint32_t max_new;
    int32_t *ids; // (batch, max_new), padded
    uint32_t *lengths;
    vkf_stop_reason *reasons;
    float *logits; // (vocab) of one row, where the caller chooses
    // Of one token after the other.
    uint32_t made;                // runs whose tokens were taken
    bool *ended;                  // (batch)
    double began_ns, prompted_ns; // the times before and after the prompt's run
} vkf__generation;

// A generation in turns, so that those of several sessions can take theirs one after the other. begin() runs the
// prompts. turn() takes what the last run has chosen, and runs the next step; *out_more is false when nothing is left
// to run. Then give() writes the caller's arrays. end() comes in any case, after begin() has failed as well; `g` was
// zeroed but for `session` and `args`. Statuses: those of vkf_session_generate().
VKF_MUST_CHECK vkf_status vkf__generation_begin(vkf__generation *g);
VKF_MUST_CHECK vkf_status vkf__generation_turn(vkf__generation *g, bool *out_more);
void vkf__generation_give(const vkf__generation *g);
void vkf__generation_end(vkf__generation *g);

// Whether a sequence ends with this token.
bool vkf__generation_ends(const vkf__generation *g, int32_t token);

// Whether the caller ends a row after these new tokens.
bool vkf__generation_caller_ends(const vkf__generation *g, uint32_t row, const int32_t *tokens, uint32_t count);

// Whether the model forces the token that follows `made` new ones; if so it is written to *out_token.
bool vkf__generation_forces(const vkf__generation *g, uint32_t made, int32_t *out_token);

// Writes new token number `index` of a row of the session.
VKF_MUST_CHECK vkf_status vkf__generation_write_token(const vkf__generation *g, uint32_t row, uint32_t index,
                                                      int32_t token);

// Writes the tokens that a row of the session has seen: those of prompt `source` and `count` new ones.
VKF_MUST_CHECK vkf_status vkf__generation_write_seen(const vkf__generation *g, uint32_t row, uint32_t source,
                                                     const int32_t *tokens, uint32_t count);

// The sizes of the step that reads new token number `made` - 1; the caller completes them.
vkf__session_sizes vkf__generation_step(const vkf__generation *g, uint32_t made);

// generation_choice.c: has the caller choose new token number `made` of each row that has not ended, and writes it.
VKF_MUST_CHECK vkf_status vkf__generation_choose(const vkf__generation *g, uint32_t made, const bool *ended);

// beam_generation.c: generates by beam search instead of one token at a time.
VKF_MUST_CHECK vkf_status vkf__generate_by_beams(vkf__generation *g);

#endif
