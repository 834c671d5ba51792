// The runs of a session that the public interface offers. Arguments were checked.
#ifndef VKF_MODEL_SESSION_RUN_H
#define VKF_MODEL_SESSION_RUN_H

#include "model/session.h"

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

// Fails with VULKAN where an id that came from the device is outside the vocabulary, before the host indexes with it.
VKF_MUST_CHECK vkf_status vkf__session_check_chosen(const vkf_session *session, int32_t token);

// Copy `count` elements between a span, whatever its dtype, and the host's f32.
VKF_MUST_CHECK vkf_status vkf__span_write_floats(const vkf__span *span, const float *values, uint64_t count);
VKF_MUST_CHECK vkf_status vkf__span_read_floats(const vkf__span *span, float *out_values, uint64_t count);

// generation.c -------------------------------------------------------------------------------------------------------

// Fails with TOO_LARGE where there is no room for prompts of up to `longest` tokens and `new_tokens` after them. 0 new
// tokens count as 1.
VKF_MUST_CHECK vkf_status vkf__session_check_room(const vkf_session *session, uint32_t longest, uint32_t new_tokens);
// The number of new tokens that there is room for after prompts of up to `longest` tokens.
uint32_t vkf__session_room(const vkf_session *session, uint32_t longest);
VKF_MUST_CHECK vkf_status vkf__session_generate(vkf_session *session, const vkf_generate_args *args);

#endif
