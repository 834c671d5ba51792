// What a device counts while a dispatch runs: invocations by pipeline statistics, and the counters of
// VK_KHR_performance_query.
#ifndef VKF_KERNEL_COUNTERS_H
#define VKF_KERNEL_COUNTERS_H

#include <vkformer/profile.h>

#include "vk/device.h"

// The counters of a context. The one of pipeline statistics comes first.
typedef struct vkf__counters {
    vkf_counter *list;
    uint32_t count;
    uint32_t statistics_count;
    uint32_t *indices;                        // of the other counters, as the driver numbers them
    VkPerformanceCounterStorageKHR *storages; // of the other counters
    bool locked;                              // the device's profiling lock is held
} vkf__counters;

// `wanted` has names or their prefixes, separated by commas. "all" takes as many as one pass allows, in the driver's
// order. A warning tells what the device does not have. Statuses: OUT_OF_HOST_MEMORY, DEVICE_LOST, VULKAN.
VKF_MUST_CHECK vkf_status vkf__counters_init(vkf__counters *counters, vkf__device *device, const char *wanted);
void vkf__counters_finish(vkf__counters *counters, vkf__device *device);

// The queries for a list of dispatches, one of each kind per dispatch.
typedef struct vkf__counter_pools {
    VkQueryPool statistics, performance; // null: none
    uint32_t query_count;
} vkf__counter_pools;

VKF_MUST_CHECK vkf_status vkf__counter_pools_init(vkf__counter_pools *pools, vkf__device *device,
                                                  const vkf__counters *counters, uint32_t query_count);
void vkf__counter_pools_finish(vkf__counter_pools *pools, vkf__device *device);

// For recording: reset once before all dispatches, then begin and end around each.
void vkf__counter_pools_record_reset(const vkf__counter_pools *pools, vkf__device *device, VkCommandBuffer commands);
void vkf__counter_pools_record_begin(const vkf__counter_pools *pools, vkf__device *device, VkCommandBuffer commands,
                                     uint32_t query);
void vkf__counter_pools_record_end(const vkf__counter_pools *pools, vkf__device *device, VkCommandBuffer commands,
                                   uint32_t query);

// Call this after each run and before the next one: performance queries cannot be reset in the command buffer that uses
// them.
void vkf__counter_pools_reset(const vkf__counter_pools *pools, vkf__device *device);

// Writes counters->count values of a query in the last run. False when the device has not provided them.
bool vkf__counter_pools_read(const vkf__counter_pools *pools, vkf__device *device, const vkf__counters *counters,
                             uint32_t query, double *out_values);

#endif
