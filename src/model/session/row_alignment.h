// How a run goes on from what the rows of a DECODER's cache hold.
//
// The rows of a run end at the same place of the cache, and begin behind padding. A run whose rows are to end elsewhere
// moves what it keeps of them. Keys are rotated by their place in the cache, so those that move are turned on their
// way.
#ifndef VKF_MODEL_ROW_ALIGNMENT_H
#define VKF_MODEL_ROW_ALIGNMENT_H

#include "model/session/prompt.h"

// From which place on a prompt has to run of which row i's first keep[i] tokens are not run again; NULL: all are run.
uint32_t vkf__rows_first(const vkf_session *session, const vkf__prompt *prompt, const uint32_t *keep);

// Makes the cache ready for such a prompt, and says from which place on it has to run. The rows of the prompt are empty
// then, until vkf__rows_keep(); both leave alone a row that has no tokens in the prompt. Statuses: those of a run.
VKF_MUST_CHECK vkf_status vkf__rows_align(vkf_session *session, const vkf__prompt *prompt, const uint32_t *keep,
                                          uint32_t *out_first);
// The rows hold the prompt, which has run.
void vkf__rows_keep(vkf_session *session, const vkf__prompt *prompt);

#endif
