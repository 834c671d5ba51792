// The library's buffers: a VkBuffer, its memory, and how the host reaches it.
#ifndef VKF_VK_BUFFER_H
#define VKF_VK_BUFFER_H

#include <stdatomic.h>

#include <vkformer/tensor.h>

#include "vk/transfer.h"

// Every buffer's size is rounded up to a multiple of this, so that a range may be read in whole words and a memory plan
// can predict what a driver will ask for.
#define VKF_BUFFER_GRANULARITY 256u

struct vkf_buffer {
    vkf__transfer *transfer;
    VkBuffer handle;
    uint64_t size_bytes; // as asked for
    uint64_t allocated_bytes;
    uint64_t address; // of the first byte, for shaders; 0 where the device has no buffer device addresses
    vkf__memory_class class;
    vkf__allocation allocation;
    atomic_size_t references; // the owner's, and one of each layer that was given a tensor of it
    vkf_context *context;     // held by the owner of a caller's buffer; NULL: the buffer is the library's own
    vkf_buffer *next;         // in its list of buffers that are alive
};

uint64_t vkf__buffer_allocated_bytes(uint64_t size_bytes);
// TOO_LARGE: the device does not allow so many bytes in one buffer, or in one allocation.
VKF_MUST_CHECK vkf_status vkf__buffer_check_size(const vkf__device *device, uint64_t size_bytes, const char *name);

// Content is undefined. Statuses: INVALID_ARGUMENT (size 0), TOO_LARGE, OUT_OF_HOST_MEMORY, OUT_OF_DEVICE_MEMORY,
// DEVICE_LOST, VULKAN.
VKF_MUST_CHECK vkf_status vkf__buffer_create(vkf__transfer *transfer, vkf__memory_class class, uint64_t size_bytes,
                                             const char *name, vkf_buffer **out_buffer);
// Gives back the owner's reference and sets the pointer to NULL. The buffer no longer counts as alive; it is freed with
// its last reference. Accepts NULL content.
void vkf__buffer_destroy(vkf_buffer **buffer);
// Takes a reference beside the owner's. Whoever takes one keeps the context, too.
void vkf__buffer_hold(vkf_buffer *buffer);
void vkf__buffer_drop(vkf_buffer *buffer);

// Whether the pointer is to a buffer of this memory that its owner has not destroyed. It is compared, never
// dereferenced.
bool vkf__buffer_is_alive(vkf__memory *memory, const vkf_buffer *buffer);

// As vkf_buffer_write(), but the last part may still be in flight afterwards: see vkf__transfer_flow.
VKF_MUST_CHECK vkf_status vkf__buffer_write_on(vkf__transfer_flow *flow, vkf_buffer *buffer, uint64_t offset_bytes,
                                               const void *data, uint64_t size_bytes);

VKF_MUST_CHECK vkf_status vkf__buffer_clear(vkf_buffer *buffer);
// Moves bytes to another place in the buffer, which may overlap the one that they had.
VKF_MUST_CHECK vkf_status vkf__buffer_move(vkf_buffer *buffer, uint64_t from, uint64_t to, uint64_t size_bytes);

#endif
