// An emitter that has to use one variant. It is built once, and run as often as the variant is tested or timed.
#ifndef VKF_PROVE_TRIAL_H
#define VKF_PROVE_TRIAL_H

#include "base/clock.h"
#include "op/run_once.h"

typedef struct vkf__trial {
    vkf__work work;
    vkf__submission submission;
    vkf_buffer *arena;
    bool taken; // false: the variant does not take the problem, so there is nothing to run
} vkf__trial;

// `variant` and `args` must outlive the trial. vkf__trial_finish() must follow, whatever the status.
VKF_MUST_CHECK vkf_status vkf__trial_init(vkf__trial *trial, vkf_context *context, const vkf__variant *variant,
                                          vkf__emit_fn emit, const void *args);
void vkf__trial_finish(vkf__trial *trial);

// Runs trials in turn until the device has come to its speed, see base/settling.h. Each is queued before the one ahead
// of it has ended, so that the device never waits for the host. It ends after `cap_ns`, and where `keep_going` returns
// false. *out_settled: whether the speed is reached. Where no clock follows the load it is, and nothing runs.
VKF_MUST_CHECK vkf_status vkf__trials_settle(vkf_context *context, vkf__trial *const *trials, uint32_t count,
                                             double cap_ns, bool (*keep_going)(void *user), void *user,
                                             bool *out_settled);

// Runs and waits. *out_ns, more than 0, is the time by the device's timestamps. Where there are none it is the time
// from submission to fence, less that of an empty submission just before.
VKF_MUST_CHECK vkf_status vkf__trial_run(vkf__trial *trial, double *out_ns);

// How long an empty submission takes now: the queue's other work, and the way there and back.
VKF_MUST_CHECK vkf_status vkf__trial_latency(vkf__trial *trial, double *out_ns);

#endif
