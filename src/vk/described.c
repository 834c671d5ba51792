// The members of Vulkan's structures that a description may set, and the functions through which it is read.
#include "vk/described.h"

#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

// Rows of features: a structure, the one of the core that has them, too, and the VkBool32 in vkf__features.
#define FEATURE(structure, core, member, name)                                                     \
    {                                                                                              \
        structure, core, #name, offsetof(vkf__described, features.member.name), 1, VKF_MEMBER_BOOL \
    }
// Rows of properties.
#define PROPERTY(kind, structure, core, member, name, field)                                           \
    {                                                                                                  \
        structure, core, name, offsetof(vkf__described, properties.member.field), 1, VKF_MEMBER_##kind \
    }
#define SAME(kind, structure, core, member, name) PROPERTY(kind, structure, core, member, #name, name)
#define LIMIT(kind, name) PROPERTY(kind, "Limits", NULL, core.limits, #name, name)
#define LIMITS(kind, name, many)                                                                              \
    {                                                                                                         \
        "Limits", NULL, #name, offsetof(vkf__described, properties.core.limits.name), many, VKF_MEMBER_##kind \
    }
#define TEXT(structure, core, member, name)                                                                \
    {                                                                                                      \
        structure, core, #name, offsetof(vkf__described, properties.member.name), VK_MAX_DRIVER_NAME_SIZE, \
            VKF_MEMBER_TEXT                                                                                \
    }

