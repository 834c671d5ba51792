// Adds up what an object will allocate, by kind and by heap.
#ifndef VKF_KERNEL_MEMORY_PLAN_H
#define VKF_KERNEL_MEMORY_PLAN_H

#include "kernel/context.h"

void vkf__memory_plan_init(vkf_memory_plan *plan, const vkf_context *context);

// A buffer that creation will make; its name is for the message.
typedef struct vkf__planned_buffer {
    const char *name;
    vkf__memory_class class;
    uint64_t size_bytes; // 0: none
} vkf__planned_buffer;

// Adds a buffer to *kind, a member of the plan, and to the heap that its class uses. Statuses: TOO_LARGE where creation
// will fail so.
VKF_MUST_CHECK vkf_status vkf__memory_plan_add(vkf_memory_plan *plan, const vkf_context *context,
                                               vkf__planned_buffer buffer, uint64_t *kind);

#endif
