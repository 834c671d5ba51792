// The library's buffers: a VkBuffer, its memory, and how the host reaches it.
#ifndef VKF_VK_BUFFER_H
#define VKF_VK_BUFFER_H

#include <vkformer/tensor.h>

#include "vk/transfer.h"

// Every buffer's size is rounded up to this, so that a range may be read in whole words and a memory plan can foretell
// what a driver will ask for.
#define VKF_BUFFER_GRANULARITY 256u

struct vkf_buffer {
    vkf__transfer *transfer;
    VkBuffer handle;
    uint64_t size_bytes; // as asked for
    uint64_t allocated_bytes;
    uint64_t address; // of the first byte, for shaders; 0 where the device has no buffer device addresses
    vkf__memory_class class;
    vkf__allocation allocation;
};

uint64_t vkf__buffer_allocated_bytes(uint64_t size_bytes);

// Content is undefined. Statuses: INVALID_ARGUMENT (size 0), TOO_LARGE, OUT_OF_HOST_MEMORY, OUT_OF_DEVICE_MEMORY,
// DEVICE_LOST, VULKAN.
VKF_MUST_CHECK vkf_status vkf__buffer_create(vkf__transfer *transfer, vkf__memory_class class, uint64_t size_bytes,
                                             const char *name, vkf_buffer **out_buffer);
VKF_MUST_CHECK vkf_status vkf__buffer_clear(vkf_buffer *buffer);

#endif
