// Chooses the counters that a device offers, and records and reads their queries.
#include "kernel/counters.h"

#include <stdio.h>
#include <string.h>

// Counters that are read at a time. Drivers have some dozens; any beyond this number are left out.
#define MAX_COUNTERS 256u

#define LOCK_TIMEOUT_NS UINT64_C(1000000000)

typedef struct driver_counters {
    uint32_t count;
    VkPerformanceCounterKHR counters[MAX_COUNTERS];
    VkPerformanceCounterDescriptionKHR texts[MAX_COUNTERS];
} driver_counters;

static const char *unit_name(VkPerformanceCounterUnitKHR unit)
{
    static const char *const names[] = {"", "%", "ns", "bytes", "bytes/s", "K", "W", "V", "A", "Hz", "cycles"};
    return (uint32_t)unit < sizeof names / sizeof names[0] ? names[unit] : "";
}

// Whether a comma-separated list has the name or a prefix of it.
static bool is_wanted(const char *wanted, const char *name)
{
    if (strcmp(wanted, "all") == 0)
        return true;
    while (*wanted) {
        size_t length = strcspn(wanted, ",");
        if (length > 0 && strncmp(wanted, name, length) == 0)
            return true;
        wanted += length + (wanted[length] == ',');
    }
    return false;
}

static vkf_status list_driver(vkf__device *device, driver_counters *out_driver)
{
    const vkf__instance *instance = device->instance;
    PFN_vkEnumeratePhysicalDeviceQueueFamilyPerformanceQueryCountersKHR list =
        (PFN_vkEnumeratePhysicalDeviceQueueFamilyPerformanceQueryCountersKHR)instance->get_proc(
            instance->handle, "vkEnumeratePhysicalDeviceQueueFamilyPerformanceQueryCountersKHR");
    out_driver->count = list ? MAX_COUNTERS : 0;
    for (uint32_t i = 0; i < out_driver->count; i++) {
        out_driver->counters[i].sType = VK_STRUCTURE_TYPE_PERFORMANCE_COUNTER_KHR;
        out_driver->texts[i].sType = VK_STRUCTURE_TYPE_PERFORMANCE_COUNTER_DESCRIPTION_KHR;
    }
    VkResult result =
        list ? list(device->physical, device->queue_family, &out_driver->count, out_driver->counters, out_driver->texts)
             : VK_SUCCESS;
    return result == VK_INCOMPLETE ? VKF_OK : vkf__device_status(device, result, __func__);
}

static VkQueryPoolPerformanceCreateInfoKHR performance_info(const vkf__device *device, const vkf__counters *counters)
{
    return (VkQueryPoolPerformanceCreateInfoKHR){
        .sType = VK_STRUCTURE_TYPE_QUERY_POOL_PERFORMANCE_CREATE_INFO_KHR,
        .queueFamilyIndex = device->queue_family,
        .counterIndexCount = counters->count - counters->statistics_count,
        .pCounterIndices = counters->indices,
    };
}

// Whether one run of the work is enough for all counters so far.
static bool takes_one_pass(const vkf__device *device, const vkf__counters *counters)
{
    const vkf__instance *instance = device->instance;
    PFN_vkGetPhysicalDeviceQueueFamilyPerformanceQueryPassesKHR passes_of =
        (PFN_vkGetPhysicalDeviceQueueFamilyPerformanceQueryPassesKHR)instance->get_proc(
            instance->handle, "vkGetPhysicalDeviceQueueFamilyPerformanceQueryPassesKHR");
    const VkQueryPoolPerformanceCreateInfoKHR info = performance_info(device, counters);
    uint32_t passes = 0;
    if (passes_of)
        passes_of(device->physical, &info, &passes);
    return passes == 1;
}

static void add(vkf__counters *counters, const driver_counters *driver, uint32_t index)
{
    uint32_t place = counters->count - counters->statistics_count;
    vkf_counter *counter = &counters->list[counters->count++];
    counters->indices[place] = index;
    counters->storages[place] = driver->counters[index].storage;
    snprintf(counter->name, sizeof counter->name, "%.63s", driver->texts[index].name);
    snprintf(counter->category, sizeof counter->category, "%.63s", driver->texts[index].category);
    snprintf(counter->description, sizeof counter->description, "%.255s", driver->texts[index].description);
    counter->unit = unit_name(driver->counters[index].unit);
}

