// The semaphores of a submission, as a program gives them.
#ifndef VKF_API_INTEROP_SEMAPHORES_H
#define VKF_API_INTEROP_SEMAPHORES_H

#include "kernel/context.h"
#include "vk/submission.h"

#include <vkformer/vulkan.h>

typedef struct vkf__taken_semaphores {
    vkf__semaphore_value waits[VKF_MAX_SUBMIT_SEMAPHORES], signals[VKF_MAX_SUBMIT_SEMAPHORES];
} vkf__taken_semaphores;

typedef struct vkf__given_semaphores {
    const vkf_semaphore_value *waits, *signals;
    uint32_t wait_count, signal_count;
} vkf__given_semaphores;

// Checks them and copies them into `taken`, which has to outlive *out_semaphores. Status INVALID_ARGUMENT.
VKF_MUST_CHECK vkf_status vkf__take_semaphores(const vkf__host *host, const char *function,
                                               const vkf__given_semaphores *given, vkf__taken_semaphores *taken,
                                               vkf__submit_semaphores *out_semaphores);

#endif
