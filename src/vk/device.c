// Makes the library's VkDevice or adopts the caller's, and guards its queue.
#include "vk/device.h"

#include <assert.h>

#include <vkformer/vulkan.h>

#include "base/process.h"

static const VkQueueGlobalPriorityKHR priorities[VKF_QUEUE_PRIORITY_COUNT] = {
    [VKF_QUEUE_PRIORITY_LOW] = VK_QUEUE_GLOBAL_PRIORITY_LOW_KHR,
    [VKF_QUEUE_PRIORITY_MEDIUM] = VK_QUEUE_GLOBAL_PRIORITY_MEDIUM_KHR,
    [VKF_QUEUE_PRIORITY_HIGH] = VK_QUEUE_GLOBAL_PRIORITY_HIGH_KHR,
    [VKF_QUEUE_PRIORITY_REALTIME] = VK_QUEUE_GLOBAL_PRIORITY_REALTIME_KHR,
};

static VkResult call_create(vkf__device *device, vkf_queue_priority global)
{
    const vkf__device_plan *plan = &device->plan;
    const float priority = 1.0F;
    vkf__features features = plan->features; // a copy, because chaining writes to it
    const VkDeviceQueueGlobalPriorityCreateInfoKHR global_priority = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_GLOBAL_PRIORITY_CREATE_INFO_KHR,
        .globalPriority = priorities[global],
    };
    const VkDeviceQueueCreateInfo queue = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
        .pNext = global != VKF_QUEUE_PRIORITY_DEFAULT ? &global_priority : NULL,
        .queueFamilyIndex = plan->caps.queue_family_index,
        .queueCount = 1,
        .pQueuePriorities = &priority,
    };
    const VkDeviceCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
        .pNext = vkf__features_chain(&features, plan->feature_structures),
        .queueCreateInfoCount = 1,
        .pQueueCreateInfos = &queue,
        .pEnabledFeatures = &features.head.features,
        .enabledExtensionCount = plan->extension_count,
        .ppEnabledExtensionNames = plan->extensions,
    };
    return device->instance->vkCreateDevice(device->physical, &info, NULL, &device->handle);
}

// Makes device->handle with what the plan enables and nothing else.
static vkf_status create_own(vkf__device *device)
{
    const vkf__device_plan *plan = &device->plan;
    VkResult result = call_create(device, plan->queue_priority);
    // Beside NOT_PERMITTED, drivers give INITIALIZATION_FAILED for a priority that they do not have.
    const bool refused = result == VK_ERROR_NOT_PERMITTED_KHR || result == VK_ERROR_INITIALIZATION_FAILED;
    if (refused && plan->queue_priority != VKF_QUEUE_PRIORITY_DEFAULT) {
        vkf__log(device->host, VKF_SEVERITY_WARNING,
                 "%s: the system does not permit this priority of queues: the default is taken", plan->caps.name);
        result = call_create(device, VKF_QUEUE_PRIORITY_DEFAULT);
    }
    if (result == VK_ERROR_EXTENSION_NOT_PRESENT || result == VK_ERROR_FEATURE_NOT_PRESENT)
        return vkf__fail(device->host, VKF_ERROR_UNSUPPORTED,
                         "vkCreateDevice: the driver of %s refuses a feature or extension that it offered: update the "
                         "driver, or mask the feature",
                         plan->caps.name);
    if (result != VK_SUCCESS)
        return vkf__device_status(device, result, "vkCreateDevice");
    device->owned = true;
    device->queue_family = plan->caps.queue_family_index;
    return VKF_OK;
}

vkf_status vkf__external_device_check(const vkf__host *host, const vkf_external_device *external)
{
    const char *missing = !external->instance          ? "instance"
                          : !external->physical_device ? "physical_device"
                          : !external->device          ? "device"
                          : !external->queue           ? "queue"
                                                       : NULL;
    if (missing)
        return vkf__fail(
            host, VKF_ERROR_INVALID_ARGUMENT,
            "external device: %s is NULL: give the instance, physical device, device and queue that belong "
            "together",
            missing);
    for (uint32_t i = 0; i < external->extension_count; i++)
        if (!external->extensions || !external->extensions[i])
            return vkf__fail(host, VKF_ERROR_INVALID_ARGUMENT,
                             "external device: extension_count is %u, but extensions or one of them is NULL",
                             external->extension_count);
    if (!external->lock_queue != !external->unlock_queue)
        return vkf__fail(host, VKF_ERROR_INVALID_ARGUMENT,
                         "external device: give both lock_queue and unlock_queue, or neither");
    return VKF_OK;
}

vkf_status vkf__external_physical_check(const vkf__host *host, const vkf_external_device *external)
{
    if (external && external->instance && external->physical_device)
        return VKF_OK;
    return vkf__fail(host, VKF_ERROR_INVALID_ARGUMENT,
                     "device setup: give external with an instance and the physical device to make a device of");
}

static vkf_status adopt_external(vkf__device *device, const vkf_external_device *external)
{
    vkf_external_device *copy = NULL;

    VKF_ALLOC_OR_RETURN(device->host, copy, 1);
    *copy = *external;
    copy->features = NULL; // the plan has what matters, and what these point to need not live on
    copy->extensions = NULL;
    copy->extension_count = 0;
    device->external = copy;
    device->handle = external->device;
    device->queue = external->queue;
    device->queue_family = external->queue_family_index;
    return VKF_OK;
}

