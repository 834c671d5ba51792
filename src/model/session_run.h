// Runs of a session as the public interface sees them. Arguments were checked.
#ifndef VKF_MODEL_SESSION_RUN_H
#define VKF_MODEL_SESSION_RUN_H

#include "model/session.h"

// Whatever comes out: it is the caller that looks whether the results are numbers.
VKF_MUST_CHECK vkf_status vkf__session_encode(vkf_session *session, const vkf_encode_args *args);
// Status NOT_FINITE for embeddings or logits that are none; nothing is written then.
VKF_MUST_CHECK vkf_status vkf__session_encode_numbers(vkf_session *session, const vkf_encode_args *args);
VKF_MUST_CHECK vkf_status vkf__session_decode(vkf_session *session, const vkf_decode_args *args);
VKF_MUST_CHECK vkf_status vkf__session_greedy(vkf_session *session, const vkf_greedy_args *args);

// The token that a SEQ2SEQ decoder begins with: one column of its ids.
VKF_MUST_CHECK vkf_status vkf__session_write_first_tokens(vkf_session *session, uint32_t batch);

// Status VULKAN where a token that came from the device is none: nothing on the host is indexed by it then.
VKF_MUST_CHECK vkf_status vkf__session_check_chosen(const vkf_session *session, int32_t token);

// generation.c -------------------------------------------------------------------------------------------------------

// TOO_LARGE where prompts of up to `longest` tokens and so many new ones have no room. No new ones: 1.
VKF_MUST_CHECK vkf_status vkf__session_check_room(const vkf_session *session, uint32_t longest, uint32_t new_tokens);
// New tokens that there is room for behind such prompts.
uint32_t vkf__session_room(const vkf_session *session, uint32_t longest);
VKF_MUST_CHECK vkf_status vkf__session_generate(vkf_session *session, const vkf_generate_args *args);

#endif
