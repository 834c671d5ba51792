#include "vk/device.h"

#include <unistd.h>

#include <vkformer/vulkan.h>

// The process, as fork() leaves it: asking the system costs a call each time.
static atomic_long this_process;
static pthread_once_t process_once = PTHREAD_ONCE_INIT;
static int atfork_result;

static void note_process(void)
{
    atomic_store(&this_process, (long)getpid());
}

static void watch_forks(void)
{
    note_process();
    atfork_result = pthread_atfork(NULL, NULL, note_process);
}

typedef struct device_features {
    VkPhysicalDevice16BitStorageFeatures storage_16bit;
    VkPhysicalDevice8BitStorageFeatures storage_8bit;
    VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR executable;
    VkPhysicalDeviceBufferDeviceAddressFeatures address;
    VkPhysicalDeviceShaderFloat16Int8Features float16;
    VkPhysicalDeviceVulkanMemoryModelFeatures memory_model;
    VkPhysicalDeviceSubgroupSizeControlFeatures subgroup_size;
    VkPhysicalDeviceMaintenance4Features maintenance4;
    VkPhysicalDeviceShaderIntegerDotProductFeatures integer_dot;
    VkPhysicalDeviceHostQueryResetFeatures query_reset;
    VkPhysicalDevicePerformanceQueryFeaturesKHR performance;
    vkf__matrix_features matrix;
} device_features;

static void init_features(device_features *features, const vkf__device_plan *plan)
{
    *features = (device_features){
        .storage_16bit = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES,
                          .storageBuffer16BitAccess = plan->enable_storage_16bit},
        .executable = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_EXECUTABLE_PROPERTIES_FEATURES_KHR,
                       .pipelineExecutableInfo = VK_TRUE},
        .address = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES,
                    .bufferDeviceAddress = VK_TRUE},
        .storage_8bit = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES},
        .float16 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES,
                    .shaderFloat16 = plan->enable_float16},
        .memory_model = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_MEMORY_MODEL_FEATURES,
                         .vulkanMemoryModel = VK_TRUE,
                         .vulkanMemoryModelDeviceScope = VK_TRUE},
        .subgroup_size = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES,
                          .subgroupSizeControl = plan->enable_subgroup_size_control,
                          .computeFullSubgroups = plan->enable_full_subgroups},
        .maintenance4 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_4_FEATURES, .maintenance4 = VK_TRUE},
        .integer_dot = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_FEATURES,
                        .shaderIntegerDotProduct = VK_TRUE},
        .query_reset = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_HOST_QUERY_RESET_FEATURES,
                        .hostQueryReset = VK_TRUE},
        .performance = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PERFORMANCE_QUERY_FEATURES_KHR,
                        .performanceCounterQueryPools = VK_TRUE},
    };
}

static void chain(const void **inout_next, void *link)
{
    VkBaseInStructure *first = link;
    first->pNext = *inout_next;
    *inout_next = first;
}

// The chain of what the plan enables, in front of nothing.
static const void *chain_features(device_features *features, const vkf__device_plan *plan)
{
    const void *next = NULL;
    const char *names[3]; // the plan lists them
    init_features(features, plan);
    if (plan->enable_executable_info)
        chain(&next, &features->executable);
    if (plan->enable_performance_queries) {
        chain(&next, &features->query_reset);
        chain(&next, &features->performance);
    }
    if (plan->enable_buffer_device_address)
        chain(&next, &features->address);
    if (plan->enable_float16 || plan->enable_other_types)
        chain(&next, &features->float16);
    if (plan->enable_other_types)
        chain(&next, &features->storage_8bit);
    if (plan->enable_matrix) {
        chain(&next, &features->memory_model);
        (void)vkf__matrix_features_enable(&plan->caps.matrix, &features->matrix, &next, names);
    }
    if (plan->enable_full_subgroups || plan->enable_subgroup_size_control)
        chain(&next, &features->subgroup_size);
    if (plan->enable_maintenance4)
        chain(&next, &features->maintenance4);
    if (plan->enable_integer_dot)
        chain(&next, &features->integer_dot);
    chain(&next, &features->storage_16bit);
    return next;
}

