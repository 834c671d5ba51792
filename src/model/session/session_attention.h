// The attention weights that a session keeps for its caller.
#ifndef VKF_MODEL_SESSION_ATTENTION_H
#define VKF_MODEL_SESSION_ATTENTION_H

#include "model/session/session.h"

// Sets the layers and sizes of the kinds that the descriptor asks for.
void vkf__kept_attention_init(vkf_session *session);
// Allocates the host arrays. Statuses: TOO_LARGE, OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__kept_attention_make(vkf_session *session);
void vkf__kept_attention_free(vkf_session *session);
// Where a layer writes its weights; absent where they are not kept.
vkf__span vkf__kept_attention_span(const vkf_session *session, int kept, uint32_t layer);
// Reads what the last run wrote and appends it to the rows of the runs before it.
VKF_MUST_CHECK vkf_status vkf__kept_attention_gather(vkf_session *session, vkf__stage_group group);
// Keys of `query_len` queries in the last run.
uint32_t vkf__kept_attention_keys(const vkf_session *session, int kept, uint32_t query_len);
// Writes the gathered weights of one layer and one row, (H, query_len, keys). The arguments were checked.
void vkf__kept_attention_read(const vkf_session *session, int kept, uint32_t layer, uint32_t row, uint32_t query_len,
                              float *out_weights);

#endif
