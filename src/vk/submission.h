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

// A semaphore and, of a timeline, the value to wait for or to signal; 0: it is binary.
typedef struct vkf__semaphore_value {
    VkSemaphore semaphore;
    uint64_t value;
} vkf__semaphore_value;

#define VKF_MAX_SUBMIT_SEMAPHORES 16

typedef struct vkf__submit_semaphores {
    const vkf__semaphore_value *waits, *signals;
    uint32_t wait_count, signal_count; // VKF_MAX_SUBMIT_SEMAPHORES at most
} vkf__submit_semaphores;

// Submits the command buffers in order, in one batch. vkf__submission_wait() has to follow before the submission is
// used again, and before anything that the commands use is touched or freed.
VKF_MUST_CHECK vkf_status vkf__submission_submit(vkf__submission *submission, const VkCommandBuffer *command_buffers,
                                                 uint32_t count);
// The same, behind the semaphores to wait for, and with those to signal at the end.
VKF_MUST_CHECK vkf_status vkf__submission_submit_with(vkf__submission *submission,
                                                      const VkCommandBuffer *command_buffers, uint32_t count,
                                                      const vkf__submit_semaphores *semaphores);
// The same for what the next submission follows: that one's end is the end of both.
VKF_MUST_CHECK vkf_status vkf__submission_submit_ahead(vkf__submission *submission,
                                                       const VkCommandBuffer *command_buffers, uint32_t count,
                                                       const vkf__submit_semaphores *semaphores);
// Waits for whatever is in the queue, where a submission that was to follow failed.
void vkf__submission_idle(vkf__submission *submission);
// Whether what was submitted last has ended.
VKF_MUST_CHECK vkf_status vkf__submission_ended(vkf__submission *submission, bool *out_ended);
// Waits until the last of them has ended. Where traits.spins, the thread keeps its core for the last tenth of a
// millisecond.
VKF_MUST_CHECK vkf_status vkf__submission_wait(vkf__submission *submission);
// Both.
VKF_MUST_CHECK vkf_status vkf__submission_run(vkf__submission *submission, const VkCommandBuffer *command_buffers,
                                              uint32_t count);

#endif
