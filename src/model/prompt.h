// What generation begins with: the prompts of a DECODER, or the sources of a SEQ2SEQ model, through the layers.
#ifndef VKF_MODEL_PROMPT_H
#define VKF_MODEL_PROMPT_H

#include "model/session.h"

// Sequences of unequal lengths as the rows of a batch. A DECODER's padding stands in front, so that all end together; a
// SEQ2SEQ source's stands behind.
typedef struct vkf__prompt {
    uint32_t batch, len;
    int32_t *ids;    // (batch, lead + len): a DECODER's rows are led by their number of padding tokens
    uint8_t *hidden; // (batch, max_target_len): keys that no position sees; of a DECODER
} vkf__prompt;

// Ownership: vkf__prompt_free(), which accepts what is zero. Status OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__prompt_make(const vkf_session *session, uint32_t batch, uint32_t len,
                                           vkf__prompt *out_prompt);
void vkf__prompt_free(const vkf_session *session, vkf__prompt *prompt);
// `count` tokens, at most len.
void vkf__prompt_set(const vkf_session *session, const vkf__prompt *prompt, uint32_t row, const int32_t *tokens,
                     uint32_t count);

// How many rows of the session each prompt fills, side by side: its beams.
VKF_MUST_CHECK vkf_status vkf__prompt_write(vkf_session *session, const vkf__prompt *prompt, uint32_t beams);

// Runs all of it and chooses the first new token of each sequence, or so many candidates for it. What of `args` is followed
// is its progress. Statuses: CANCELLED, and those of a run.
VKF_MUST_CHECK vkf_status vkf__prompt_run(vkf_session *session, const vkf_generate_args *args,
                                          const vkf__prompt *prompt, uint32_t candidates);
// Where the first new token stands.
uint32_t vkf__prompt_end(const vkf_session *session, const vkf__prompt *prompt);

// A caller's tokens through a DECODER, whatever comes out.
VKF_MUST_CHECK vkf_status vkf__session_decode_tokens(vkf_session *session, const vkf_decode_args *args);

#endif
