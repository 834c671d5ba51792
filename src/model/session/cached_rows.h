// Which tokens a DECODER's key/value cache holds, row by row.
#ifndef VKF_MODEL_CACHED_ROWS_H
#define VKF_MODEL_CACHED_ROWS_H

#include "model/session/session.h"

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

// A row holds these tokens, too, which have run.
void vkf__row_add(vkf_session *session, uint32_t row, const int32_t *tokens, uint32_t count);

#endif
