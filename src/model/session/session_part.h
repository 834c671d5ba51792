// What runs of a session pass between the parts of a model (layer_part.h).
#ifndef VKF_MODEL_SESSION_PART_H
#define VKF_MODEL_SESSION_PART_H

#include "model/session/session.h"

// Before and after a run of the encoder, or with `target` of the decoder: what it works on comes from the part before,
// and goes to the one behind. Both do nothing in a whole model. Statuses: CANCELLED, and those of vkf_buffer_read() and
// vkf_buffer_write().
VKF_MUST_CHECK vkf_status vkf__part_take(vkf_session *session, bool target, const vkf__session_sizes *sizes);
VKF_MUST_CHECK vkf_status vkf__part_give(vkf_session *session, bool target, const vkf__session_sizes *sizes);
// Makes the last part's bytes those of all parts. Status CANCELLED.
VKF_MUST_CHECK vkf_status vkf__part_share(const vkf_session *session, void *bytes, size_t size_bytes);

#endif