// Adds the wanted counters that count between two commands. A counter that would take another pass is left out.
static void choose(vkf__counters *counters, const vkf__device *device, const driver_counters *driver,
                   const char *wanted)
{
    for (uint32_t i = 0; i < driver->count; i++) {
        if (driver->counters[i].scope != VK_PERFORMANCE_COUNTER_SCOPE_COMMAND_KHR ||
            !is_wanted(wanted, driver->texts[i].name))
            continue;
        add(counters, driver, i);
        if (takes_one_pass(device, counters))
            continue;
        counters->count--;
        vkf__log(device->host, VKF_SEVERITY_INFO, "counter '%.63s' would take another pass, and is left out",
                 driver->texts[i].name);
    }
}

static bool lock(vkf__counters *counters, vkf__device *device)
{
    const VkAcquireProfilingLockInfoKHR info = {
        .sType = VK_STRUCTURE_TYPE_ACQUIRE_PROFILING_LOCK_INFO_KHR,
        .timeout = LOCK_TIMEOUT_NS,
    };
    counters->locked = device->vk.vkAcquireProfilingLockKHR &&
                       device->vk.vkAcquireProfilingLockKHR(device->handle, &info) == VK_SUCCESS;
    if (!counters->locked)
        vkf__log(
            device->host, VKF_SEVERITY_WARNING,
            "%s: the profiling lock cannot be had, so that nothing but invocations is counted: end other profilers",
            device->plan.caps.name);
    return counters->locked;
}

static vkf_status add_performance(vkf__counters *counters, vkf__device *device, const char *wanted)
{
    vkf_status status = VKF_OK;
    driver_counters *driver = NULL;
    VKF_ALLOC(device->host, driver, 1);
    VKF_TRY(list_driver(device, driver));
    choose(counters, device, driver, wanted);
    if (counters->count > counters->statistics_count && !lock(counters, device))
        counters->count = counters->statistics_count;
fail:
    vkf__free(device->host, driver);
    return status;
}

vkf_status vkf__counters_init(vkf__counters *counters, vkf__device *device, const char *wanted)
{
    static const vkf_counter invocations = {
        .name = "compute shader invocations",
        .category = "pipeline statistics",
        .description = "invocations of the compute shader",
        .unit = "",
    };
    vkf_status status = VKF_OK;
    *counters = (vkf__counters){0};
    VKF_ALLOC(device->host, counters->list, MAX_COUNTERS + 1);
    VKF_ALLOC(device->host, counters->indices, MAX_COUNTERS);
    VKF_ALLOC(device->host, counters->storages, MAX_COUNTERS);
    if (device->plan.enabled.statistics_queries && is_wanted(wanted, invocations.name))
        counters->list[counters->count++] = invocations;
    counters->statistics_count = counters->count;
    if (device->plan.enabled.performance_queries)
        VKF_TRY(add_performance(counters, device, wanted));
    if (counters->count == 0)
        vkf__log(device->host, VKF_SEVERITY_WARNING, "%s has no counter like '%.100s'", device->plan.caps.name, wanted);
    return VKF_OK;
fail:
    vkf__counters_finish(counters, device);
    return status;
}

void vkf__counters_finish(vkf__counters *counters, vkf__device *device)
{
    if (counters->locked)
        device->vk.vkReleaseProfilingLockKHR(device->handle);
    vkf__free(device->host, counters->list);
    vkf__free(device->host, counters->indices);
    vkf__free(device->host, counters->storages);
    *counters = (vkf__counters){0};
}

vkf_status vkf__counter_pools_init(vkf__counter_pools *pools, vkf__device *device, const vkf__counters *counters,
                                   uint32_t query_count)
{
    vkf_status status = VKF_OK;
    const VkQueryPoolPerformanceCreateInfoKHR performance = performance_info(device, counters);
    VkQueryPoolCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
        .queryType = VK_QUERY_TYPE_PIPELINE_STATISTICS,
        .queryCount = query_count,
        .pipelineStatistics = VK_QUERY_PIPELINE_STATISTIC_COMPUTE_SHADER_INVOCATIONS_BIT,
    };
    *pools = (vkf__counter_pools){.query_count = query_count};
    if (counters->statistics_count > 0)
        VKF_VK_CREATE(device, device->vk.vkCreateQueryPool(device->handle, &info, NULL, &pools->statistics),
                      &pools->statistics);
    if (counters->count > counters->statistics_count) {
        info.pNext = &performance;
        info.queryType = VK_QUERY_TYPE_PERFORMANCE_QUERY_KHR;
        info.pipelineStatistics = 0;
        VKF_VK_CREATE(device, device->vk.vkCreateQueryPool(device->handle, &info, NULL, &pools->performance),
                      &pools->performance);
        vkf__counter_pools_reset(pools, device);
    }
    return VKF_OK;