static const vkf__described_member members[] = {
    FEATURE("Features", NULL, head.features, shaderInt64),
    FEATURE("Features", NULL, head.features, shaderInt16),
    FEATURE("Features", NULL, head.features, shaderFloat64),
    FEATURE("Features", NULL, head.features, pipelineStatisticsQuery),
    FEATURE("16BitStorageFeatures", "Vulkan11Features", storage_16bit, storageBuffer16BitAccess),
    FEATURE("16BitStorageFeatures", "Vulkan11Features", storage_16bit, uniformAndStorageBuffer16BitAccess),
    FEATURE("16BitStorageFeatures", "Vulkan11Features", storage_16bit, storagePushConstant16),
    FEATURE("8BitStorageFeatures", "Vulkan12Features", storage_8bit, storageBuffer8BitAccess),
    FEATURE("8BitStorageFeatures", "Vulkan12Features", storage_8bit, uniformAndStorageBuffer8BitAccess),
    FEATURE("8BitStorageFeatures", "Vulkan12Features", storage_8bit, storagePushConstant8),
    FEATURE("ShaderFloat16Int8Features", "Vulkan12Features", float16, shaderFloat16),
    FEATURE("ShaderFloat16Int8Features", "Vulkan12Features", float16, shaderInt8),
    FEATURE("BufferDeviceAddressFeatures", "Vulkan12Features", address, bufferDeviceAddress),
    FEATURE("VulkanMemoryModelFeatures", "Vulkan12Features", memory_model, vulkanMemoryModel),
    FEATURE("VulkanMemoryModelFeatures", "Vulkan12Features", memory_model, vulkanMemoryModelDeviceScope),
    FEATURE("HostQueryResetFeatures", "Vulkan12Features", query_reset, hostQueryReset),
    FEATURE("SubgroupSizeControlFeatures", "Vulkan13Features", subgroup_size, computeFullSubgroups),
    FEATURE("SubgroupSizeControlFeatures", "Vulkan13Features", subgroup_size, subgroupSizeControl),
    FEATURE("Maintenance4Features", "Vulkan13Features", maintenance4, maintenance4),
    FEATURE("ShaderIntegerDotProductFeatures", "Vulkan13Features", integer_dot, shaderIntegerDotProduct),
    FEATURE("PipelineExecutablePropertiesFeatures", NULL, executable, pipelineExecutableInfo),
    FEATURE("PerformanceQueryFeatures", NULL, performance, performanceCounterQueryPools),
    FEATURE("CooperativeMatrixFeatures", NULL, matrix, cooperativeMatrix),
    FEATURE("ShaderBfloat16Features", NULL, bfloat16, shaderBFloat16Type),
    FEATURE("ShaderBfloat16Features", NULL, bfloat16, shaderBFloat16CooperativeMatrix),
    FEATURE("CooperativeMatrix2FeaturesNV", NULL, matrix2, cooperativeMatrixWorkgroupScope),
    FEATURE("CooperativeMatrix2FeaturesNV", NULL, matrix2, cooperativeMatrixFlexibleDimensions),
    FEATURE("CooperativeMatrix2FeaturesNV", NULL, matrix2, cooperativeMatrixReductions),
    FEATURE("CooperativeMatrix2FeaturesNV", NULL, matrix2, cooperativeMatrixConversions),
    FEATURE("CooperativeMatrix2FeaturesNV", NULL, matrix2, cooperativeMatrixPerElementOperations),
    FEATURE("CooperativeMatrix2FeaturesNV", NULL, matrix2, cooperativeMatrixTensorAddressing),
    FEATURE("CooperativeMatrix2FeaturesNV", NULL, matrix2, cooperativeMatrixBlockLoads),
    SAME(VERSION, "Properties", NULL, core, apiVersion),
    SAME(U32, "Properties", NULL, core, driverVersion),
    SAME(U32, "Properties", NULL, core, vendorID),
    SAME(U32, "Properties", NULL, core, deviceID),
    SAME(ENUM, "Properties", NULL, core, deviceType),
    TEXT("Properties", NULL, core, deviceName),
    LIMIT(U32, maxComputeWorkGroupInvocations),
    LIMITS(U32, maxComputeWorkGroupSize, 3),
    LIMITS(U32, maxComputeWorkGroupCount, 3),
    LIMIT(U32, maxComputeSharedMemorySize),
    LIMIT(U32, maxPerStageDescriptorStorageBuffers),
    LIMIT(U32, maxStorageBufferRange),
    LIMIT(U32, maxUniformBufferRange),
    LIMIT(U32, maxTexelBufferElements),
    LIMIT(U32, maxPushConstantsSize),
    LIMIT(U32, maxMemoryAllocationCount),
    LIMIT(U64, minStorageBufferOffsetAlignment),
    LIMIT(U64, minUniformBufferOffsetAlignment),
    LIMIT(U64, minTexelBufferOffsetAlignment),
    LIMIT(U64, nonCoherentAtomSize),
    LIMIT(F32, timestampPeriod),
    SAME(U32, "SubgroupProperties", "Vulkan11Properties", subgroup, subgroupSize),
    SAME(FLAGS, "SubgroupProperties", NULL, subgroup, supportedStages),
    SAME(FLAGS, "SubgroupProperties", NULL, subgroup, supportedOperations),
    PROPERTY(FLAGS, "Vulkan11Properties", NULL, subgroup, "subgroupSupportedStages", supportedStages),
    PROPERTY(FLAGS, "Vulkan11Properties", NULL, subgroup, "subgroupSupportedOperations", supportedOperations),
    SAME(U64, "Maintenance3Properties", "Vulkan11Properties", maintenance3, maxMemoryAllocationSize),
    SAME(ENUM, "DriverProperties", "Vulkan12Properties", driver, driverID),
    TEXT("DriverProperties", "Vulkan12Properties", driver, driverName),
    TEXT("DriverProperties", "Vulkan12Properties", driver, driverInfo),
    SAME(ENUM, "FloatControlsProperties", "Vulkan12Properties", floats, roundingModeIndependence),
    SAME(BOOL, "FloatControlsProperties", "Vulkan12Properties", floats, shaderRoundingModeRTEFloat16),
    SAME(U32, "SubgroupSizeControlProperties", "Vulkan13Properties", subgroup_sizes, minSubgroupSize),
    SAME(U32, "SubgroupSizeControlProperties", "Vulkan13Properties", subgroup_sizes, maxSubgroupSize),
    SAME(U32, "SubgroupSizeControlProperties", "Vulkan13Properties", subgroup_sizes, maxComputeWorkgroupSubgroups),
    SAME(FLAGS, "SubgroupSizeControlProperties", "Vulkan13Properties", subgroup_sizes, requiredSubgroupSizeStages),
    SAME(BOOL, "ShaderIntegerDotProductProperties", "Vulkan13Properties", integer_dot,
         integerDotProduct4x8BitPackedSignedAccelerated),
    SAME(FLAGS, "CooperativeMatrixProperties", NULL, matrix, cooperativeMatrixSupportedStages),
    SAME(U32, "CooperativeMatrix2PropertiesNV", NULL, matrix2, cooperativeMatrixFlexibleDimensionsMaxDimension),
    SAME(U32, "CooperativeMatrix2PropertiesNV", NULL, matrix2, cooperativeMatrixWorkgroupScopeMaxWorkgroupSize),
    SAME(U32, "CooperativeMatrix2PropertiesNV", NULL, matrix2, cooperativeMatrixWorkgroupScopeReservedSharedMemory),
};

