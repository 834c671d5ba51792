// The last step of caps -> traits -> plan -> device: a VkDevice (our own, or the caller's), its function table and its
// queue.
#ifndef VKF_VK_DEVICE_H
#define VKF_VK_DEVICE_H

#include <pthread.h>
#include <stdatomic.h>

#include "vk/plan.h"

struct vkf_external_device;

// The functions that are loaded into vkf__device.vk. Every other entry of volk's table is NULL. volk's own loading code
// is not linked: it defines a variable under the name of every Vulkan function. In a program that links this library
// statically and Vulkan directly, the program's calls would land in those variables.
//
// X(name): functions of Vulkan 1.1, which are always there.
#define VKF_DEVICE_FUNCTIONS(X)       \
    X(vkDestroyDevice)                \
    X(vkDeviceWaitIdle)               \
    X(vkGetDeviceQueue)               \
    X(vkQueueSubmit)                  \
    X(vkQueueWaitIdle)                \
    X(vkAllocateMemory)               \
    X(vkFreeMemory)                   \
    X(vkMapMemory)                    \
    X(vkUnmapMemory)                  \
    X(vkFlushMappedMemoryRanges)      \
    X(vkInvalidateMappedMemoryRanges) \
    X(vkCreateBuffer)                 \
    X(vkDestroyBuffer)                \
    X(vkCreateBufferView)             \
    X(vkDestroyBufferView)            \
    X(vkGetBufferMemoryRequirements)  \
    X(vkGetBufferMemoryRequirements2) \
    X(vkBindBufferMemory)             \
    X(vkCreateFence)                  \
    X(vkDestroyFence)                 \
    X(vkResetFences)                  \
    X(vkGetFenceStatus)               \
    X(vkWaitForFences)                \
    X(vkCreateSemaphore)              \
    X(vkDestroySemaphore)             \
    X(vkCreateQueryPool)              \
    X(vkDestroyQueryPool)             \
    X(vkGetQueryPoolResults)          \
    X(vkCreateShaderModule)           \
    X(vkDestroyShaderModule)          \
    X(vkCreatePipelineCache)          \
    X(vkDestroyPipelineCache)         \
    X(vkGetPipelineCacheData)         \
    X(vkMergePipelineCaches)          \
    X(vkCreateComputePipelines)       \
    X(vkDestroyPipeline)              \
    X(vkCreatePipelineLayout)         \
    X(vkDestroyPipelineLayout)        \
    X(vkCreateDescriptorSetLayout)    \
    X(vkDestroyDescriptorSetLayout)   \
    X(vkCreateDescriptorPool)         \
    X(vkDestroyDescriptorPool)        \
    X(vkResetDescriptorPool)          \
    X(vkAllocateDescriptorSets)       \
    X(vkFreeDescriptorSets)           \
    X(vkUpdateDescriptorSets)         \
    X(vkCreateCommandPool)            \
    X(vkDestroyCommandPool)           \
    X(vkResetCommandPool)             \
    X(vkAllocateCommandBuffers)       \
    X(vkFreeCommandBuffers)           \
    X(vkBeginCommandBuffer)           \
    X(vkEndCommandBuffer)             \
    X(vkResetCommandBuffer)           \
    X(vkCmdBindPipeline)              \
    X(vkCmdBindDescriptorSets)        \
    X(vkCmdPushConstants)             \
    X(vkCmdDispatch)                  \
    X(vkCmdDispatchIndirect)          \
    X(vkCmdPipelineBarrier)           \
    X(vkCmdCopyBuffer)                \
    X(vkCmdUpdateBuffer)              \
    X(vkCmdFillBuffer)                \
    X(vkCmdExecuteCommands)           \
    X(vkCmdResetQueryPool)            \
    X(vkCmdBeginQuery)                \
    X(vkCmdEndQuery)                  \
    X(vkCmdWriteTimestamp)

// X(name): functions that may be absent (extensions).
#define VKF_DEVICE_FUNCTIONS_OPTIONAL(X)    \
    X(vkGetBufferDeviceAddress)             \
    X(vkGetBufferDeviceAddressKHR)          \
    X(vkGetCalibratedTimestampsEXT)         \
    X(vkGetMemoryFdKHR)                     \
    X(vkGetMemoryFdPropertiesKHR)           \
    X(vkGetMemoryHostPointerPropertiesEXT)  \
    X(vkResetQueryPool)                     \
    X(vkAcquireProfilingLockKHR)            \
    X(vkReleaseProfilingLockKHR)            \
    X(vkGetPipelineExecutablePropertiesKHR) \
    X(vkGetPipelineExecutableStatisticsKHR) \
    X(vkGetPipelineExecutableInternalRepresentationsKHR)

