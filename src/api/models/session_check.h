// What functions that plan a session share with those that create one.
#ifndef VKF_API_SESSION_CHECK_H
#define VKF_API_SESSION_CHECK_H

#include "model/session/cached_rows.h"

// Completes a caller's descriptor for the model, and checks it; `function` is for messages. Statuses: INVALID_ARGUMENT,
// TOO_LARGE.
VKF_MUST_CHECK vkf_status vkf__session_complete(const vkf_model *model, const vkf_session_desc *desc,
                                                const char *function, vkf_session_desc *out_full);

// Checks what vkf__session_launch_encode() takes. Statuses: INVALID_ARGUMENT, TOO_LARGE.
VKF_MUST_CHECK vkf_status vkf__session_check_encode_launch(const vkf_session *session, const vkf_encode_args *args,
                                                           const char *function);

// The session is a DECODER's, which runs token by token.
VKF_MUST_CHECK vkf_status vkf__session_check_tokens(const vkf_session *session, const char *function);
// And takes these tokens. Statuses: INVALID_ARGUMENT, TOO_LARGE.
VKF_MUST_CHECK vkf_status vkf__session_check_prefill(const vkf_session *session, const vkf_prefill_args *args,
                                                     const char *function);

// Checks a step and hands it to `run`, as the prefill that it is. Statuses: INVALID_ARGUMENT, TOO_LARGE, and those of
// `run`.
typedef vkf_status (*vkf__step_fn)(vkf_session *session, const vkf_prefill_args *args, const void *user);
VKF_MUST_CHECK vkf_status vkf__session_run_step(vkf_session *session, const vkf_step_args *args, const char *function,
                                                vkf__step_fn run, const void *user);

// The room for later versions in how tokens are chosen is 0, or the status is UNSUPPORTED.
VKF_MUST_CHECK vkf_status vkf__check_choice_of_tokens(const vkf__host *host, const char *function,
                                                      const vkf_sampling *sampling, const vkf_beam_search *beams);

#endif
