// Which tokens a DECODER's key/value cache holds, row by row, and how a run goes on from them.
//
// The rows of a run end at the same place of the cache, and begin behind padding. A run whose rows are to end elsewhere
// moves what it keeps of them. Keys are rotated by their place in the cache, so those that move are turned on their
// way.
#ifndef VKF_MODEL_CACHED_ROWS_H
#define VKF_MODEL_CACHED_ROWS_H

#include "model/prompt.h"

struct vkf__cached_row {
    uint32_t begin;  // the place of its first token in the cache
    uint32_t count;  // tokens; 0: it is empty
    uint32_t hidden; // first places that the device's key mask hides; UINT32_MAX: unknown
};

// Ownership: vkf__rows_free(), which accepts a session without rows. Sessions of other models get none. Status
// OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__rows_make(vkf_session *session);
void vkf__rows_free(vkf_session *session);

// The tokens of a row; room for max_target_len of them.
int32_t *vkf__row_ids(const vkf_session *session, uint32_t row);

// Empties all rows.
void vkf__rows_forget(vkf_session *session);
// How many of a row's tokens stand at the beginning of `tokens`, too.
uint32_t vkf__row_common(const vkf_session *session, uint32_t row, const int32_t *tokens, uint32_t count);

// From which place on a prompt has to run of which row i's first keep[i] tokens are not run again; NULL: all are run.
uint32_t vkf__rows_first(const vkf_session *session, const vkf__prompt *prompt, const uint32_t *keep);

// Makes the cache ready for such a prompt, and says from which place on it has to run. The rows of the prompt are empty
// then, until vkf__rows_keep(); both leave alone a row that has no tokens in the prompt. Statuses: those of a run.
VKF_MUST_CHECK vkf_status vkf__rows_align(vkf_session *session, const vkf__prompt *prompt, const uint32_t *keep,
                                          uint32_t *out_first);
// The rows hold the prompt, which has run.
void vkf__rows_keep(vkf_session *session, const vkf__prompt *prompt);
// A row holds these tokens, too, which have run.
void vkf__row_add(vkf_session *session, uint32_t row, const int32_t *tokens, uint32_t count);

// vkf_session_prefill() and vkf_session_step(). The arguments were checked.
VKF_MUST_CHECK vkf_status vkf__session_prefill(vkf_session *session, const vkf_prefill_args *args);
// Launches the run of the rows' last position, see vkf__session_launch(). The positions before it, if there are any,
// run first and are waited for. The rows hold the tokens from here on. No logits are asked for.
VKF_MUST_CHECK vkf_status vkf__session_launch_step(vkf_session *session, const vkf_prefill_args *args,
                                                   const vkf__submit_semaphores *semaphores);

#endif
