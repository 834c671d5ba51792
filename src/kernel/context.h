// What a context is made of, for the floors above.
#ifndef VKF_KERNEL_CONTEXT_H
#define VKF_KERNEL_CONTEXT_H

#include <stdatomic.h>

#include "kernel/pipeline.h"
#include "vk/buffer.h"

struct vkf_context {
    vkf__host host;
    vkf__instance instance;
    vkf__device device;
    vkf__memory memory;
    vkf__transfer transfer;
    vkf__pipelines pipelines;
    vkf__tuned tuned;
    vkf_cache_callbacks cache;
    uint32_t device_index;
    // GPU time of the last operator called by itself (negative: unknown) and its main kernel's name. Operators may run in
    // several threads at once: then the last one to end is told of.
    _Atomic(double) last_op_ns;
    _Atomic(const char *) last_op_kernel;
};

// `desc` is not NULL. Statuses as vkf_context_create().
VKF_MUST_CHECK vkf_status vkf__context_create(const vkf_context_desc *desc, vkf_context **out_context);
// Saves the pipeline cache first; accepts a half-made context.
void vkf__context_destroy(vkf_context *context);
VKF_MUST_CHECK vkf_status vkf__enumerate_devices(const vkf_context_desc *desc, uint32_t *inout_count,
                                                 vkf_device_info *out_infos);

#endif
