// What runs leave on the device, as the host takes it: tokens have to be the vocabulary's, and numbers finite.
#ifndef VKF_MODEL_SESSION_RESULTS_H
#define VKF_MODEL_SESSION_RESULTS_H

#include "model/session/session.h"

// Fails with VULKAN where an id that came from the device is outside the vocabulary, before the host indexes with it.
VKF_MUST_CHECK vkf_status vkf__session_check_chosen(const vkf_session *session, int32_t token);

// Returns NOT_FINITE with a message that says what is not finite and then how to find out why.
vkf_status vkf__not_finite(const vkf_session *session, const char *format, ...) VKF_PRINTF(2, 3);

// Reads the token that the last run chose for a row after `positions` positions; it is element `at` of the session's
// target ids. Status NOT_FINITE where its logits were not finite. In a session whose fully masked rows are NaN this is
// no error: the token is then 0, the first NaN as argmax takes it, and is written back to the device. *out_token is
// written on success.
VKF_MUST_CHECK vkf_status vkf__read_chosen(vkf_session *session, uint64_t at, uint32_t row, uint32_t positions,
                                           int32_t *out_token);

#endif
