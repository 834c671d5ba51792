// Runs works dispatch by dispatch, and shows the context's probe what each has written.
#ifndef VKF_OBSERVE_PROBE_H
#define VKF_OBSERVE_PROBE_H

#include "kernel/work.h"

// Runs works that have been updated to the sizes of this run, in place of submitting their own command buffers.
// Statuses: CANCELLED, and those of a run.
VKF_MUST_CHECK vkf_status vkf__probe_run(vkf_context *context, vkf__submission *submission, const char *name,
                                         vkf__work *const *works, size_t count);

#endif
