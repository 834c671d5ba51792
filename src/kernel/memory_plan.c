// Adds buffers to a memory plan.
#include "kernel/memory_plan.h"

void vkf__memory_plan_init(vkf_memory_plan *plan, const vkf_context *context)
{
    *plan = (vkf_memory_plan){.heap_count = context->device.plan.caps.memory.memoryHeapCount};
}

void vkf__memory_plan_add(vkf_memory_plan *plan, const vkf_context *context, vkf__memory_class class,
                          uint64_t size_bytes, uint64_t *kind)
{
    if (size_bytes == 0)
        return;
    const vkf__device_plan *device = &context->device.plan;
    uint64_t bytes = vkf__buffer_allocated_bytes(size_bytes);
    *kind += bytes;
    plan->heap_bytes[device->caps.memory.memoryTypes[device->memory_type[class]].heapIndex] += bytes;
}
