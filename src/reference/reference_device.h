// A Vulkan device on the host whose shaders are the scalar references of the operators: a whole model runs by them,
// where there is no driver, with the dispatches that a device of a driver would have. It has what the library calls of
// Vulkan, and runs a submission while it is submitted.
#ifndef VKF_REFERENCE_REFERENCE_DEVICE_H
#define VKF_REFERENCE_REFERENCE_DEVICE_H

#include "kernel/reference_dispatch.h"

// For vkf_context_desc.get_instance_proc_addr: an instance with this device alone.
vkf_void_function vkf__reference_get_proc(void *instance, const char *name);

// ---- within this folder

// Memory that a program sees wherever it lies.
typedef struct vkf__reference_memory {
    uint64_t size_bytes;
    _Alignas(16) uint8_t bytes[]; // as calloc() aligns
} vkf__reference_memory;

typedef struct vkf__reference_buffer {
    uint64_t size_bytes;
    vkf__reference_memory *memory; // NULL: not bound yet
    uint64_t offset_bytes;         // in the memory
} vkf__reference_buffer;

typedef struct vkf__reference_fence {
    bool signaled;
} vkf__reference_fence;

typedef struct vkf__reference_queries {
    uint32_t count;
    uint64_t ticks[]; // nanoseconds
} vkf__reference_queries;

// Handles that are no pointers on all systems.
#define VKF_REFERENCE_OBJECT(type, handle) ((type *)(uintptr_t)(handle))

// Where a range of a buffer lies; NULL where the buffer has no such range.
uint8_t *vkf__reference_bytes(VkBuffer buffer, uint64_t offset_bytes, uint64_t size_bytes);

// The device's function of that name that records or runs commands; NULL where there is none.
PFN_vkVoidFunction vkf__reference_command(const char *name);

#endif