#define ENTRY(type, kind, name)                                       \
    {                                                                 \
        NULL, NULL, #name, offsetof(type, name), 1, VKF_MEMBER_##kind \
    }

static const vkf__described_member family_members[] = {
    ENTRY(VkQueueFamilyProperties, FLAGS, queueFlags),
    ENTRY(VkQueueFamilyProperties, U32, queueCount),
    ENTRY(VkQueueFamilyProperties, U32, timestampValidBits),
};
static const vkf__described_member heap_members[] = {
    ENTRY(VkMemoryHeap, U64, size),
    ENTRY(VkMemoryHeap, FLAGS, flags),
};
static const vkf__described_member type_members[] = {
    ENTRY(VkMemoryType, U32, heapIndex),
    ENTRY(VkMemoryType, FLAGS, propertyFlags),
};
#define SHAPE_ENTRIES(type)                                                                                      \
    ENTRY(type, ENUM, AType), ENTRY(type, ENUM, BType), ENTRY(type, ENUM, CType), ENTRY(type, ENUM, ResultType), \
        ENTRY(type, BOOL, saturatingAccumulation), ENTRY(type, ENUM, scope)
static const vkf__described_member shape_members[] = {
    ENTRY(VkCooperativeMatrixPropertiesKHR, U32, MSize),
    ENTRY(VkCooperativeMatrixPropertiesKHR, U32, NSize),
    ENTRY(VkCooperativeMatrixPropertiesKHR, U32, KSize),
    SHAPE_ENTRIES(VkCooperativeMatrixPropertiesKHR),
};
static const vkf__described_member flexible_members[] = {
    ENTRY(VkCooperativeMatrixFlexibleDimensionsPropertiesNV, U32, MGranularity),
    ENTRY(VkCooperativeMatrixFlexibleDimensionsPropertiesNV, U32, NGranularity),
    ENTRY(VkCooperativeMatrixFlexibleDimensionsPropertiesNV, U32, KGranularity),
    SHAPE_ENTRIES(VkCooperativeMatrixFlexibleDimensionsPropertiesNV),
    ENTRY(VkCooperativeMatrixFlexibleDimensionsPropertiesNV, U32, workgroupInvocations),
};

#define LIST(name, array, number, rows)                                                              \
    {                                                                                                \
        name, offsetof(vkf__described, array), sizeof(((vkf__described *)0)->array[0]),              \
            offsetof(vkf__described, number), COUNT(((vkf__described *)0)->array), rows, COUNT(rows) \
    }

static const vkf__described_list lists[] = {
    LIST("VkQueueFamilyProperties", families, family_count, family_members),
    LIST("memoryHeaps", heaps, heap_count, heap_members),
    LIST("memoryTypes", types, type_count, type_members),
    LIST("VkCooperativeMatrixPropertiesKHR", shapes, shape_count, shape_members),
    LIST("VkCooperativeMatrixFlexibleDimensionsPropertiesNV", flexible, flexible_count, flexible_members),
};

#define VALUE(name)             \
    {                           \
#name, (uint32_t)(name) \
    }

