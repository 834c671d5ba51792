// Reads what a physical device can do.
#include "vk/caps.h"

#include <string.h>

#include "base/size.h"
#include "vk/calibration.h"
#include "vk/caps_cores.h"
#include "vk/driver_faults.h"
#include "vk/extension_list.h"

static uint32_t shared_version(uint32_t device_version, uint32_t instance_version)
{
    uint32_t device_minor =
        VK_MAKE_API_VERSION(0, VK_API_VERSION_MAJOR(device_version), VK_API_VERSION_MINOR(device_version), 0);
    return device_minor > instance_version ? instance_version : device_version;
}

// A driver's text may lack its terminator.
static void copy_text(char out_text[256], const char text[256])
{
    memcpy(out_text, text, 255);
    out_text[255] = '\0';
}

static void chain(void *head, void *link)
{
    VkBaseOutStructure *first = head;
    VkBaseOutStructure *next = link;
    next->pNext = first->pNext;
    first->pNext = next;
}

static void fill_limits(vkf__caps *caps, const VkPhysicalDeviceLimits *limits)
{
    caps->max_workgroup_invocations = limits->maxComputeWorkGroupInvocations;
    caps->max_workgroup_size_x = limits->maxComputeWorkGroupSize[0];
    caps->max_workgroup_count_x = limits->maxComputeWorkGroupCount[0];
    caps->max_workgroup_count_y = limits->maxComputeWorkGroupCount[1];
    caps->max_workgroup_count_z = limits->maxComputeWorkGroupCount[2];
    caps->max_shared_memory_bytes = limits->maxComputeSharedMemorySize;
    caps->max_storage_buffers = limits->maxPerStageDescriptorStorageBuffers;
    caps->max_storage_buffer_range = limits->maxStorageBufferRange;
    caps->max_uniform_buffer_range = limits->maxUniformBufferRange;
    caps->max_texel_elements = limits->maxTexelBufferElements;
    caps->max_push_constant_bytes = limits->maxPushConstantsSize;
    caps->max_memory_allocation_count = limits->maxMemoryAllocationCount;
    caps->storage_buffer_alignment = (uint32_t)limits->minStorageBufferOffsetAlignment;
    caps->uniform_buffer_alignment = (uint32_t)limits->minUniformBufferOffsetAlignment;
    caps->texel_buffer_alignment = (uint32_t)limits->minTexelBufferOffsetAlignment;
    caps->non_coherent_atom_bytes = (uint32_t)limits->nonCoherentAtomSize;
    caps->timestamp_period_ns = limits->timestampPeriod;
}

// Fills in what Vulkan 1.0 reports.
static void fill_properties(vkf__caps *caps, const vkf__instance *instance,
                            const VkPhysicalDeviceProperties *properties)
{
    copy_text(caps->name, properties->deviceName);
    caps->type = properties->deviceType <= VK_PHYSICAL_DEVICE_TYPE_CPU ? (vkf_device_type)properties->deviceType
                                                                       : VKF_DEVICE_TYPE_OTHER;
    caps->api_version = shared_version(properties->apiVersion, instance->api_version);
    caps->driver_version = properties->driverVersion;
    caps->vendor_id = properties->vendorID;
    caps->device_id = properties->deviceID;
    memcpy(caps->pipeline_cache_uuid, properties->pipelineCacheUUID, VKF_UUID_SIZE);
    fill_limits(caps, &properties->limits);
}

