// Runs of a session as the public interface sees them. Arguments were checked.
#ifndef VKF_MODEL_SESSION_RUN_H
#define VKF_MODEL_SESSION_RUN_H

#include "model/session.h"

VKF_MUST_CHECK vkf_status vkf__session_encode(vkf_session *session, const vkf_encode_args *args);
VKF_MUST_CHECK vkf_status vkf__session_decode(vkf_session *session, const vkf_decode_args *args);
VKF_MUST_CHECK vkf_status vkf__session_greedy(vkf_session *session, const vkf_greedy_args *args);

// generation.c: of a DECODER ------------------------------------------------------------------------------------------

VKF_MUST_CHECK vkf_status vkf__session_decode_tokens(vkf_session *session, const vkf_decode_args *args);
VKF_MUST_CHECK vkf_status vkf__session_generate(vkf_session *session, const vkf_generate_args *args);

#endif
