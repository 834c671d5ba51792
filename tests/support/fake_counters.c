// Adds made-up performance counters to the functions of a driver.
#include "fake_counters.h"

#include <stdio.h>
#include <string.h>

#include "base/shared_library.h"

enum { COUNTERS = 4, MAX_POOLS = 64 };

#define FUNCTIONS(X)                        \
    X(vkGetDeviceProcAddr)                  \
    X(vkEnumerateDeviceExtensionProperties) \
    X(vkGetPhysicalDeviceFeatures2)         \
    X(vkCreateDevice)                       \
    X(vkCreateQueryPool)                    \
    X(vkDestroyQueryPool)                   \
    X(vkCmdBeginQuery)                      \
    X(vkCmdEndQuery)                        \
    X(vkResetQueryPool)                     \
    X(vkGetQueryPoolResults)                \
    X(vkQueueSubmit)

// Queries of the made-up kind; timestamps stand in for them, which nobody writes.
typedef struct pool {
    VkQueryPool handle;
    VkCommandBuffer recorded; // the last that has queries of it
    bool spent;               // submitted, or made, since they were reset
} pool;

// A Vulkan function has no argument for a test's own data, so the state is one for the process.
static struct {
    PFN_vkGetInstanceProcAddr get_instance_proc;
    struct {
#define MEMBER(name) PFN_##name name;
        FUNCTIONS(MEMBER)
#undef MEMBER
    } real;
    pool pools[MAX_POOLS];
    size_t pool_count;
    bool refuses;
    int locks;
    const char *misuse;
} fake;

static pool *find_pool(VkQueryPool handle)
{
    for (size_t i = 0; i < fake.pool_count; i++)
        if (fake.pools[i].handle == handle)
            return &fake.pools[i];
    return NULL;
}

static VKAPI_ATTR VkResult VKAPI_CALL list_counters(VkPhysicalDevice device, uint32_t family, uint32_t *count,
                                                    VkPerformanceCounterKHR *counters,
                                                    VkPerformanceCounterDescriptionKHR *texts)
{
    static const VkPerformanceCounterKHR all[COUNTERS] = {
        {.scope = VK_PERFORMANCE_COUNTER_SCOPE_COMMAND_BUFFER_KHR},
        {.unit = VK_PERFORMANCE_COUNTER_UNIT_CYCLES_KHR,
         .scope = VK_PERFORMANCE_COUNTER_SCOPE_COMMAND_KHR,
         .storage = VK_PERFORMANCE_COUNTER_STORAGE_INT64_KHR},
        {.scope = VK_PERFORMANCE_COUNTER_SCOPE_COMMAND_KHR},
        {.unit = VK_PERFORMANCE_COUNTER_UNIT_PERCENTAGE_KHR,
         .scope = VK_PERFORMANCE_COUNTER_SCOPE_COMMAND_KHR,
         .storage = VK_PERFORMANCE_COUNTER_STORAGE_FLOAT32_KHR},
    };
    static const char *const names[COUNTERS] = {"Frames", "Cycles", "Second pass", "Busy"};
    (void)device;
    (void)family;
    *count = *count < COUNTERS ? *count : COUNTERS;
    for (uint32_t i = 0; i < *count; i++) {
        counters[i] = all[i];
        (void)snprintf(texts[i].name, sizeof texts[i].name, "%s", names[i]);
        (void)snprintf(texts[i].category, sizeof texts[i].category, "made up");
    }
    return VK_SUCCESS;
}

static VKAPI_ATTR void VKAPI_CALL count_passes(VkPhysicalDevice device, const VkQueryPoolPerformanceCreateInfoKHR *info,
                                               uint32_t *passes)
{
    (void)device;
    *passes = 1;
    for (uint32_t i = 0; i < info->counterIndexCount; i++)
        *passes += info->pCounterIndices[i] == 2;
}

static VKAPI_ATTR VkResult VKAPI_CALL fake_vkEnumerateDeviceExtensionProperties(VkPhysicalDevice device,
                                                                                const char *layer, uint32_t *count,
                                                                                VkExtensionProperties *properties)
{
    uint32_t capacity = *count, real = capacity > 0 ? capacity - 1 : 0;
    VkResult result =
        fake.real.vkEnumerateDeviceExtensionProperties(device, layer, properties ? &real : count, properties);
    if (result != VK_SUCCESS)
        return result;
    if (!properties) {
        ++*count;
        return result;
    }
    (void)snprintf(properties[real].extensionName, VK_MAX_EXTENSION_NAME_SIZE, "%s",
                   VK_KHR_PERFORMANCE_QUERY_EXTENSION_NAME);
    *count = real + 1;
    return result;
}

