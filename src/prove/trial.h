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

// Runs and waits. *out_ns is the time by timestamps or, where there are none, from submission to fence.
VKF_MUST_CHECK vkf_status vkf__trial_run(vkf__trial *trial, double *out_ns);

#endif