static const struct {
    const char *name;
    uint32_t value;
} constants[] = {
    VALUE(VK_PHYSICAL_DEVICE_TYPE_OTHER),
    VALUE(VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU),
    VALUE(VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU),
    VALUE(VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU),
    VALUE(VK_PHYSICAL_DEVICE_TYPE_CPU),
    VALUE(VK_DRIVER_ID_AMD_PROPRIETARY),
    VALUE(VK_DRIVER_ID_AMD_OPEN_SOURCE),
    VALUE(VK_DRIVER_ID_MESA_RADV),
    VALUE(VK_DRIVER_ID_NVIDIA_PROPRIETARY),
    VALUE(VK_DRIVER_ID_INTEL_PROPRIETARY_WINDOWS),
    VALUE(VK_DRIVER_ID_INTEL_OPEN_SOURCE_MESA),
    VALUE(VK_DRIVER_ID_IMAGINATION_PROPRIETARY),
    VALUE(VK_DRIVER_ID_QUALCOMM_PROPRIETARY),
    VALUE(VK_DRIVER_ID_ARM_PROPRIETARY),
    VALUE(VK_DRIVER_ID_GOOGLE_SWIFTSHADER),
    VALUE(VK_DRIVER_ID_BROADCOM_PROPRIETARY),
    VALUE(VK_DRIVER_ID_MESA_LLVMPIPE),
    VALUE(VK_DRIVER_ID_MOLTENVK),
    VALUE(VK_DRIVER_ID_SAMSUNG_PROPRIETARY),
    VALUE(VK_DRIVER_ID_MESA_TURNIP),
    VALUE(VK_DRIVER_ID_MESA_PANVK),
    VALUE(VK_DRIVER_ID_MESA_VENUS),
    {"VK_DRIVER_ID_MESA_NVK", 24},
    {"VK_DRIVER_ID_MESA_DOZEN", 23},
    {"VK_DRIVER_ID_MESA_HONEYKRISP", 26},
    VALUE(VK_QUEUE_COMPUTE_BIT),
    VALUE(VK_QUEUE_GRAPHICS_BIT),
    VALUE(VK_SHADER_STAGE_COMPUTE_BIT),
    VALUE(VK_SUBGROUP_FEATURE_BASIC_BIT),
    VALUE(VK_SUBGROUP_FEATURE_ARITHMETIC_BIT),
    VALUE(VK_SUBGROUP_FEATURE_SHUFFLE_BIT),
    VALUE(VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_32_BIT_ONLY),
    VALUE(VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_ALL),
    VALUE(VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_NONE),
    VALUE(VK_MEMORY_HEAP_DEVICE_LOCAL_BIT),
    VALUE(VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT),
    VALUE(VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT),
    VALUE(VK_MEMORY_PROPERTY_HOST_COHERENT_BIT),
    VALUE(VK_MEMORY_PROPERTY_HOST_CACHED_BIT),
    VALUE(VK_MEMORY_PROPERTY_LAZILY_ALLOCATED_BIT),
    VALUE(VK_MEMORY_PROPERTY_PROTECTED_BIT),
    VALUE(VK_MEMORY_PROPERTY_DEVICE_COHERENT_BIT_AMD),
    VALUE(VK_MEMORY_PROPERTY_DEVICE_UNCACHED_BIT_AMD),
    VALUE(VK_MEMORY_PROPERTY_RDMA_CAPABLE_BIT_NV),
    VALUE(VK_COMPONENT_TYPE_FLOAT16_KHR),
    VALUE(VK_COMPONENT_TYPE_FLOAT32_KHR),
    VALUE(VK_COMPONENT_TYPE_FLOAT64_KHR),
    VALUE(VK_COMPONENT_TYPE_SINT8_KHR),
    VALUE(VK_COMPONENT_TYPE_SINT16_KHR),
    VALUE(VK_COMPONENT_TYPE_SINT32_KHR),
    VALUE(VK_COMPONENT_TYPE_SINT64_KHR),
    VALUE(VK_COMPONENT_TYPE_UINT8_KHR),
    VALUE(VK_COMPONENT_TYPE_UINT16_KHR),
    VALUE(VK_COMPONENT_TYPE_UINT32_KHR),
    VALUE(VK_COMPONENT_TYPE_UINT64_KHR),
    VALUE(VK_COMPONENT_TYPE_BFLOAT16_KHR),
    VALUE(VK_SCOPE_DEVICE_KHR),
    VALUE(VK_SCOPE_WORKGROUP_KHR),
    VALUE(VK_SCOPE_SUBGROUP_KHR),
    VALUE(VK_SCOPE_QUEUE_FAMILY_KHR),
};

// ---- what a description says

