// Device memory: slabs per memory type, cut into ranges. A large request gets a slab of its own.
#ifndef VKF_VK_MEMORY_H
#define VKF_VK_MEMORY_H

#include "vk/device.h"

typedef struct vkf__allocation {
    VkDeviceMemory memory;
    uint64_t offset;
    uint64_t size_bytes;
    uint8_t *mapped; // of this range; NULL where the host may not access it
    uint32_t memory_type;
    bool device_local;
    bool host_cached; // the host reads `mapped` through its cache; what is not cached it reads word by word
} vkf__allocation;

struct vkf__slab;
struct vkf_buffer;

#define VKF_LIVE_BUFFER_LISTS 256

typedef struct vkf__memory {
    vkf__device *device;
    struct vkf__slab **slabs;
    size_t slab_count;
    size_t slab_capacity;
    vkf_memory_usage usage;
    uint64_t limit_bytes; // of what is reserved; 0: none
    // All buffers that may be used, in lists by a hash of their address; guarded by `lock`.
    struct vkf_buffer *live[VKF_LIVE_BUFFER_LISTS];
    pthread_mutex_t lock;
    bool lock_ready;
} vkf__memory;

VKF_MUST_CHECK vkf_status vkf__memory_init(vkf__memory *memory, vkf__device *device);
void vkf__memory_finish(vkf__memory *memory);

// Tries the class's preferred memory type first, then any other that serves. `name` is for messages and debuggers.
// Statuses: OUT_OF_HOST_MEMORY, OUT_OF_DEVICE_MEMORY, TOO_LARGE, DEVICE_LOST, VULKAN.
VKF_MUST_CHECK vkf_status vkf__memory_allocate(vkf__memory *memory, const VkMemoryRequirements *requirements,
                                               vkf__memory_class class, const char *name,
                                               vkf__allocation *out_allocation);
// Memory that is shared with somebody else.
typedef struct vkf__shared_memory {
    VkMemoryRequirements need; // of an import, the size is that of the memory
    const void *chain;         // for VkMemoryAllocateInfo: what exports or imports it
    uint8_t *mapped;           // where the host has it already; NULL: mapped here if that is possible
    bool unmapped;             // never mapped here
    bool taken;                // put out, on failure too: the driver owns what the chain imports
} vkf__shared_memory;

// Allocates for a DEVICE buffer, in a slab of its own. Statuses: as above, and UNSUPPORTED without a memory type.
VKF_MUST_CHECK vkf_status vkf__memory_allocate_shared(vkf__memory *memory, vkf__shared_memory *shared, const char *name,
                                                      vkf__allocation *out_allocation);
void vkf__memory_release(vkf__memory *memory, vkf__allocation *allocation);

void vkf__memory_usage_get(vkf__memory *memory, vkf_memory_usage *out_usage);
void vkf__memory_reset_peak(vkf__memory *memory);

#endif
