// Command buffers that are submitted together: of a work one for each run of dispatches whose labels have one prefix,
// as those of a layer do.
#ifndef VKF_KERNEL_RECORDING_H
#define VKF_KERNEL_RECORDING_H

#include "kernel/work.h"

typedef struct vkf__recording {
    VkCommandBuffer *parts; // of the submission that they were recorded for
    size_t count, capacity;
} vkf__recording;

// Appends the parts of a work that was built. Statuses: OUT_OF_HOST_MEMORY, OUT_OF_DEVICE_MEMORY, DEVICE_LOST, VULKAN.
VKF_MUST_CHECK vkf_status vkf__recording_add(vkf__recording *recording, vkf__work *work, vkf__submission *submission);
void vkf__recording_free(vkf__recording *recording, const vkf__host *host);
// Runs the first `count` parts, and waits for them. Statuses: those of vkf__submission_run().
VKF_MUST_CHECK vkf_status vkf__recording_run(const vkf__recording *recording, size_t count,
                                             vkf__submission *submission);

#endif
