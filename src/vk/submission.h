// One owner's access to the queue: a command pool and a fence, used by one thread at a time.
#ifndef VKF_VK_SUBMISSION_H
#define VKF_VK_SUBMISSION_H

#include "vk/device.h"

typedef struct vkf__submission {
    vkf__device *device;
    VkCommandPool pool;
    VkFence fence;
    double submitted_ns; // vkf__now_ns() when the last run had been queued
    double expected_ns;  // how long the wait for the last run took; 0: there was none
} vkf__submission;

VKF_MUST_CHECK vkf_status vkf__submission_init(vkf__submission *submission, vkf__device *device, const char *name);
void vkf__submission_finish(vkf__submission *submission);

// Allocates a primary command buffer from the pool; it lives as long as the submission.
VKF_MUST_CHECK vkf_status vkf__submission_command_buffer(vkf__submission *submission, const char *name,
                                                         VkCommandBuffer *out_command_buffer);

// Submits the command buffers in order, in one batch. vkf__submission_wait() has to follow before the submission is
// used again, and before anything that the commands use is touched or freed.
VKF_MUST_CHECK vkf_status vkf__submission_submit(vkf__submission *submission, const VkCommandBuffer *command_buffers,
                                                 uint32_t count);
// Waits until the last of them has ended. Where traits.spins, the thread keeps its core for the last tenth of a
// millisecond.
VKF_MUST_CHECK vkf_status vkf__submission_wait(vkf__submission *submission);
// Both.
VKF_MUST_CHECK vkf_status vkf__submission_run(vkf__submission *submission, const VkCommandBuffer *command_buffers,
                                              uint32_t count);

#endif