static void fill_subgroups(vkf__caps *caps, const VkPhysicalDeviceSubgroupProperties *subgroup,
                           const VkPhysicalDeviceSubgroupSizeControlProperties *sizes)
{
    bool compute = subgroup->supportedStages & VK_SHADER_STAGE_COMPUTE_BIT;
    // Some drivers report a size of 0 (ncnn 6457), which says that there are none.
    const uint32_t size = subgroup->subgroupSize;
    compute = compute && vkf__is_power_of_two_u64(size);
    caps->subgroup_size = size;
    caps->subgroup_arithmetic = compute && (subgroup->supportedOperations & VK_SUBGROUP_FEATURE_ARITHMETIC_BIT);
    caps->subgroup_shuffle = compute && (subgroup->supportedOperations & VK_SUBGROUP_FEATURE_SHUFFLE_BIT);
    bool sized = sizes->requiredSubgroupSizeStages & VK_SHADER_STAGE_COMPUTE_BIT;
    caps->subgroup_size_control = caps->subgroup_size_control && sized;
    caps->min_subgroup_size = sized ? sizes->minSubgroupSize : subgroup->subgroupSize;
    caps->max_subgroup_size = sized ? sizes->maxSubgroupSize : subgroup->subgroupSize;
    caps->least_subgroup_size = sizes->minSubgroupSize;
    caps->max_workgroup_subgroups = sized ? sizes->maxComputeWorkgroupSubgroups : UINT32_MAX;
}

// Without independence a mode is that of all widths. No module has 64-bit floats.
static void fill_rounding(vkf__caps *caps, const VkPhysicalDeviceFloatControlsProperties *floats)
{
    caps->rounds_all_widths = floats->roundingModeIndependence == VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_NONE;
    caps->round_to_even_16 =
        floats->shaderRoundingModeRTEFloat16 && (floats->shaderRoundingModeRTEFloat32 || !caps->rounds_all_widths);
}

// Some properties mean nothing without their feature, so features are read before.
static void read_properties2(vkf__caps *caps, const vkf__instance *instance, VkPhysicalDevice device,
                             const vkf__extension_list *extensions, uint32_t offered)
{
    VkPhysicalDeviceProperties2 head = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2};
    VkPhysicalDeviceIDProperties id = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES};
    VkPhysicalDeviceSubgroupProperties subgroup = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES};
    VkPhysicalDeviceSubgroupSizeControlProperties sizes = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES};
    VkPhysicalDeviceMaintenance3Properties maintenance3 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES};
    VkPhysicalDeviceDriverProperties driver = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES};
    VkPhysicalDeviceShaderIntegerDotProductProperties integer_dot = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_PROPERTIES};
    VkPhysicalDeviceFloatControlsProperties floats = {.sType =
                                                          VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FLOAT_CONTROLS_PROPERTIES};
    VkPhysicalDeviceMaintenance4Properties maintenance4 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_4_PROPERTIES};
    chain(&head, &id);
    chain(&head, &subgroup);
    chain(&head, &maintenance3);
    if (offered & VKF_FEATURE_STRUCTURE_BIT(maintenance4))
        chain(&head, &maintenance4);
    if (caps->api_version >= VK_API_VERSION_1_2 ||
        vkf__extension_listed(extensions, VK_KHR_DRIVER_PROPERTIES_EXTENSION_NAME))
        chain(&head, &driver);
    if (offered & VKF_FEATURE_STRUCTURE_BIT(subgroup_size))
        chain(&head, &sizes);
    if (offered & VKF_FEATURE_STRUCTURE_BIT(integer_dot))
        chain(&head, &integer_dot);
    if (caps->round_to_even_16)
        chain(&head, &floats);
    instance->vkGetPhysicalDeviceProperties2(device, &head);

    memcpy(caps->device_uuid, id.deviceUUID, VKF_UUID_SIZE);
    memcpy(caps->driver_uuid, id.driverUUID, VKF_UUID_SIZE);
    fill_subgroups(caps, &subgroup, &sizes);
    caps->integer_dot_accelerated = caps->integer_dot && integer_dot.integerDotProduct4x8BitPackedSignedAccelerated;
    fill_rounding(caps, &floats);
    caps->max_memory_allocation_bytes = maintenance3.maxMemoryAllocationSize;
    caps->max_buffer_bytes = maintenance4.maxBufferSize > 0 ? maintenance4.maxBufferSize : UINT64_MAX;
    caps->driver_id = (uint32_t)driver.driverID;
    copy_text(caps->driver_name, driver.driverName);
    copy_text(caps->driver_info, driver.driverInfo);
}