typedef struct vkf__device {
    const vkf__host *host;
    const vkf__instance *instance;
    vkf__device_plan plan; // a copy of the plan that it was made by; never written
    VkPhysicalDevice physical;
    VkDevice handle;
    bool owned;
    struct VolkDeviceTable vk;           // called as device->vk.vkCreateBuffer(device->handle, ...)
    PFN_vkVoidFunction record_reference; // of a device that runs references, see kernel/reference_dispatch.h; else NULL
    VkQueue queue;
    uint32_t queue_family;
    pthread_mutex_t queue_lock;
    bool queue_lock_ready;
    const struct vkf_external_device *external; // the device's copy; NULL for our own device
    atomic_bool lost;                           // set once any call returned VK_ERROR_DEVICE_LOST
    long process;                               // that made it: a child of fork() has no driver behind its copy
} vkf__device;

// Checks that the caller's handles and locks are there. Status INVALID_ARGUMENT.
VKF_MUST_CHECK vkf_status vkf__external_device_check(const vkf__host *host, const struct vkf_external_device *external);

// Checks that there are an instance and a physical device, for a device that is still to be made.
VKF_MUST_CHECK vkf_status vkf__external_physical_check(const vkf__host *host,
                                                       const struct vkf_external_device *external);

// Makes a device of our own, with what the plan enables and nothing else. On failure *device is zeroed. The device must
// not be moved or copied once it is initialised. Statuses: OUT_OF_HOST_MEMORY, OUT_OF_DEVICE_MEMORY, UNSUPPORTED,
// DEVICE_LOST, VULKAN.
VKF_MUST_CHECK vkf_status vkf__device_init(vkf__device *device, const vkf__instance *instance,
                                           VkPhysicalDevice physical, const vkf__device_plan *plan);
// Adopts the caller's device, with the plan of vkf__device_plan_make_external(). `external` need not outlive the call.
// Also INVALID_ARGUMENT where handles or locks are unusable.
VKF_MUST_CHECK vkf_status vkf__device_init_external(vkf__device *device, const vkf__instance *instance,
                                                    const vkf__device_plan *plan,
                                                    const struct vkf_external_device *external);
// Keeps the plan of a device that is only described: there is no handle, no queue and no function.
// Status OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__device_init_described(vkf__device *device, const vkf__host *host,
                                                     const vkf__device_plan *plan);
// Status NO_DEVICE where the device is only described. `what` is what would run: "buffer weights".
VKF_MUST_CHECK vkf_status vkf__device_check_runs(const vkf__device *device, const char *what);
static inline bool vkf__device_is_described(const vkf__device *device)
{
    return device->handle == VK_NULL_HANDLE;
}
// Waits until the device (for an external device: the queue) is idle, then destroys what is owned.
void vkf__device_finish(vkf__device *device);

// Fills in the table. VULKAN, with a message that names the function, when one of VKF_DEVICE_FUNCTIONS is missing.
VKF_MUST_CHECK vkf_status vkf__volk_table_load(const vkf__host *host, PFN_vkGetDeviceProcAddr get_proc, VkDevice device,
                                               struct VolkDeviceTable *out_table);

// Whether the process is a child of fork(). Nothing of the device may be touched there: the driver's threads are gone,
// and its locks may be held for ever.
bool vkf__device_is_inherited(const vkf__device *device);

// INVALID_ARGUMENT in such a child, with a message that names `function`.
VKF_MUST_CHECK vkf_status vkf__device_check_process(const vkf__device *device, const char *function);

// Does what vkf__vulkan_status() does, and remembers a lost device.
vkf_status vkf__device_status(vkf__device *device, VkResult result, const char *where);

// Serialise access to the queue. Where the device is the caller's, they take and release the caller's lock, too.
void vkf__device_lock_queue(vkf__device *device);
void vkf__device_unlock_queue(vkf__device *device);

// Names a Vulkan object for debuggers and validation messages; silent where debug utils are absent.
void vkf__device_name(vkf__device *device, VkObjectType type, uint64_t handle, const char *name);

// Makes a Vulkan call. On failure goes to fail with the status, or returns it.
#define VKF_VK(device, call) VKF_TRY(vkf__device_status((device), (call), __func__))
#define VKF_VK_OR_RETURN(device, call) VKF_RETURN_IF_ERROR(vkf__device_status((device), (call), __func__))

// The same for a call that makes *handle, which is reset on failure: the output of a failing call is undefined.
#define VKF_VK_CREATE(device, call, handle)                      \
    do {                                                         \
        status = vkf__device_status((device), (call), __func__); \
        if (status != VKF_OK) {                                  \
            *(handle) = VK_NULL_HANDLE;                          \
            goto fail;                                           \
        }                                                        \
    } while (0)

#endif
