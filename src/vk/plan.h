// The third step of caps -> traits -> plan -> device: pure functions from what a device can do and what the caller
// wishes to what will be enabled. They can be tested without a device. Nothing is written to a plan once it is made.
#ifndef VKF_VK_PLAN_H
#define VKF_VK_PLAN_H

#include "vk/caps.h"

typedef struct vkf__plan_wishes {
    bool timestamps;
    bool executable_info; // pipeline statistics, where the driver has them
    bool counters;        // what the device counts while a dispatch runs
    bool external_memory; // what exports and imports memory
    vkf_queue_priority queue_priority;
    bool addresses; // kernels that read operands by device address, also where they are not for this kind of device
} vkf__plan_wishes;

typedef enum vkf__memory_class {
    VKF_MEMORY_DEVICE = 0, // fastest for shaders; mapped too where memory is unified
    VKF_MEMORY_CONTROL,    // host-visible and coherent, read by shaders: parameters, indirect grids, token ids
    VKF_MEMORY_STAGING,    // host-visible and coherent, for transfers
    VKF_MEMORY_CLASS_COUNT
} vkf__memory_class;

typedef struct vkf__device_plan {
    vkf__caps caps; // as limited, with their traits; a feature is only switched on where `enabled` says so
    vkf__enabled enabled;
    // For vkCreateDevice: the structures of `features` that it needs, a bit for each, and the extensions.
    vkf__features features;
    uint32_t feature_structures;
    const char *extensions[24];
    uint32_t extension_count;
    vkf_queue_priority queue_priority;            // DEFAULT where global_priority is not enabled
    uint32_t memory_type[VKF_MEMORY_CLASS_COUNT]; // preferred memory type per class
    // Offsets of tensors in buffers are multiples of this: a common multiple of the device's alignments, at least 256.
    uint32_t buffer_alignment;
} vkf__device_plan;

// Plans a device that is made here. A device below the minimum gives a status and a message: NO_DEVICE without Vulkan
// 1.1 or a compute queue; UNSUPPORTED below 64 invocations, 4 storage buffers, 16 KiB of shared memory or 32 bytes of
// push constants, or without host-visible coherent memory. A wish that the device cannot fulfil is only a warning.
VKF_MUST_CHECK vkf_status vkf__device_plan_make(const vkf__host *host, const vkf__caps *caps,
                                                const vkf__plan_wishes *wishes, vkf__device_plan *out_plan);

// Plans for a device that the caller made, with features that need no enabling and those that the caller vouches for.
// Warnings follow what the device can do, as above. Also INVALID_ARGUMENT for a queue family that does not exist or
// cannot compute.
VKF_MUST_CHECK vkf_status vkf__device_plan_make_external(const vkf__host *host, const vkf__caps *caps,
                                                         const vkf__plan_wishes *wishes,
                                                         const struct vkf_external_device *external,
                                                         vkf__device_plan *out_plan);

#endif