// Adds to the features that are chained already what the device has of other types.
static void enable_other_types(vkf__device *device, device_features *features, VkPhysicalDeviceFeatures *core)
{
    vkf__other_types *other = &device->plan.other;
    VkPhysicalDevice16BitStorageFeatures bits16 = {.sType = features->storage_16bit.sType};
    VkPhysicalDevice8BitStorageFeatures bits8 = {.sType = features->storage_8bit.sType, .pNext = &bits16};
    VkPhysicalDeviceShaderFloat16Int8Features int8 = {.sType = features->float16.sType, .pNext = &bits8};
    VkPhysicalDeviceFeatures2 has = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, .pNext = &int8};
    device->instance->vkGetPhysicalDeviceFeatures2(device->physical, &has);
    *other = (vkf__other_types){
        .float64 = has.features.shaderFloat64,
        .int16 = has.features.shaderInt16,
        .int8 = int8.shaderInt8,
        .storage_8bit = bits8.storageBuffer8BitAccess,
        .uniform_8bit = bits8.uniformAndStorageBuffer8BitAccess,
        .push_8bit = bits8.storagePushConstant8,
        // These are chained where storage of 16 bits is.
        .uniform_16bit = device->plan.enable_storage_16bit && bits16.uniformAndStorageBuffer16BitAccess,
        .push_16bit = device->plan.enable_storage_16bit && bits16.storagePushConstant16,
    };
    core->shaderFloat64 = other->float64;
    core->shaderInt16 = other->int16;
    features->float16.shaderInt8 = other->int8;
    features->storage_8bit.storageBuffer8BitAccess = other->storage_8bit;
    features->storage_8bit.uniformAndStorageBuffer8BitAccess = other->uniform_8bit;
    features->storage_8bit.storagePushConstant8 = other->push_8bit;
    features->storage_16bit.uniformAndStorageBuffer16BitAccess = other->uniform_16bit;
    features->storage_16bit.storagePushConstant16 = other->push_16bit;
}

// Makes device->handle, with what the plan enables and nothing else.
static vkf_status create_own(vkf__device *device)
{
    const vkf__device_plan *plan = &device->plan;
    const float priority = 1.0F;
    device_features features;
    const VkDeviceQueueCreateInfo queue = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
        .queueFamilyIndex = plan->caps.queue_family_index,
        .queueCount = 1,
        .pQueuePriorities = &priority,
    };
    VkPhysicalDeviceFeatures core = {
        .shaderInt64 = plan->enable_int64,
        .pipelineStatisticsQuery = plan->enable_statistics_queries,
    };
    const VkDeviceCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
        .pNext = chain_features(&features, plan),
        .queueCreateInfoCount = 1,
        .pQueueCreateInfos = &queue,
        .pEnabledFeatures = &core,
        .enabledExtensionCount = plan->extension_count,
        .ppEnabledExtensionNames = plan->extensions,
    };
    if (plan->enable_other_types)
        enable_other_types(device, &features, &core);
    VkResult result = device->instance->vkCreateDevice(device->physical, &info, NULL, &device->handle);
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

// The family's properties, or INVALID_ARGUMENT when it does not exist or cannot compute.
static vkf_status read_family(vkf__device *device, uint32_t index, VkQueueFamilyProperties *out_family)
{
    vkf_status status = VKF_OK;
    VkQueueFamilyProperties *families = NULL;
    uint32_t count = 0;

    device->instance->vkGetPhysicalDeviceQueueFamilyProperties(device->physical, &count, NULL);
    if (index >= count)
        return vkf__fail(device->host, VKF_ERROR_INVALID_ARGUMENT,
                         "external device: queue_family_index is %u, but %s has %u families", index,
                         device->plan.caps.name, count);
    VKF_ALLOC(device->host, families, count);
    device->instance->vkGetPhysicalDeviceQueueFamilyProperties(device->physical, &count, families);
    if (!(families[index].queueFlags & VK_QUEUE_COMPUTE_BIT))
        status = vkf__fail(device->host, VKF_ERROR_INVALID_ARGUMENT,
                           "external device: queue family %u of %s cannot compute: give a queue of one that can", index,
                           device->plan.caps.name);
    else
        *out_family = families[index];
fail:
    vkf__free(device->host, families);
    return status;
}

