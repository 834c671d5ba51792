// NaN and infinity in results: how the host finds them, and how it reports them.
#ifndef VKF_MODEL_FINITE_H
#define VKF_MODEL_FINITE_H

#include "model/session.h"

bool vkf__all_finite(const float *values, size_t count);

// The first of these elements (F32, F16 or BF16) that is NaN or infinite; `count` when none is.
uint64_t vkf__first_not_finite(vkf_dtype dtype, const void *values, uint64_t count);

// Returns NOT_FINITE with a message that says what is not finite and then how to find out why.
vkf_status vkf__not_finite(const vkf_session *session, const char *format, ...) VKF_PRINTF(2, 3);

// Reads the token that the last run chose for a row after `positions` positions; it is element `at` of the session's
// target ids. Status NOT_FINITE where its logits were not finite. In a session whose fully masked rows are NaN this is
// no error: the token is then 0, the first NaN as argmax takes it, and is written back to the device. *out_token is
// written on success.
VKF_MUST_CHECK vkf_status vkf__read_chosen(vkf_session *session, uint64_t at, uint32_t row, uint32_t positions,
                                           int32_t *out_token);

#endif