void vkf__described_init(vkf__described *described, const vkf__host *host)
{
    *described = (vkf__described){.host = host};
    vkf__features_init(&described->features);
    described->properties.maintenance3.maxMemoryAllocationSize = UINT64_C(1) << 30;
    described->properties.core.apiVersion = VK_API_VERSION_1_0;
    described->properties.core.limits = (VkPhysicalDeviceLimits){
        .maxComputeWorkGroupInvocations = 128,
        .maxComputeWorkGroupSize = {128, 128, 64},
        .maxComputeWorkGroupCount = {65535, 65535, 65535},
        .maxComputeSharedMemorySize = 16384,
        .maxPerStageDescriptorStorageBuffers = 4,
        .maxStorageBufferRange = UINT32_C(1) << 27,
        .maxUniformBufferRange = 16384,
        .maxTexelBufferElements = 65536,
        .maxPushConstantsSize = 128,
        .maxMemoryAllocationCount = 4096,
        .minStorageBufferOffsetAlignment = 256,
        .minUniformBufferOffsetAlignment = 256,
        .minTexelBufferOffsetAlignment = 256,
        .nonCoherentAtomSize = 256,
        .timestampPeriod = 1.0F,
    };
}

void vkf__described_finish(vkf__described *described)
{
    vkf__free(described->host, described->extensions);
    described->extensions = NULL;
}

vkf_status vkf__described_add_extension(vkf__described *described, const char *name)
{
    void *extensions = described->extensions;
    size_t length = strlen(name);
    if (length >= VK_MAX_EXTENSION_NAME_SIZE)
        return VKF_OK; // nobody asks for it
    VKF_RETURN_IF_ERROR(vkf__grow(described->host, &extensions, sizeof *described->extensions,
                                  described->extension_count, &described->extension_capacity,
                                  described->extension_count + 1));
    described->extensions = extensions;
    VkExtensionProperties *added = &described->extensions[described->extension_count++];
    *added = (VkExtensionProperties){0};
    memcpy(added->extensionName, name, length);
    return VKF_OK;
}

static void complete_memory(vkf__described *described)
{
    const VkMemoryPropertyFlags all = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT | VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT |
                                      VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    if (described->heap_count > 0 && described->type_count > 0)
        return;
    described->heap_count = described->type_count = 1;
    described->heaps[0] = (VkMemoryHeap){.flags = VK_MEMORY_HEAP_DEVICE_LOCAL_BIT};
    described->types[0] = (VkMemoryType){.propertyFlags = all};
}

void vkf__described_complete(vkf__described *described)
{
    complete_memory(described);
    if (described->family_count == 0)
        described->families[described->family_count++] = (VkQueueFamilyProperties){
            .queueFlags = VK_QUEUE_COMPUTE_BIT | VK_QUEUE_GRAPHICS_BIT,
            .queueCount = 1,
            .timestampValidBits = 64,
        };
    if (described->properties.subgroup.subgroupSize == 0)
        described->properties.subgroup = (VkPhysicalDeviceSubgroupProperties){.subgroupSize = 1};
    // Kernels on matrices run in compute shaders or nowhere; no device lists another stage alone.
    if (described->shape_count > 0)
        described->properties.matrix.cooperativeMatrixSupportedStages |= VK_SHADER_STAGE_COMPUTE_BIT;
}

// The length of a structure's name without KHR or EXT. Other endings tell different structures apart.
static size_t stem(const char *name)
{
    size_t length = strlen(name);
    bool ends = length > 3 && (strcmp(name + length - 3, "KHR") == 0 || strcmp(name + length - 3, "EXT") == 0);
    return ends ? length - 3 : length;
}

const vkf__described_member *vkf__described_find(const char *structure, const char *name)
{
    static const char prefix[] = "VkPhysicalDevice";
    if (strncmp(structure, prefix, sizeof prefix - 1) != 0)
        return NULL;
    structure += sizeof prefix - 1;
    for (size_t i = 0; i < COUNT(members); i++) {
        const vkf__described_member *member = &members[i];
        bool own =
            strlen(member->structure) == stem(structure) && strncmp(member->structure, structure, stem(structure)) == 0;
        if (strcmp(member->name, name) == 0 && (own || (member->core && strcmp(member->core, structure) == 0)))
            return member;
    }
    return NULL;
}

