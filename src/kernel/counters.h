// What a device counts while a dispatch runs: invocations, by pipeline statistics, and what VK_KHR_performance_query
// has.
#ifndef VKF_KERNEL_COUNTERS_H
#define VKF_KERNEL_COUNTERS_H

#include <vkformer/profile.h>

#include "vk/device.h"

// The counters of a context. Those of pipeline statistics come first.
typedef struct vkf__counters {
    vkf_counter *list;
    uint32_t count;
    uint32_t statistics_count;
    uint32_t *indices;                        // of the others, as the driver numbers them
    VkPerformanceCounterStorageKHR *storages; // of the others
    bool locked;                              // the device's profiling lock is held
} vkf__counters;

// `wanted`: names, or their beginnings, divided by commas; "all": as many as one pass takes, in the driver's order.
// What the device has not is told in a warning. Statuses: OUT_OF_HOST_MEMORY, DEVICE_LOST, VULKAN.
VKF_MUST_CHECK vkf_status vkf__counters_init(vkf__counters *counters, vkf__device *device, const char *wanted);
void vkf__counters_finish(vkf__counters *counters, vkf__device *device);

// The queries of a list of dispatches, one of each kind for each dispatch.
typedef struct vkf__counter_pools {
    VkQueryPool statistics, performance; // null: none
    uint32_t query_count;
} vkf__counter_pools;

VKF_MUST_CHECK vkf_status vkf__counter_pools_init(vkf__counter_pools *pools, vkf__device *device,
                                                  const vkf__counters *counters, uint32_t query_count);
void vkf__counter_pools_finish(vkf__counter_pools *pools, vkf__device *device);

// Recording: once before all dispatches, and around each.
void vkf__counter_pools_record_reset(const vkf__counter_pools *pools, vkf__device *device, VkCommandBuffer commands);
void vkf__counter_pools_record_begin(const vkf__counter_pools *pools, vkf__device *device, VkCommandBuffer commands,
                                     uint32_t query);
void vkf__counter_pools_record_end(const vkf__counter_pools *pools, vkf__device *device, VkCommandBuffer commands,
                                   uint32_t query);

// After a run, and before the next one: performance queries cannot be reset where they are used.
void vkf__counter_pools_reset(const vkf__counter_pools *pools, vkf__device *device);

// Writes counters->count values of a query of the last run. False: the device has not told them.
bool vkf__counter_pools_read(const vkf__counter_pools *pools, vkf__device *device, const vkf__counters *counters,
                             uint32_t query, double *out_values);

#endif
