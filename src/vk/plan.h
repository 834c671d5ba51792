// caps -> plan -> device, the second step: a pure function from what a device can do and what the caller wishes to what
// will be enabled. Testable without a device.
#ifndef VKF_VK_PLAN_H
#define VKF_VK_PLAN_H

#include "vk/caps.h"

typedef struct vkf__plan_wishes {
    bool timestamps;
    bool executable_info; // pipeline statistics, where the driver has them
    bool counters;        // what the device counts while a dispatch runs
} vkf__plan_wishes;

typedef enum vkf__memory_class {
    VKF_MEMORY_DEVICE = 0, // fastest for shaders; mapped too where memory is unified
    VKF_MEMORY_CONTROL,    // host-visible and coherent, read by shaders: parameters, indirect grids, token ids
    VKF_MEMORY_STAGING,    // host-visible and coherent, for transfers
    VKF_MEMORY_CLASS_COUNT
} vkf__memory_class;

// Types of numbers, and places for them, that no kernel of the library makes use of.
typedef struct vkf__other_types {
    bool float64;
    bool int16;
    bool int8;
    bool storage_8bit;
    bool uniform_8bit;
    bool push_8bit;
    bool uniform_16bit;
    bool push_16bit;
} vkf__other_types;

typedef struct vkf__device_plan {
    vkf__caps caps; // as limited; a feature is switched on only where an enable_ below says so
    bool enable_storage_16bit;
    bool enable_buffer_device_address;
    bool enable_float16; // in arithmetic
    bool enable_int64;   // arithmetic on addresses
    bool enable_timestamps;
    bool enable_calibration; // with timestamps
    bool enable_executable_info;
    bool enable_statistics_queries; // the two with counters
    bool enable_performance_queries;
    bool enable_matrix;         // cooperative matrices, with the memory model that their kernels need
    bool enable_full_subgroups; // the rest with them alone
    bool enable_subgroup_size_control;
    bool enable_maintenance4;
    bool enable_integer_dot;
    bool enable_other_types; // for shaders that are not the library's; from Vulkan 1.2 on
    vkf__other_types other;  // known when the device is made
    const char *extensions[16];
    uint32_t extension_count;
    bool unified_memory;                          // DEVICE memory is host-visible: no staging
    uint32_t memory_type[VKF_MEMORY_CLASS_COUNT]; // preferred memory type per class
    // Offsets of tensors within buffers: a common multiple of the device's alignments, at least 256.
    uint32_t buffer_alignment;
} vkf__device_plan;

// A device below the floor gives a status and a message: NO_DEVICE without Vulkan 1.1 or a compute queue, UNSUPPORTED
// below 64 invocations, 4 storage buffers, 16 KiB of shared memory or 32 bytes of push constants, or without
// host-visible coherent memory. A wish that the device cannot fulfil is a warning.
VKF_MUST_CHECK vkf_status vkf__device_plan_make(const vkf__host *host, const vkf__caps *caps,
                                                const vkf__plan_wishes *wishes, vkf__device_plan *out_plan);

#endif