static VKAPI_ATTR void VKAPI_CALL fake_vkGetPhysicalDeviceFeatures2(VkPhysicalDevice device,
                                                                    VkPhysicalDeviceFeatures2 *features)
{
    fake.real.vkGetPhysicalDeviceFeatures2(device, features);
    for (VkBaseOutStructure *link = features->pNext; link; link = link->pNext) {
        void *structure = link;
        if (link->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PERFORMANCE_QUERY_FEATURES_KHR)
            ((VkPhysicalDevicePerformanceQueryFeaturesKHR *)structure)->performanceCounterQueryPools = VK_TRUE;
    }
}

// Without what the driver does not have.
static VKAPI_ATTR VkResult VKAPI_CALL fake_vkCreateDevice(VkPhysicalDevice physical, const VkDeviceCreateInfo *info,
                                                          const VkAllocationCallbacks *callbacks, VkDevice *device)
{
    VkDeviceCreateInfo less = *info;
    const char *names[32];
    less.enabledExtensionCount = 0;
    for (uint32_t i = 0; i < info->enabledExtensionCount; i++)
        if (strcmp(info->ppEnabledExtensionNames[i], VK_KHR_PERFORMANCE_QUERY_EXTENSION_NAME) != 0)
            names[less.enabledExtensionCount++] = info->ppEnabledExtensionNames[i];
    less.ppEnabledExtensionNames = names;
    VkBaseOutStructure *before = (VkBaseOutStructure *)&less;
    while (before->pNext)
        if (before->pNext->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PERFORMANCE_QUERY_FEATURES_KHR)
            before->pNext = before->pNext->pNext;
        else
            before = before->pNext;
    return fake.real.vkCreateDevice(physical, &less, callbacks, device);
}

static VKAPI_ATTR VkResult VKAPI_CALL fake_vkCreateQueryPool(VkDevice device, const VkQueryPoolCreateInfo *info,
                                                             const VkAllocationCallbacks *callbacks, VkQueryPool *out)
{
    VkQueryPoolCreateInfo stand_in = *info;
    bool made_up = info->queryType == VK_QUERY_TYPE_PERFORMANCE_QUERY_KHR;
    if (made_up) {
        stand_in.pNext = NULL;
        stand_in.queryType = VK_QUERY_TYPE_TIMESTAMP;
    }
    VkResult result = fake.real.vkCreateQueryPool(device, &stand_in, callbacks, out);
    if (made_up && result == VK_SUCCESS && fake.pool_count < MAX_POOLS)
        fake.pools[fake.pool_count++] = (pool){.handle = *out, .spent = true};
    return result;
}

static VKAPI_ATTR void VKAPI_CALL fake_vkDestroyQueryPool(VkDevice device, VkQueryPool handle,
                                                          const VkAllocationCallbacks *callbacks)
{
    pool *found = find_pool(handle);
    if (found)
        *found = fake.pools[--fake.pool_count];
    fake.real.vkDestroyQueryPool(device, handle, callbacks);
}

static VKAPI_ATTR void VKAPI_CALL fake_vkCmdBeginQuery(VkCommandBuffer commands, VkQueryPool handle, uint32_t query,
                                                       VkQueryControlFlags flags)
{
    pool *found = find_pool(handle);
    if (!found) {
        fake.real.vkCmdBeginQuery(commands, handle, query, flags);
        return;
    }
    found->recorded = commands;
    if (fake.locks == 0)
        fake.misuse = "queries are recorded without the profiling lock";
}

static VKAPI_ATTR void VKAPI_CALL fake_vkCmdEndQuery(VkCommandBuffer commands, VkQueryPool handle, uint32_t query)
{
    if (!find_pool(handle))
        fake.real.vkCmdEndQuery(commands, handle, query);
}

static VKAPI_ATTR void VKAPI_CALL fake_vkResetQueryPool(VkDevice device, VkQueryPool handle, uint32_t first,
                                                        uint32_t count)
{
    pool *found = find_pool(handle);
    if (found)
        found->spent = false;
    else
        fake.real.vkResetQueryPool(device, handle, first, count);
}

