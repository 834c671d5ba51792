// What functions that plan a session share with those that create one.
#ifndef VKF_API_SESSION_CHECK_H
#define VKF_API_SESSION_CHECK_H

#include "model/session.h"

// Completes a caller's descriptor for the model, and checks it; `function` is for messages. Statuses: INVALID_ARGUMENT,
// TOO_LARGE.
VKF_MUST_CHECK vkf_status vkf__session_complete(const vkf_model *model, const vkf_session_desc *desc,
                                                const char *function, vkf_session_desc *out_full);

// The room for later versions in how tokens are chosen is 0, or the status is UNSUPPORTED.
VKF_MUST_CHECK vkf_status vkf__check_choice_of_tokens(const vkf__host *host, const char *function,
                                                      const vkf_sampling *sampling, const vkf_beam_search *beams);

#endif
