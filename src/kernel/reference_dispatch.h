// What a dispatch is to a device whose shaders are the operators' references: instead of a pipeline, a descriptor set
// and push constants such a device is told of kernel and operands. It offers the function under a name of its own.
#ifndef VKF_KERNEL_REFERENCE_DISPATCH_H
#define VKF_KERNEL_REFERENCE_DISPATCH_H

#include "kernel/registry.h"
#include "vk/device.h"

typedef struct vkf__reference_operand {
    VkBuffer buffer; // null: the operand is absent
    uint64_t offset_bytes, size_bytes;
    vkf_dtype dtype;
} vkf__reference_operand;

typedef struct vkf__reference_dispatch {
    const vkf__kernel *kernel;
    const uint32_t *spec; // kernel->spec_count values, by id; alive as long as the command buffer is run
    VkBuffer control;     // has the grid, which may be all zeros, and the kernel's parameters
    uint64_t grid_offset, params_offset;
    vkf__reference_operand operands[VKF_KERNEL_MAX_OPERANDS];
} vkf__reference_dispatch;

#define VKF_RECORD_REFERENCE "vkCmdReferenceVKF"

typedef void(VKAPI_PTR *vkf__record_reference_fn)(VkCommandBuffer command_buffer,
                                                  const vkf__reference_dispatch *dispatch);

#endif
