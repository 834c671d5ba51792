// Runs of a caller's tokens through a DECODER. The arguments were checked.
#ifndef VKF_MODEL_SESSION_PREFILL_H
#define VKF_MODEL_SESSION_PREFILL_H

#include "model/session/session.h"

// vkf_session_decode() of whole sequences; results may be NaN or infinite.
VKF_MUST_CHECK vkf_status vkf__session_decode_tokens(vkf_session *session, const vkf_decode_args *args);

// vkf_session_prefill() and vkf_session_step(): the tokens follow those that the rows hold.
VKF_MUST_CHECK vkf_status vkf__session_prefill(vkf_session *session, const vkf_prefill_args *args);
// Launches the last part of that, see vkf__session_launch(), or with `steps` the run of the rows' last position alone.
// The positions before it, if there are any, run first and are waited for. The rows hold the tokens from here on. No
// logits are asked for.
VKF_MUST_CHECK vkf_status vkf__session_launch_tokens(vkf_session *session, const vkf_prefill_args *args, bool steps,
                                                     const vkf__submit_semaphores *semaphores);

#endif
