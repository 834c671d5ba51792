// New tokens, whoever chooses them: which are forced, which end a sequence, where they stand, what the session is told.
#ifndef VKF_MODEL_NEW_TOKENS_H
#define VKF_MODEL_NEW_TOKENS_H

#include "model/generate/generation.h"

// Whether a sequence ends with this token.
bool vkf__generation_ends(const vkf__generation *g, int32_t token);

// Whether the caller ends a row after these new tokens.
bool vkf__generation_caller_ends(const vkf__generation *g, uint32_t row, const int32_t *tokens, uint32_t count);

// Whether the model forces the token that follows `made` new ones; if so it is written to *out_token.
bool vkf__generation_forces(const vkf__generation *g, uint32_t made, int32_t *out_token);

// The index, in the session's target ids, of new token number `index` of a row.
uint64_t vkf__generation_place(const vkf__generation *g, uint32_t row, uint32_t index);

// Writes it.
VKF_MUST_CHECK vkf_status vkf__generation_write_token(const vkf__generation *g, uint32_t row, uint32_t index,
                                                      int32_t token);

// Writes the tokens that a row of the session has seen: those of prompt `source` and `count` new ones.
VKF_MUST_CHECK vkf_status vkf__generation_write_seen(const vkf__generation *g, uint32_t row, uint32_t source,
                                                     const int32_t *tokens, uint32_t count);

// The sizes of the step that reads new token number `made` - 1; the caller completes them.
vkf__session_sizes vkf__generation_step(const vkf__generation *g, uint32_t made);

#endif