const vkf__described_list *vkf__described_find_list(const char *name)
{
    for (size_t i = 0; i < COUNT(lists); i++)
        if (strcmp(lists[i].name, name) == 0)
            return &lists[i];
    return NULL;
}

bool vkf__described_constant(const char *name, uint32_t *out_value)
{
    for (size_t i = 0; i < COUNT(constants); i++) {
        if (strcmp(constants[i].name, name) != 0)
            continue;
        *out_value = constants[i].value;
        return true;
    }
    return false;
}

// ---- what Vulkan's functions answer; the handle of the device is the description

static const vkf__described *of(VkPhysicalDevice device)
{
    return (const vkf__described *)(const void *)device;
}

// Copies what follows the head of a structure, so that a chain stays as it is.
static void answer(void *out_structure, const void *structure, size_t size)
{
    memcpy((char *)out_structure + sizeof(VkBaseOutStructure), (const char *)structure + sizeof(VkBaseOutStructure),
           size - sizeof(VkBaseOutStructure));
}

static VKAPI_ATTR VkResult VKAPI_CALL list_extensions(VkPhysicalDevice device, const char *layer, uint32_t *count,
                                                      VkExtensionProperties *out)
{
    const vkf__described *described = of(device);
    (void)layer;
    for (uint32_t i = 0; out && i < *count && i < described->extension_count; i++)
        out[i] = described->extensions[i];
    *count = (uint32_t)described->extension_count;
    return VK_SUCCESS;
}

static VKAPI_ATTR void VKAPI_CALL get_properties(VkPhysicalDevice device, VkPhysicalDeviceProperties *out)
{
    *out = of(device)->properties.core;
}

static VKAPI_ATTR void VKAPI_CALL get_properties2(VkPhysicalDevice device, VkPhysicalDeviceProperties2 *out)
{
    const vkf__described_properties *p = &of(device)->properties;
    const struct {
        VkStructureType type;
        const void *structure;
        size_t size;
    } answers[] = {
        {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES, &p->subgroup, sizeof p->subgroup},
        {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES, &p->subgroup_sizes,
         sizeof p->subgroup_sizes},
        {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES, &p->maintenance3, sizeof p->maintenance3},
        {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES, &p->driver, sizeof p->driver},
        {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_PROPERTIES, &p->integer_dot,
         sizeof p->integer_dot},
        {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FLOAT_CONTROLS_PROPERTIES, &p->floats, sizeof p->floats},
        {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_PROPERTIES_KHR, &p->matrix, sizeof p->matrix},
        {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_2_PROPERTIES_NV, &p->matrix2, sizeof p->matrix2},
    };
    out->properties = p->core;
    for (VkBaseOutStructure *link = out->pNext; link; link = link->pNext)
        for (size_t i = 0; i < COUNT(answers); i++)
            if (link->sType == answers[i].type)
                answer(link, answers[i].structure, answers[i].size);
}

static VKAPI_ATTR void VKAPI_CALL get_features2(VkPhysicalDevice device, VkPhysicalDeviceFeatures2 *out)
{
    const vkf__features *features = &of(device)->features;
    out->features = features->head.features;
    for (VkBaseOutStructure *link = out->pNext; link; link = link->pNext)
        for (uint32_t i = 0; i < VKF_FEATURE_STRUCTURE_COUNT; i++)
            if (link->sType == vkf__feature_structures[i].type)
                answer(link, (const char *)features + vkf__feature_structures[i].offset,
                       vkf__feature_structures[i].size);
}

static VKAPI_ATTR void VKAPI_CALL get_memory(VkPhysicalDevice device, VkPhysicalDeviceMemoryProperties2 *out)
{
    const vkf__described *described = of(device);
    VkPhysicalDeviceMemoryProperties *memory = &out->memoryProperties;
    memory->memoryHeapCount = described->heap_count;
    memory->memoryTypeCount = described->type_count;
    memcpy(memory->memoryHeaps, described->heaps, sizeof described->heaps);
    memcpy(memory->memoryTypes, described->types, sizeof described->types);
}

static VKAPI_ATTR void VKAPI_CALL list_families(VkPhysicalDevice device, uint32_t *count, VkQueueFamilyProperties *out)
{
    const vkf__described *described = of(device);
    for (uint32_t i = 0; out && i < *count && i < described->family_count; i++)
        out[i] = described->families[i];
    *count = described->family_count;
}