// The feature structures that may legally be chained.
static uint32_t offered_structures(const vkf__caps *caps, const vkf__extension_list *extensions)
{
    uint32_t offered = 0;
    for (uint32_t i = 0; i < VKF_FEATURE_STRUCTURE_COUNT; i++) {
        const vkf__feature_structure *structure = &vkf__feature_structures[i];
        if (caps->api_version >= structure->core ||
            (structure->extension && vkf__extension_listed(extensions, structure->extension)))
            offered |= UINT32_C(1) << i;
    }
    return offered;
}

// Reads the features that have to be enabled. Those that are mere properties are read elsewhere.
static void read_features(vkf__caps *caps, const vkf__instance *instance, VkPhysicalDevice device,
                          const vkf__extension_list *extensions, uint32_t offered)
{
    vkf__features features;
    vkf__features_init(&features);
    features.head.pNext = vkf__features_chain(&features, offered);
    instance->vkGetPhysicalDeviceFeatures2(device, &features.head);
    for (uint32_t i = 0; i < VKF_FEATURE_COUNT; i++) {
        const vkf__feature *feature = &vkf__feature_table[i];
        if (!vkf__feature_is_switched(feature))
            continue;
        bool there = feature->extension ? vkf__extension_listed(extensions, feature->extension)
                                        : vkf__features_has(&features, feature);
        vkf__feature_set_in_caps(feature, caps, there && vkf__feature_has_needs(feature, caps));
    }
    caps->priority_ext =
        !caps->global_priority && vkf__extension_listed(extensions, VK_EXT_GLOBAL_PRIORITY_EXTENSION_NAME);
    caps->global_priority = caps->global_priority || caps->priority_ext;
    // Only a header of provisional extensions has a macro for this name.
    caps->portability_subset = vkf__extension_listed(extensions, "VK_KHR_portability_subset");
}

static void read_calibration(vkf__caps *caps, const vkf__instance *instance, VkPhysicalDevice device,
                             const vkf__extension_list *extensions)
{
    bool ext = vkf__extension_listed(extensions, VK_EXT_CALIBRATED_TIMESTAMPS_EXTENSION_NAME);
    bool khr = vkf__extension_listed(extensions, VKF_KHR_CALIBRATED_TIMESTAMPS);
    caps->calibrated_khr = khr && !ext;
    caps->calibrated_timestamps =
        (ext || khr) && caps->timestamps && vkf__calibration_offered(instance, device, caps->calibrated_khr);
}

uint32_t vkf__caps_queue_family(const vkf__queue_family *families, uint32_t count)
{
    uint32_t best = UINT32_MAX;
    int best_score = -1;
    for (uint32_t i = 0; i < count; i++) {
        const vkf__queue_family *family = &families[i];
        const int score = 2 * (family->timestamp_valid_bits > 0) + !family->graphics;
        if (!family->compute || family->queue_count == 0 || score <= best_score)
            continue;
        best = i;
        best_score = score;
    }
    return best;
}

static vkf_status read_queue_families(vkf__caps *caps, const vkf__instance *instance, VkPhysicalDevice device)
{
    VkQueueFamilyProperties *families = NULL;
    uint32_t count = 0;
    instance->vkGetPhysicalDeviceQueueFamilyProperties(device, &count, NULL);
    if (count > 0) {
        VKF_ALLOC_OR_RETURN(instance->host, families, count);
        instance->vkGetPhysicalDeviceQueueFamilyProperties(device, &count, families);
    }
    caps->queue_family_count = count < VKF_MAX_QUEUE_FAMILIES ? count : VKF_MAX_QUEUE_FAMILIES;
    for (uint32_t i = 0; i < caps->queue_family_count; i++) {
        caps->queue_families[i] = (vkf__queue_family){
            .compute = families[i].queueFlags & VK_QUEUE_COMPUTE_BIT,
            .graphics = families[i].queueFlags & VK_QUEUE_GRAPHICS_BIT,
            .queue_count = families[i].queueCount,
            .timestamp_valid_bits = families[i].timestampValidBits,
        };
    }
    vkf__free(instance->host, families);
    caps->queue_family_index = vkf__caps_queue_family(caps->queue_families, caps->queue_family_count);
    if (caps->queue_family_index != UINT32_MAX)
        caps->timestamp_valid_bits = caps->queue_families[caps->queue_family_index].timestamp_valid_bits;
    caps->timestamps = caps->timestamp_valid_bits > 0 && caps->timestamp_period_ns > 0.0F;
    return VKF_OK;
}

