// Saves a DECODER's cache and loads it again.
#ifndef VKF_MODEL_SESSION_SAVE_H
#define VKF_MODEL_SESSION_SAVE_H

#include "model/session/session.h"

// Statuses: FILE, OUT_OF_HOST_MEMORY, and those of a transfer.
VKF_MUST_CHECK vkf_status vkf__session_save_to(const vkf_session *session, const char *name, vkf_write_fn write,
                                               void *user);
VKF_MUST_CHECK vkf_status vkf__session_save(const vkf_session *session, const char *path);
// Further statuses: FORMAT, TOO_LARGE. After a failure all rows may be empty.
VKF_MUST_CHECK vkf_status vkf__session_load_from(vkf_session *session, const char *name, vkf_read_fn read, void *user);
VKF_MUST_CHECK vkf_status vkf__session_load(vkf_session *session, const char *path);

#endif