static VKAPI_ATTR VkResult VKAPI_CALL list_shapes(VkPhysicalDevice device, uint32_t *count,
                                                  VkCooperativeMatrixPropertiesKHR *out)
{
    const vkf__described *described = of(device);
    for (uint32_t i = 0; out && i < *count && i < described->shape_count; i++)
        answer(&out[i], &described->shapes[i], sizeof out[i]);
    *count = described->shape_count;
    return VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL list_flexible(VkPhysicalDevice device, uint32_t *count,
                                                    VkCooperativeMatrixFlexibleDimensionsPropertiesNV *out)
{
    const vkf__described *described = of(device);
    for (uint32_t i = 0; out && i < *count && i < described->flexible_count; i++)
        answer(&out[i], &described->flexible[i], sizeof out[i]);
    *count = described->flexible_count;
    return VK_SUCCESS;
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_proc(VkInstance instance, const char *name)
{
    (void)instance;
    if (strcmp(name, "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR") == 0)
        return (PFN_vkVoidFunction)list_shapes;
    if (strcmp(name, "vkGetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV") == 0)
        return (PFN_vkVoidFunction)list_flexible;
    return NULL;
}

vkf_status vkf__described_caps(const vkf__described *described, vkf__caps *out_caps)
{
    const vkf__instance instance = {
        .host = described->host,
        .get_proc = get_proc,
        .api_version = VK_API_VERSION_1_3, // as of an instance that is made here
        .vkEnumerateDeviceExtensionProperties = list_extensions,
        .vkGetPhysicalDeviceProperties = get_properties,
        .vkGetPhysicalDeviceProperties2 = get_properties2,
        .vkGetPhysicalDeviceFeatures2 = get_features2,
        .vkGetPhysicalDeviceMemoryProperties2 = get_memory,
        .vkGetPhysicalDeviceQueueFamilyProperties = list_families,
    };
    return vkf__caps_read(&instance, (VkPhysicalDevice)(uintptr_t)described, out_caps);
}

// ---- a real device, treated as no better than a described one

static bool same_shape(const vkf__matrix_shape *a, const vkf__matrix_shape *b)
{
    return a->m == b->m && a->n == b->n && a->k == b->k && a->a_type == b->a_type && a->b_type == b->b_type &&
           a->c_type == b->c_type && a->result_type == b->result_type && a->scope == b->scope &&
           a->saturating == b->saturating && a->workgroup_invocations == b->workgroup_invocations;
}

// Keeps the shapes that the other list has, too. A profile cannot list shapes; then all of them stay.
static uint32_t keep_shapes(vkf__matrix_shape *shapes, uint32_t count, const vkf__matrix_shape *other,
                            uint32_t other_count)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        bool listed = other_count == 0;
        for (uint32_t k = 0; k < other_count && !listed; k++)
            listed = same_shape(&shapes[i], &other[k]);
        if (listed)
            shapes[kept++] = shapes[i];
    }
    return kept;
}

void vkf__caps_limit_to(vkf__caps *caps, const vkf__caps *described)
{
    const uint32_t subgroup_size = caps->subgroup_size;
    vkf__caps_matrix *matrix = &caps->matrix;
    for (uint32_t i = 0; i < VKF_FEATURE_COUNT; i++) {
        const vkf__feature *feature = &vkf__feature_table[i];
        bool both = vkf__feature_in_caps(feature, caps) && vkf__feature_in_caps(feature, described);
        vkf__feature_set_in_caps(feature, caps, both);
    }
#define LOWER(field, name, type)        \
    if (caps->field > described->field) \
        caps->field = described->field;
    VKF_CAPS_LIMITS(LOWER)
    LOWER(api_version, , )
#undef LOWER
    caps->subgroup_size = subgroup_size;
    matrix->shape_count =
        keep_shapes(matrix->shapes, matrix->shape_count, described->matrix.shapes, described->matrix.shape_count);
    matrix->flexible_count = keep_shapes(matrix->flexible, matrix->flexible_count, described->matrix.flexible,
                                         described->matrix.flexible_count);
    if (!matrix->cooperative_matrix)
        *matrix = (vkf__caps_matrix){0};
}
