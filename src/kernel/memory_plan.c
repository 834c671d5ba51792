// Adds buffers to a memory plan.
#include "kernel/memory_plan.h"

void vkf__memory_plan_init(vkf_memory_plan *plan, const vkf_context *context)
{
    *plan = (vkf_memory_plan){.heap_count = context->device.plan.caps.memory.memoryHeapCount};
}

vkf_status vkf__memory_plan_add(vkf_memory_plan *plan, const vkf_context *context, vkf__planned_buffer buffer,
                                uint64_t *kind)
{
    if (buffer.size_bytes == 0)
        return VKF_OK;
    const vkf__device_plan *device = &context->device.plan;
    VKF_RETURN_IF_ERROR(vkf__buffer_check_size(&context->device, buffer.size_bytes, buffer.name));
    uint64_t bytes = vkf__buffer_allocated_bytes(buffer.size_bytes);
    *kind += bytes;
    plan->heap_bytes[device->caps.memory.memoryTypes[device->memory_type[buffer.class]].heapIndex] += bytes;
    return VKF_OK;
}