fail:
    vkf__counter_pools_finish(pools, device);
    return status;
}

void vkf__counter_pools_finish(vkf__counter_pools *pools, vkf__device *device)
{
    if (pools->statistics != VK_NULL_HANDLE)
        device->vk.vkDestroyQueryPool(device->handle, pools->statistics, NULL);
    if (pools->performance != VK_NULL_HANDLE)
        device->vk.vkDestroyQueryPool(device->handle, pools->performance, NULL);
    *pools = (vkf__counter_pools){0};
}

void vkf__counter_pools_record_reset(const vkf__counter_pools *pools, vkf__device *device, VkCommandBuffer commands)
{
    if (pools->statistics != VK_NULL_HANDLE)
        device->vk.vkCmdResetQueryPool(commands, pools->statistics, 0, pools->query_count);
}

void vkf__counter_pools_record_begin(const vkf__counter_pools *pools, vkf__device *device, VkCommandBuffer commands,
                                     uint32_t query)
{
    if (pools->performance != VK_NULL_HANDLE)
        device->vk.vkCmdBeginQuery(commands, pools->performance, query, 0);
    if (pools->statistics != VK_NULL_HANDLE)
        device->vk.vkCmdBeginQuery(commands, pools->statistics, query, 0);
}

void vkf__counter_pools_record_end(const vkf__counter_pools *pools, vkf__device *device, VkCommandBuffer commands,
                                   uint32_t query)
{
    if (pools->statistics != VK_NULL_HANDLE)
        device->vk.vkCmdEndQuery(commands, pools->statistics, query);
    if (pools->performance != VK_NULL_HANDLE)
        device->vk.vkCmdEndQuery(commands, pools->performance, query);
}

void vkf__counter_pools_reset(const vkf__counter_pools *pools, vkf__device *device)
{
    if (pools->performance != VK_NULL_HANDLE)
        device->vk.vkResetQueryPool(device->handle, pools->performance, 0, pools->query_count);
}

static double value_of(VkPerformanceCounterStorageKHR storage, const VkPerformanceCounterResultKHR *result)
{
    switch (storage) {
    case VK_PERFORMANCE_COUNTER_STORAGE_INT32_KHR:
        return result->int32;
    case VK_PERFORMANCE_COUNTER_STORAGE_INT64_KHR:
        return (double)result->int64;
    case VK_PERFORMANCE_COUNTER_STORAGE_UINT32_KHR:
        return result->uint32;
    case VK_PERFORMANCE_COUNTER_STORAGE_UINT64_KHR:
        return (double)result->uint64;
    case VK_PERFORMANCE_COUNTER_STORAGE_FLOAT32_KHR:
        return (double)result->float32;
    default:
        return result->float64;
    }
}

static bool read_pool(vkf__device *device, VkQueryPool pool, uint32_t query, size_t size_bytes, void *out_data,
                      VkQueryResultFlags flags)
{
    return device->vk.vkGetQueryPoolResults(device->handle, pool, query, 1, size_bytes, out_data, size_bytes, flags) ==
           VK_SUCCESS;
}

bool vkf__counter_pools_read(const vkf__counter_pools *pools, vkf__device *device, const vkf__counters *counters,
                             uint32_t query, double *out_values)
{
    VkPerformanceCounterResultKHR results[MAX_COUNTERS];
    uint32_t first = counters->statistics_count, others = counters->count - first;
    uint64_t invocations = 0;
    if (first > 0 &&
        !read_pool(device, pools->statistics, query, sizeof invocations, &invocations, VK_QUERY_RESULT_64_BIT))
        return false;
    if (others > 0 && !read_pool(device, pools->performance, query, others * sizeof results[0], results, 0))
        return false;
    if (first > 0)
        out_values[0] = (double)invocations;
    for (uint32_t i = 0; i < others; i++)
        out_values[first + i] = value_of(counters->storages[i], &results[i]);
    return counters->count > 0;
}
