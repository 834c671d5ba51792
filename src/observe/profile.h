// Tells a context's profiler how long a submission and its dispatches took.
#ifndef VKF_OBSERVE_PROFILE_H
#define VKF_OBSERVE_PROFILE_H

#include "kernel/work.h"

// The host's clock at the beginning of a run and after each of its steps.
typedef struct vkf__run_times {
    double begin_ns, updated_ns, submitted_ns, ended_ns;
} vkf__run_times;

// Whether a dispatch had anything to do in the last run.
bool vkf__dispatch_works(const vkf__work *work, uint32_t node);

// To be called after `works` have run as one submission. Without a profiler it only makes counters ready for the next
// run.
// Statuses: OUT_OF_HOST_MEMORY, DEVICE_LOST, VULKAN.
VKF_MUST_CHECK vkf_status vkf__profile_run(vkf_context *context, const char *name, vkf__work *const *works,
                                           size_t count, const vkf__run_times *times);

#endif