vkf_status vkf__caps_read(const vkf__instance *instance, VkPhysicalDevice device, bool matrices, vkf__caps *out_caps)
{
    vkf_status status = VKF_OK;
    vkf__caps caps = {0};
    vkf__extension_list extensions = {0};
    VkPhysicalDeviceProperties properties = {0};
    VkPhysicalDeviceMemoryProperties2 memory = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2};

    instance->vkGetPhysicalDeviceProperties(device, &properties);
    fill_properties(&caps, instance, &properties);
    VKF_TRY(read_queue_families(&caps, instance, device));
    if (caps.api_version >= VK_API_VERSION_1_1) {
        VKF_TRY(vkf__extension_list_read(instance, device, &extensions));
        const uint32_t offered = offered_structures(&caps, &extensions);
        read_features(&caps, instance, device, &extensions, offered);
        read_properties2(&caps, instance, device, &extensions, offered);
        vkf__caps_cores_read(instance, device, &extensions, &caps);
        vkf__driver_faults_apply(&caps);
        caps.matrix.cooperative_matrix = caps.matrix.cooperative_matrix && matrices;
        vkf__caps_matrix_read(instance, device, &caps.matrix);
        read_calibration(&caps, instance, device, &extensions);
        instance->vkGetPhysicalDeviceMemoryProperties2(device, &memory);
        caps.memory = memory.memoryProperties;
        caps.mapped_device_memory = true;
    }
    *out_caps = caps;
fail:
    vkf__free(instance->host, extensions.items);
    return status;
}

void vkf__caps_info(const vkf__caps *caps, uint32_t index, vkf_device_info *out_info)
{
    vkf_device_info info = {
        .index = index,
        .type = caps->type,
        .api_version = caps->api_version,
        .driver_version = caps->driver_version,
        .vendor_id = caps->vendor_id,
        .device_id = caps->device_id,
        .subgroup_size = caps->subgroup_size,
        .max_workgroup_invocations = caps->max_workgroup_invocations,
        .max_shared_memory_bytes = caps->max_shared_memory_bytes,
        .max_storage_buffers = caps->max_storage_buffers,
        .max_storage_buffer_range_bytes = caps->max_storage_buffer_range,
        .max_push_constant_bytes = caps->max_push_constant_bytes,
        .storage_16bit = caps->storage_16bit,
        .shader_float16 = caps->shader_float16,
        .timestamps = caps->timestamps,
        .unified_memory = vkf__traits_of(caps).unified_memory,
        .heap_count = caps->memory.memoryHeapCount,
        .integer_dot_accelerated = caps->integer_dot_accelerated,
        .cooperative_matrix = caps->matrix.cooperative_matrix,
        .flexible_matrix = caps->matrix.workgroup_scope && caps->matrix.tensor_addressing && caps->matrix.block_loads,
    };
    copy_text(info.name, caps->name);
    copy_text(info.driver_name, caps->driver_name);
    copy_text(info.driver_info, caps->driver_info);
    memcpy(info.uuid, caps->device_uuid, VKF_UUID_SIZE);
    memcpy(info.driver_uuid, caps->driver_uuid, VKF_UUID_SIZE);
    for (uint32_t i = 0; i < info.heap_count && i < VKF_MAX_MEMORY_HEAPS; i++) {
        info.heap_size_bytes[i] = caps->memory.memoryHeaps[i].size;
        info.heap_device_local[i] = caps->memory.memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT;
    }
    *out_info = info;
}

_Static_assert(VKF_MAX_MEMORY_HEAPS == VK_MAX_MEMORY_HEAPS, "the public limit is Vulkan's");
_Static_assert(VKF_UUID_SIZE == VK_UUID_SIZE, "the public size is Vulkan's");
_Static_assert((int)VKF_DEVICE_TYPE_CPU == (int)VK_PHYSICAL_DEVICE_TYPE_CPU, "device types have Vulkan's values");