static VKAPI_ATTR VkResult VKAPI_CALL fake_vkGetQueryPoolResults(VkDevice device, VkQueryPool handle, uint32_t first,
                                                                 uint32_t count, size_t size, void *data,
                                                                 VkDeviceSize stride, VkQueryResultFlags flags)
{
    VkPerformanceCounterResultKHR *results = data;
    if (!find_pool(handle))
        return fake.real.vkGetQueryPoolResults(device, handle, first, count, size, data, stride, flags);
    if ((flags & VK_QUERY_RESULT_64_BIT) || count != 1)
        fake.misuse = "results are read as numbers of 64 bits, or several at a time";
    for (size_t i = 0; i < size / sizeof *results; i++)
        if (i == 0)
            results[i].int64 = (int64_t)FAKE_CYCLES(first);
        else
            results[i].float32 = (float)FAKE_BUSY;
    return VK_SUCCESS;
}

static bool takes_part(const pool *queries, uint32_t count, const VkSubmitInfo *infos)
{
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = 0; k < infos[i].commandBufferCount; k++)
            if (infos[i].pCommandBuffers[k] == queries->recorded)
                return true;
    return false;
}

static VKAPI_ATTR VkResult VKAPI_CALL fake_vkQueueSubmit(VkQueue queue, uint32_t count, const VkSubmitInfo *infos,
                                                         VkFence fence)
{
    for (size_t i = 0; i < fake.pool_count; i++) {
        if (!takes_part(&fake.pools[i], count, infos))
            continue;
        if (fake.pools[i].spent)
            fake.misuse = "queries are used again without having been reset";
        fake.pools[i].spent = true;
    }
    return fake.real.vkQueueSubmit(queue, count, infos, fence);
}

static VKAPI_ATTR VkResult VKAPI_CALL acquire_lock(VkDevice device, const VkAcquireProfilingLockInfoKHR *info)
{
    (void)device;
    (void)info;
    fake.locks += !fake.refuses;
    return fake.refuses ? VK_TIMEOUT : VK_SUCCESS;
}

static VKAPI_ATTR void VKAPI_CALL release_lock(VkDevice device)
{
    (void)device;
    fake.locks--;
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL fake_vkGetDeviceProcAddr(VkDevice device, const char *name);

// Keeps the real function and hands out the wrapper, or one of those that the driver has not.
static PFN_vkVoidFunction wrap(const char *name, PFN_vkVoidFunction real)
{
    const struct {
        const char *name;
        PFN_vkVoidFunction function;
    } added[] = {
        {"vkEnumeratePhysicalDeviceQueueFamilyPerformanceQueryCountersKHR", (PFN_vkVoidFunction)list_counters},
        {"vkGetPhysicalDeviceQueueFamilyPerformanceQueryPassesKHR", (PFN_vkVoidFunction)count_passes},
        {"vkAcquireProfilingLockKHR", (PFN_vkVoidFunction)acquire_lock},
        {"vkReleaseProfilingLockKHR", (PFN_vkVoidFunction)release_lock},
    };
    for (size_t i = 0; i < sizeof added / sizeof added[0]; i++)
        if (strcmp(name, added[i].name) == 0)
            return added[i].function;
#define FIND(function)                              \
    if (real && strcmp(name, #function) == 0) {     \
        fake.real.function = (PFN_##function)real;  \
        return (PFN_vkVoidFunction)fake_##function; \
    }
    FUNCTIONS(FIND)
#undef FIND
    return real;
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL fake_vkGetDeviceProcAddr(VkDevice device, const char *name)
{
    return wrap(name, fake.real.vkGetDeviceProcAddr(device, name));
}

vkf_void_function fake_counters_get_proc(void *instance, const char *name)
{
    if (!fake.get_instance_proc) {
        const char *why;
        void *library = vkf__library_open("libvulkan.so.1", &why);
        if (library)
            fake.get_instance_proc = (PFN_vkGetInstanceProcAddr)vkf__library_find(library, "vkGetInstanceProcAddr");
    }
    if (!fake.get_instance_proc)
        return NULL;
    return (vkf_void_function)wrap(name, fake.get_instance_proc(instance, name));
}

void fake_counters_lockable(bool lockable)
{
    fake.refuses = !lockable;
}

int fake_counters_locks(void)
{
    return fake.locks;
}

const char *fake_counters_misuse(void)
{
    return fake.misuse;
}
