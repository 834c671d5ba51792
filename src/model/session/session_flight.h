// Runs of groups of stages: on their way to the device, and back.
#ifndef VKF_MODEL_SESSION_FLIGHT_H
#define VKF_MODEL_SESSION_FLIGHT_H

#include "model/session/session.h"

// Writes the sizes into a group's stages, submits them and waits. A part of a model may have none of them.
VKF_MUST_CHECK vkf_status vkf__session_run(vkf_session *session, vkf__stage_group group,
                                           const vkf__session_sizes *sizes);
// Runs a STEP. `next`, if not NULL, is the STEP that follows unless this one's tokens end everything: where the device
// likes that, it is submitted before the host waits for this one, and so must not depend on anything that the host
// writes in between. The next call is for it then, or vkf__session_drop_step() comes instead. After a failure nothing
// is on its way.
VKF_MUST_CHECK vkf_status vkf__session_step(vkf_session *session, const vkf__session_sizes *sizes,
                                            const vkf__session_sizes *next);
// Waits for a STEP that has begun and is not wanted, if there is one. It leaves no trace but keys and values behind
// those that count, which are never read before they are written.
void vkf__session_drop_step(vkf_session *session);
// Begins a run in the first flight, in which nothing is on its way, and returns. Without semaphores the parameters
// alone are written, for the largest recording, which the caller submits in a command buffer of its own.
VKF_MUST_CHECK vkf_status vkf__session_launch(vkf_session *session, vkf__stage_group group,
                                              const vkf__session_sizes *sizes,
                                              const vkf__submit_semaphores *semaphores);
// Waits for a run that was launched, if there is one. After a failure the rows of a DECODER are empty.
VKF_MUST_CHECK vkf_status vkf__session_settle(vkf_session *session);
// What public functions that use a session's device memory begin with: checks the process, and settles.
VKF_MUST_CHECK vkf_status vkf__session_enter(vkf_session *session, const char *function);
// The recording of a group for its largest runs.
const vkf__batch *vkf__session_largest_batch(const vkf_session *session, vkf__stage_group group);
// Writes the sizes of a run into one stage.
VKF_MUST_CHECK vkf_status vkf__stage_update(vkf_session *session, vkf__stage *stage, const vkf__session_sizes *sizes);
// GPU time of one stage of the last run, in nanoseconds.
VKF_MUST_CHECK vkf_status vkf__stage_time(vkf__stage *stage, double *out_ns);

#endif
