// Results that are no numbers: how they are found on the host, and what is said of them.
#ifndef VKF_MODEL_FINITE_H
#define VKF_MODEL_FINITE_H

#include "model/session.h"

bool vkf__all_finite(const float *values, size_t count);

// The first of these elements (F32, F16 or BF16) that is NaN or infinite; `count` when none is.
uint64_t vkf__first_not_finite(vkf_dtype dtype, const void *values, uint64_t count);

// NOT_FINITE, with a message that begins with what is not finite and goes on with how to find out why.
vkf_status vkf__not_finite(const vkf_session *session, const char *format, ...) __attribute__((format(printf, 2, 3)));

// The token at element `at` of the session's target ids, which the last run has chosen for a row behind so many
// positions. Status NOT_FINITE where its logits were not finite, unless the session was made to give NaN for what is
// fully masked: then it is token 0, the first NaN, and the device has it too. *out_token is written on success.
VKF_MUST_CHECK vkf_status vkf__read_chosen(vkf_session *session, uint64_t at, uint32_t row, uint32_t positions,
                                           int32_t *out_token);

#endif