// A VkDevice does not tell what was enabled on it: only what the caller vouches for stays in the plan.
static void restrict_plan(vkf__device_plan *plan, const vkf_external_device *external,
                          const VkQueueFamilyProperties *family)
{
    plan->caps.queue_family_index = external->queue_family_index;
    plan->caps.timestamp_valid_bits = family->timestampValidBits;
    plan->caps.timestamps = plan->caps.timestamps && family->timestampValidBits > 0;
    plan->caps.storage_16bit = plan->caps.storage_16bit && external->storage_16bit;
    plan->caps.shader_float16 = false;
    plan->caps.shader_int64 = false;
    plan->caps.buffer_device_address = false;
    plan->caps.vulkan_memory_model = false;
    plan->caps.maintenance4 = false;
    plan->caps.integer_dot = plan->caps.integer_dot_accelerated = false;
    plan->caps.compute_full_subgroups = false;
    plan->caps.subgroup_size_control = false;
    plan->caps.matrix = (vkf__caps_matrix){0};
    plan->caps.pipeline_executable_info = false;
    plan->caps.memory_budget = false;
    plan->caps.calibrated_timestamps = false;
    plan->caps.statistics_queries = plan->caps.performance_queries = false;
    if (plan->caps.api_version > external->api_version)
        plan->caps.api_version = external->api_version;
    plan->enable_storage_16bit = plan->enable_storage_16bit && plan->caps.storage_16bit;
    plan->enable_buffer_device_address = false;
    plan->enable_float16 = false;
    plan->enable_int64 = false;
    plan->enable_matrix = false;
    plan->enable_full_subgroups = false;
    plan->enable_subgroup_size_control = false;
    plan->enable_maintenance4 = false;
    plan->enable_integer_dot = false;
    plan->enable_other_types = false;
    plan->enable_timestamps = plan->enable_timestamps && plan->caps.timestamps;
    plan->enable_calibration = false;
    plan->enable_executable_info = false;
    plan->enable_statistics_queries = plan->enable_performance_queries = false;
    plan->extension_count = 0;
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
    if (!external->lock_queue != !external->unlock_queue)
        return vkf__fail(host, VKF_ERROR_INVALID_ARGUMENT,
                         "external device: give both lock_queue and unlock_queue, or neither");
    return VKF_OK;
}

static vkf_status adopt_external(vkf__device *device, const vkf_external_device *external)
{
    vkf_status status = VKF_OK;
    vkf_external_device *copy = NULL;
    VkQueueFamilyProperties family = {0};

    if (external->physical_device != device->physical)
        return vkf__fail(device->host, VKF_ERROR_INVALID_ARGUMENT,
                         "external device: physical_device is another than the device was made from");
    VKF_TRY(vkf__external_device_check(device->host, external));
    VKF_TRY(read_family(device, external->queue_family_index, &family));
    VKF_ALLOC(device->host, copy, 1);
    *copy = *external;
    device->external = copy;
    device->handle = external->device;
    device->queue = external->queue;
    device->queue_family = external->queue_family_index;
    restrict_plan(&device->plan, external, &family);
fail:
    return status;
}

vkf_status vkf__device_init(vkf__device *device, const vkf__instance *instance, VkPhysicalDevice physical,
                            const vkf__device_plan *plan, const struct vkf_external_device *external)
{
    vkf_status status = VKF_OK;
    *device = (vkf__device){.host = instance->host, .instance = instance, .physical = physical, .plan = *plan};

    (void)pthread_once(&process_once, watch_forks);
    device->process = atomic_load(&this_process);
    if (atfork_result != 0 || pthread_mutex_init(&device->queue_lock, NULL) != 0) {
        status = vkf__fail(device->host, VKF_ERROR_OUT_OF_HOST_MEMORY,
                           "the system has no room for another mutex or fork handler");
        goto fail;
    }
    device->queue_lock_ready = true;
    VKF_TRY(external ? adopt_external(device, external) : create_own(device));
    VKF_TRY(vkf__volk_table_load(device->host, instance->vkGetDeviceProcAddr, device->handle, &device->vk));
    if (!external)
        device->vk.vkGetDeviceQueue(device->handle, device->queue_family, 0, &device->queue);
    vkf__device_name(device, VK_OBJECT_TYPE_QUEUE, (uint64_t)(uintptr_t)device->queue, "vkformer queue");
    return VKF_OK;
fail:
    vkf__device_finish(device);
    return status;
}

void vkf__device_finish(vkf__device *device)
{
    // Idle or lost, everything is destroyed: the results of waiting change nothing.
    if (device->owned) {
        // Asked for once more, as the table may not have come to be.
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
    return device->process != atomic_load_explicit(&this_process, memory_order_relaxed);
}

vkf_status vkf__device_check_process(const vkf__device *device, const char *function)
{
    if (!vkf__device_is_inherited(device))
        return VKF_OK;
    return vkf__fail(
        device->host, VKF_ERROR_INVALID_ARGUMENT,
        "%s: the context was made in process %ld, and this is %ld: a child of fork() makes a context of its "
        "own",
        function, device->process, (long)getpid());
}

vkf_status vkf__device_status(vkf__device *device, VkResult result, const char *where)
{
    if (result == VK_ERROR_DEVICE_LOST)
        device->lost = true;
    return vkf__vulkan_status(device->host, result, where);
}

// A thread that holds our lock waits for the caller's, never the other way round: the caller does not know ours.
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
