// Copies between host memory and buffers that the host cannot map, through one staging buffer per context. The
// transfers of several threads take turns part by part, so that a small one waits for one part of a large one at most.
#ifndef VKF_VK_TRANSFER_H
#define VKF_VK_TRANSFER_H

#include "vk/memory.h"
#include "vk/submission.h"
#include "vk/turns.h"

#define VKF_STAGING_BYTES (UINT64_C(4) << 20)

typedef struct vkf__transfer {
    vkf__memory *memory;
    vkf__submission submission;
    VkCommandBuffer command_buffer;
    VkBuffer staging; // made by vkf__transfer_init() unless all memory is mapped and cached, and else on first use
    vkf__allocation allocation;
    vkf__turns turns; // guard the members above
} vkf__transfer;

VKF_MUST_CHECK vkf_status vkf__transfer_init(vkf__transfer *transfer, vkf__memory *memory);
void vkf__transfer_finish(vkf__transfer *transfer);

// Statuses: OUT_OF_HOST_MEMORY, OUT_OF_DEVICE_MEMORY, DEVICE_LOST, VULKAN.
VKF_MUST_CHECK vkf_status vkf__transfer_write(vkf__transfer *transfer, VkBuffer buffer, uint64_t offset,
                                              const void *data, uint64_t size_bytes);
VKF_MUST_CHECK vkf_status vkf__transfer_read(vkf__transfer *transfer, VkBuffer buffer, uint64_t offset, void *out_data,
                                             uint64_t size_bytes);
// Fills with zeros; offset and size are multiples of 4.
VKF_MUST_CHECK vkf_status vkf__transfer_clear(vkf__transfer *transfer, VkBuffer buffer, uint64_t offset,
                                              uint64_t size_bytes);

#endif
