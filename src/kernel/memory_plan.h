// Adds up what an object will allocate, by kind and by heap.
#ifndef VKF_KERNEL_MEMORY_PLAN_H
#define VKF_KERNEL_MEMORY_PLAN_H

#include "kernel/context.h"

void vkf__memory_plan_init(vkf_memory_plan *plan, const vkf_context *context);

// Adds one buffer of `size_bytes` (0: none) to *kind, a member of the plan, and to the heap that its class uses.
void vkf__memory_plan_add(vkf_memory_plan *plan, const vkf_context *context, vkf__memory_class class,
                          uint64_t size_bytes, uint64_t *kind);

#endif
