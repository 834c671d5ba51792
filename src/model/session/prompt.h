// What generation begins with: runs the prompts of a DECODER or the sources of a SEQ2SEQ model through the layers.
#ifndef VKF_MODEL_PROMPT_H
#define VKF_MODEL_PROMPT_H

#include "model/session/session.h"

// Sequences of unequal lengths as the rows of a batch. A DECODER's padding comes first, so that all prompts end at the
// same position; a SEQ2SEQ source's padding comes last.
typedef struct vkf__prompt {
    uint32_t batch, len;
    int32_t *ids;    // (batch, lead + len): a DECODER's rows begin with their number of padding tokens
    uint8_t *hidden; // (batch, max_target_len): keys that no position sees; DECODER only
} vkf__prompt;

// Ownership: vkf__prompt_free(), which accepts a zeroed prompt. Status OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__prompt_make(const vkf_session *session, uint32_t batch, uint32_t len,
                                           vkf__prompt *out_prompt);
void vkf__prompt_free(const vkf_session *session, vkf__prompt *prompt);
// Sets a row to `count` tokens, at most len.
void vkf__prompt_set(const vkf_session *session, const vkf__prompt *prompt, uint32_t row, const int32_t *tokens,
                     uint32_t count);

// The number of padding tokens before a row of a DECODER's prompt, and the tokens behind them.
uint32_t vkf__prompt_padding(const vkf_session *session, const vkf__prompt *prompt, uint32_t row);
const int32_t *vkf__prompt_tokens(const vkf_session *session, const vkf__prompt *prompt, uint32_t row);

// Writes the prompts into the session. Each fills `beams` rows, side by side.
VKF_MUST_CHECK vkf_status vkf__prompt_write(vkf_session *session, const vkf__prompt *prompt, uint32_t beams);

// Runs the prompt from place `first` on, which is 0 but for a DECODER whose cache holds what is before it. It chooses
// the first new token of each sequence or, if `candidates` is above 0, finds that many candidates for it. Of `args`
// the lengths, the progress and whether there is a `choose` are used, which has nothing chosen. With
// `submits` the last run is launched, see vkf__session_launch(). Statuses: CANCELLED,
// and those of a run.
VKF_MUST_CHECK vkf_status vkf__prompt_run(vkf_session *session, const vkf_generate_args *args,
                                          const vkf__prompt *prompt, uint32_t first, uint32_t candidates, bool submits);
// The position of the first new token.
uint32_t vkf__prompt_end(const vkf_session *session, const vkf__prompt *prompt);

#endif