// Sets up what both kinds of device need before there is a handle.
static vkf_status begin(vkf__device *device)
{
    const bool watched = vkf__watch_forks();
    device->process = vkf__this_process();
    if (!watched || pthread_mutex_init(&device->queue_lock, NULL) != 0)
        return vkf__fail(device->host, VKF_ERROR_OUT_OF_HOST_MEMORY,
                         "the system has no room for another mutex or fork handler");
    device->queue_lock_ready = true;
    return VKF_OK;
}

static void name_queue(vkf__device *device)
{
    vkf__device_name(device, VK_OBJECT_TYPE_QUEUE, (uint64_t)(uintptr_t)device->queue, "vkformer queue");
}

vkf_status vkf__device_init(vkf__device *device, const vkf__instance *instance, VkPhysicalDevice physical,
                            const vkf__device_plan *plan)
{
    vkf_status status = VKF_OK;
    *device = (vkf__device){.host = instance->host, .instance = instance, .physical = physical, .plan = *plan};
    VKF_TRY(begin(device));
    VKF_TRY(create_own(device));
    VKF_TRY(vkf__volk_table_load(device->host, instance->vkGetDeviceProcAddr, device->handle, &device->vk));
    device->vk.vkGetDeviceQueue(device->handle, device->queue_family, 0, &device->queue);
    name_queue(device);
    return VKF_OK;
fail:
    vkf__device_finish(device);
    return status;
}

vkf_status vkf__device_init_external(vkf__device *device, const vkf__instance *instance, const vkf__device_plan *plan,
                                     const vkf_external_device *external)
{
    vkf_status status = VKF_OK;
    *device = (vkf__device){
        .host = instance->host, .instance = instance, .physical = external->physical_device, .plan = *plan};
    VKF_TRY(begin(device));
    VKF_TRY(vkf__external_device_check(device->host, external));
    assert(plan->caps.queue_family_index == external->queue_family_index); // the plan was made for this device
    VKF_TRY(adopt_external(device, external));
    VKF_TRY(vkf__volk_table_load(device->host, instance->vkGetDeviceProcAddr, device->handle, &device->vk));
    name_queue(device);
    return VKF_OK;
fail:
    vkf__device_finish(device);
    return status;
}

vkf_status vkf__device_init_described(vkf__device *device, const vkf__host *host, const vkf__device_plan *plan)
{
    *device = (vkf__device){.host = host, .plan = *plan};
    vkf_status status = begin(device);
    if (status != VKF_OK)
        vkf__device_finish(device);
    return status;
}

vkf_status vkf__device_check_runs(const vkf__device *device, const char *what)
{
    return vkf__device_is_described(device)
               ? vkf__fail(device->host, VKF_ERROR_NO_DEVICE, "%s: this context describes %s and runs nothing", what,
                           device->plan.caps.name)
               : VKF_OK;
}

void vkf__device_finish(vkf__device *device)
{
    // Idle or lost, everything is destroyed, so the results of waiting do not matter.
    if (device->owned) {
        // Looked up again, because the table may not have been loaded.
        PFN_vkDestroyDevice destroy =
            (PFN_vkDestroyDevice)device->instance->vkGetDeviceProcAddr(device->handle, "vkDestroyDevice");
        if (device->vk.vkDeviceWaitIdle)
            (void)device->vk.vkDeviceWaitIdle(device->handle);
        if (destroy)
            destroy(device->handle, NULL);
    } else if (device->external && device->vk.vkQueueWaitIdle) {
        vkf__device_lock_queue(device);
        (void)device->vk.vkQueueWaitIdle(device->queue);
        vkf__device_unlock_queue(device);
    }
    if (device->queue_lock_ready)
        (void)pthread_mutex_destroy(&device->queue_lock);
    if (device->host)
        vkf__free(device->host, (void *)(uintptr_t)device->external);
    *device = (vkf__device){0};
}

bool vkf__device_is_inherited(const vkf__device *device)
{
    return device->process != vkf__this_process();
}

vkf_status vkf__device_check_process(const vkf__device *device, const char *function)
{
    if (!vkf__device_is_inherited(device))
        return VKF_OK;
    return vkf__fail(
        device->host, VKF_ERROR_INVALID_ARGUMENT,
        "%s: the context was made in process %ld, and this is %ld: a child of fork() makes a context of its "
        "own",
        function, device->process, vkf__process_id());
}

vkf_status vkf__device_status(vkf__device *device, VkResult result, const char *where)
{
    if (result == VK_ERROR_DEVICE_LOST)
        device->lost = true;
    return vkf__vulkan_status(device->host, result, where);
}

// A thread that holds our lock may wait for the caller's, never the other way round: the caller does not know ours.
void vkf__device_lock_queue(vkf__device *device)
{
    (void)pthread_mutex_lock(&device->queue_lock);
    if (device->external && device->external->lock_queue)
        device->external->lock_queue(device->external->lock_user);
}

void vkf__device_unlock_queue(vkf__device *device)
{
    if (device->external && device->external->unlock_queue)
        device->external->unlock_queue(device->external->lock_user);
    (void)pthread_mutex_unlock(&device->queue_lock);
}

void vkf__device_name(vkf__device *device, VkObjectType type, uint64_t handle, const char *name)
{
    const VkDebugUtilsObjectNameInfoEXT info = {
        .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_NAME_INFO_EXT,
        .objectType = type,
        .objectHandle = handle,
        .pObjectName = name,
    };
    if (device->instance->vkSetDebugUtilsObjectNameEXT)
        (void)device->instance->vkSetDebugUtilsObjectNameEXT(device->handle, &info);
}
