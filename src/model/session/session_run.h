// The runs of a session that the public interface offers. Arguments were checked.
#ifndef VKF_MODEL_SESSION_RUN_H
#define VKF_MODEL_SESSION_RUN_H

#include "model/session/session.h"

// Gives back whatever comes out; the caller checks that the results are finite.
VKF_MUST_CHECK vkf_status vkf__session_encode(vkf_session *session, const vkf_encode_args *args);
// Fails with NOT_FINITE where embeddings or logits are not finite, and then writes nothing.
VKF_MUST_CHECK vkf_status vkf__session_encode_numbers(vkf_session *session, const vkf_encode_args *args);
// Launches the run, see vkf__session_launch(). What comes out stays on the device. Source ids, or a source, that are
// NULL are on the device already.
VKF_MUST_CHECK vkf_status vkf__session_launch_encode(vkf_session *session, const vkf_encode_args *args,
                                                     const vkf__submit_semaphores *semaphores);
VKF_MUST_CHECK vkf_status vkf__session_decode(vkf_session *session, const vkf_decode_args *args);
VKF_MUST_CHECK vkf_status vkf__session_greedy(vkf_session *session, const vkf_greedy_args *args);

// Writes the token that a SEQ2SEQ decoder begins with, the first column of its ids.
VKF_MUST_CHECK vkf_status vkf__session_write_first_tokens(vkf_session *session, uint32_t batch);

// Copy `count` elements between a span, whatever its dtype, and the host's f32.
VKF_MUST_CHECK vkf_status vkf__span_write_floats(const vkf__span *span, const float *values, uint64_t count);
VKF_MUST_CHECK vkf_status vkf__span_read_floats(const vkf__span *span, float *out_values, uint64_t count);

#endif
