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
    uint64_t begin; // of its bytes in the handle; 0 in the library's own
    VkBufferUsageFlags usage;
    bool wrapped;        // the handle is a program's, with memory that is not known here
    uint64_t size_bytes; // as asked for
    uint64_t allocated_bytes;
    uint64_t address; // of the first byte, for shaders; 0 where the device has no buffer device addresses
    vkf__memory_class class;
    vkf__allocation allocation;
    uint32_t exports;         // VkExternalMemoryHandleTypeFlags that it was made for
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
// The steps of making a buffer, for memory that is not the library's alone: the handle, with what `chain` says; what is
// said of it once its allocation is there; and the way back.
VKF_MUST_CHECK vkf_status vkf__buffer_begin(vkf__transfer *transfer, uint64_t bytes, const void *chain,
                                            const char *name, vkf_buffer **out_buffer);
VKF_MUST_CHECK vkf_status vkf__buffer_bind(vkf_buffer *buffer);

// What a buffer of a program's is wrapped from.
typedef struct vkf__wrapped_range {
    VkBuffer handle;
    uint64_t begin, size_bytes;
    VkBufferUsageFlags usage;
} vkf__wrapped_range;

// Makes a buffer of a range of a program's, without a copy; the handle stays the program's. The host reaches it by
// transfers alone. Statuses: INVALID_ARGUMENT (a range or usage that kernels cannot work with), OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__buffer_wrap(vkf__transfer *transfer, const vkf__wrapped_range *range,
                                           vkf_buffer **out_buffer);
// Gives back the owner's reference and sets the pointer to NULL. The buffer no longer counts as alive; it is freed with
// its last reference. Accepts NULL content.
void vkf__buffer_destroy(vkf_buffer **buffer);
// Takes a reference beside the owner's. Whoever takes one keeps the context, too.
void vkf__buffer_hold(vkf_buffer *buffer);
void vkf__buffer_drop(vkf_buffer *buffer);

// Whether the pointer is to a buffer of this memory that its owner has not destroyed. It is compared, never
// dereferenced.
bool vkf__buffer_is_alive(vkf__memory *memory, const vkf_buffer *buffer);

// Whether the bytes of both are of one VkBuffer, from which a program may have wrapped several.
static inline bool vkf__buffers_share(const vkf_buffer *a, const vkf_buffer *b)
{
    return a == b || (a && b && a->handle == b->handle);
}

// Whether kernels may read it as a texel buffer: a program's own may have been made without that usage.
static inline bool vkf__buffer_has_texels(const vkf_buffer *buffer)
{
    return !buffer->wrapped || (buffer->usage & VK_BUFFER_USAGE_UNIFORM_TEXEL_BUFFER_BIT);
}

// As vkf_buffer_write(), but the last part may still be in flight afterwards: see vkf__transfer_flow.
VKF_MUST_CHECK vkf_status vkf__buffer_write_on(vkf__transfer_flow *flow, vkf_buffer *buffer, uint64_t offset_bytes,
                                               const void *data, uint64_t size_bytes);

VKF_MUST_CHECK vkf_status vkf__buffer_clear(vkf_buffer *buffer);
// Moves bytes to another place in the buffer, which may overlap the one that they had.
VKF_MUST_CHECK vkf_status vkf__buffer_move(vkf_buffer *buffer, uint64_t from, uint64_t to, uint64_t size_bytes);

#endif
