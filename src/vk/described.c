// The members of Vulkan's structures that a description may set, and the functions through which it is read.
#include "vk/described.h"

#include <string.h>

#include "vk/named_function.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

// X(kind, number of values, name, path in vkf__described): the members of structures. A member has one name wherever it
// is: in a structure of an extension, and in that of a version of Vulkan which has taken it over.
#define FEATURE(X, name, structure) X(BOOL, 1, name, features.structure.name)
#define LIMIT(X, kind, name, count) X(kind, count, name, properties.core.limits.name)
#define TEXT(X, name, structure) X(TEXT, VK_MAX_DRIVER_NAME_SIZE, name, properties.structure.name)
#define PROPERTY(X, kind, name, structure) X(kind, 1, name, properties.structure.name)
#define MEMBERS(X)                                                                    \
    FEATURE(X, shaderInt64, head.features)                                            \
    FEATURE(X, shaderInt16, head.features)                                            \
    FEATURE(X, shaderFloat64, head.features)                                          \
    FEATURE(X, pipelineStatisticsQuery, head.features)                                \
    FEATURE(X, storageBuffer16BitAccess, storage_16bit)                               \
    FEATURE(X, uniformAndStorageBuffer16BitAccess, storage_16bit)                     \
    FEATURE(X, storagePushConstant16, storage_16bit)                                  \
    FEATURE(X, storageBuffer8BitAccess, storage_8bit)                                 \
    FEATURE(X, uniformAndStorageBuffer8BitAccess, storage_8bit)                       \
    FEATURE(X, storagePushConstant8, storage_8bit)                                    \
    FEATURE(X, shaderFloat16, float16)                                                \
    FEATURE(X, shaderInt8, float16)                                                   \
    FEATURE(X, bufferDeviceAddress, address)                                          \
    FEATURE(X, vulkanMemoryModel, memory_model)                                       \
    FEATURE(X, vulkanMemoryModelDeviceScope, memory_model)                            \
    FEATURE(X, hostQueryReset, query_reset)                                           \
    FEATURE(X, computeFullSubgroups, subgroup_size)                                   \
    FEATURE(X, subgroupSizeControl, subgroup_size)                                    \
    FEATURE(X, maintenance4, maintenance4)                                            \
    FEATURE(X, shaderIntegerDotProduct, integer_dot)                                  \
    FEATURE(X, pipelineExecutableInfo, executable)                                    \
    FEATURE(X, performanceCounterQueryPools, performance)                             \
    FEATURE(X, cooperativeMatrix, matrix)                                             \
    FEATURE(X, shaderBFloat16Type, bfloat16)                                          \
    FEATURE(X, shaderBFloat16CooperativeMatrix, bfloat16)                             \
    FEATURE(X, cooperativeMatrixWorkgroupScope, matrix2)                              \
    FEATURE(X, cooperativeMatrixFlexibleDimensions, matrix2)                          \
    FEATURE(X, cooperativeMatrixReductions, matrix2)                                  \
    FEATURE(X, cooperativeMatrixConversions, matrix2)                                 \
    FEATURE(X, cooperativeMatrixPerElementOperations, matrix2)                        \
    FEATURE(X, cooperativeMatrixTensorAddressing, matrix2)                            \
    FEATURE(X, cooperativeMatrixBlockLoads, matrix2)                                  \
    PROPERTY(X, VERSION, apiVersion, core)                                            \
    PROPERTY(X, U32, driverVersion, core)                                             \
    PROPERTY(X, U32, vendorID, core)                                                  \
    PROPERTY(X, U32, deviceID, core)                                                  \
    PROPERTY(X, ENUM, deviceType, core)                                               \
    TEXT(X, deviceName, core)                                                         \
    LIMIT(X, U32, maxComputeWorkGroupInvocations, 1)                                  \
    LIMIT(X, U32, maxComputeWorkGroupSize, 3)                                         \
    LIMIT(X, U32, maxComputeWorkGroupCount, 3)                                        \
    LIMIT(X, U32, maxComputeSharedMemorySize, 1)                                      \
    LIMIT(X, U32, maxPerStageDescriptorStorageBuffers, 1)                             \
    LIMIT(X, U32, maxStorageBufferRange, 1)                                           \
    LIMIT(X, U32, maxUniformBufferRange, 1)                                           \
    LIMIT(X, U32, maxTexelBufferElements, 1)                                          \
    LIMIT(X, U32, maxPushConstantsSize, 1)                                            \
    LIMIT(X, U32, maxMemoryAllocationCount, 1)                                        \
    LIMIT(X, U64, minStorageBufferOffsetAlignment, 1)                                 \
    LIMIT(X, U64, minUniformBufferOffsetAlignment, 1)                                 \
    LIMIT(X, U64, minTexelBufferOffsetAlignment, 1)                                   \
    LIMIT(X, U64, nonCoherentAtomSize, 1)                                             \
    LIMIT(X, F32, timestampPeriod, 1)                                                 \
    PROPERTY(X, U32, subgroupSize, subgroup)                                          \
    PROPERTY(X, FLAGS, supportedStages, subgroup)                                     \
    PROPERTY(X, FLAGS, supportedOperations, subgroup)                                 \
    X(FLAGS, 1, subgroupSupportedStages, properties.subgroup.supportedStages)         \
    X(FLAGS, 1, subgroupSupportedOperations, properties.subgroup.supportedOperations) \
    PROPERTY(X, U64, maxMemoryAllocationSize, maintenance3)                           \
    PROPERTY(X, U64, maxBufferSize, maintenance4)                                     \
    PROPERTY(X, ENUM, driverID, driver)                                               \
    TEXT(X, driverName, driver)                                                       \
    TEXT(X, driverInfo, driver)                                                       \
    PROPERTY(X, ENUM, roundingModeIndependence, floats)                               \
    PROPERTY(X, BOOL, shaderRoundingModeRTEFloat16, floats)                           \
    PROPERTY(X, BOOL, shaderRoundingModeRTEFloat32, floats)                           \
    PROPERTY(X, U32, minSubgroupSize, subgroup_sizes)                                 \
    PROPERTY(X, U32, maxSubgroupSize, subgroup_sizes)                                 \
    PROPERTY(X, U32, maxComputeWorkgroupSubgroups, subgroup_sizes)                    \
    PROPERTY(X, FLAGS, requiredSubgroupSizeStages, subgroup_sizes)                    \
    PROPERTY(X, BOOL, integerDotProduct4x8BitPackedSignedAccelerated, integer_dot)    \
    PROPERTY(X, FLAGS, cooperativeMatrixSupportedStages, matrix)                      \
    PROPERTY(X, U32, cooperativeMatrixFlexibleDimensionsMaxDimension, matrix2)        \
    PROPERTY(X, U32, cooperativeMatrixWorkgroupScopeMaxWorkgroupSize, matrix2)        \
    PROPERTY(X, U32, cooperativeMatrixWorkgroupScopeReservedSharedMemory, matrix2)    \
    PROPERTY(X, U32, shaderSMCount, nvidia_cores)                                     \
    PROPERTY(X, U32, shaderWarpsPerSM, nvidia_cores)                                  \
    PROPERTY(X, U32, shaderEngineCount, amd_cores)                                    \
    PROPERTY(X, U32, shaderArraysPerEngineCount, amd_cores)                           \
    PROPERTY(X, U32, computeUnitsPerShaderArray, amd_cores)                           \
    PROPERTY(X, U32, simdPerComputeUnit, amd_cores)                                   \
    PROPERTY(X, U32, wavefrontsPerSimd, amd_cores)                                    \
    PROPERTY(X, U32, activeComputeUnitCount, amd_cores2)                              \
    PROPERTY(X, U32, shaderCoreCount, arm_cores)                                      \
    PROPERTY(X, U32, shaderWarpsPerCore, arm_cores)

// X(kind, name): the members of entries of lists.
#define FAMILY_MEMBERS(X) X(FLAGS, queueFlags) X(U32, queueCount) X(U32, timestampValidBits)
#define HEAP_MEMBERS(X) X(U64, size) X(FLAGS, flags)
#define TYPE_MEMBERS(X) X(U32, heapIndex) X(FLAGS, propertyFlags)
#define KIND_MEMBERS(X) \
    X(ENUM, AType) X(ENUM, BType) X(ENUM, CType) X(ENUM, ResultType) X(BOOL, saturatingAccumulation) X(ENUM, scope)
#define SHAPE_MEMBERS(X) X(U32, MSize) X(U32, NSize) X(U32, KSize) KIND_MEMBERS(X)
#define FLEXIBLE_MEMBERS(X) \
    X(U32, MGranularity) X(U32, NGranularity) X(U32, KGranularity) KIND_MEMBERS(X) X(U32, workgroupInvocations)

// X(name): what enumerators and bits are called.
#define CONSTANTS(X)                                     \
    X(VK_PHYSICAL_DEVICE_TYPE_OTHER)                     \
    X(VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU)            \
    X(VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU)              \
    X(VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU)               \
    X(VK_PHYSICAL_DEVICE_TYPE_CPU)                       \
    X(VK_DRIVER_ID_AMD_PROPRIETARY)                      \
    X(VK_DRIVER_ID_AMD_OPEN_SOURCE)                      \
    X(VK_DRIVER_ID_MESA_RADV)                            \
    X(VK_DRIVER_ID_NVIDIA_PROPRIETARY)                   \
    X(VK_DRIVER_ID_INTEL_PROPRIETARY_WINDOWS)            \
    X(VK_DRIVER_ID_INTEL_OPEN_SOURCE_MESA)               \
    X(VK_DRIVER_ID_IMAGINATION_PROPRIETARY)              \
    X(VK_DRIVER_ID_QUALCOMM_PROPRIETARY)                 \
    X(VK_DRIVER_ID_ARM_PROPRIETARY)                      \
    X(VK_DRIVER_ID_GOOGLE_SWIFTSHADER)                   \
    X(VK_DRIVER_ID_BROADCOM_PROPRIETARY)                 \
    X(VK_DRIVER_ID_MESA_LLVMPIPE)                        \
    X(VK_DRIVER_ID_MOLTENVK)                             \
    X(VK_DRIVER_ID_SAMSUNG_PROPRIETARY)                  \
    X(VK_DRIVER_ID_MESA_TURNIP)                          \
    X(VK_DRIVER_ID_MESA_PANVK)                           \
    X(VK_QUEUE_COMPUTE_BIT)                              \
    X(VK_QUEUE_GRAPHICS_BIT)                             \
    X(VK_SHADER_STAGE_COMPUTE_BIT)                       \
    X(VK_SUBGROUP_FEATURE_BASIC_BIT)                     \
    X(VK_SUBGROUP_FEATURE_ARITHMETIC_BIT)                \
    X(VK_SUBGROUP_FEATURE_SHUFFLE_BIT)                   \
    X(VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_32_BIT_ONLY) \
    X(VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_ALL)         \
    X(VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_NONE)        \
    X(VK_MEMORY_HEAP_DEVICE_LOCAL_BIT)                   \
    X(VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT)               \
    X(VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT)               \
    X(VK_MEMORY_PROPERTY_HOST_COHERENT_BIT)              \
    X(VK_MEMORY_PROPERTY_HOST_CACHED_BIT)                \
    X(VK_MEMORY_PROPERTY_LAZILY_ALLOCATED_BIT)           \
    X(VK_MEMORY_PROPERTY_PROTECTED_BIT)                  \
    X(VK_MEMORY_PROPERTY_DEVICE_COHERENT_BIT_AMD)        \
    X(VK_MEMORY_PROPERTY_DEVICE_UNCACHED_BIT_AMD)        \
    X(VK_MEMORY_PROPERTY_RDMA_CAPABLE_BIT_NV)            \
    X(VK_COMPONENT_TYPE_FLOAT16_KHR)                     \
    X(VK_COMPONENT_TYPE_FLOAT32_KHR)                     \
    X(VK_COMPONENT_TYPE_FLOAT64_KHR)                     \
    X(VK_COMPONENT_TYPE_SINT8_KHR)                       \
    X(VK_COMPONENT_TYPE_SINT16_KHR)                      \
    X(VK_COMPONENT_TYPE_SINT32_KHR)                      \
    X(VK_COMPONENT_TYPE_SINT64_KHR)                      \
    X(VK_COMPONENT_TYPE_UINT8_KHR)                       \
    X(VK_COMPONENT_TYPE_UINT16_KHR)                      \
    X(VK_COMPONENT_TYPE_UINT32_KHR)                      \
    X(VK_COMPONENT_TYPE_UINT64_KHR)                      \
    X(VK_COMPONENT_TYPE_BFLOAT16_KHR)                    \
    X(VK_SCOPE_DEVICE_KHR)                               \
    X(VK_SCOPE_WORKGROUP_KHR)                            \
    X(VK_SCOPE_SUBGROUP_KHR)                             \
    X(VK_SCOPE_QUEUE_FAMILY_KHR)

// Names lie behind one another in one text, and rows in the same order beside it: without pointers, which would each
// take a relocation. A text ends with an empty name.
#define NAME(kind, name) #name "\0"
#define MEMBER_NAME(kind, count, name, path) #name "\0"
#define CONSTANT_NAME(name) #name "\0"
#define MEMBER_ROW(kind, count, name, path) {offsetof(vkf__described, path), count, VKF_MEMBER_##kind},

static const char member_names[] = MEMBERS(MEMBER_NAME);
static const vkf__described_member members[] = {MEMBERS(MEMBER_ROW)};

static const char family_names[] = FAMILY_MEMBERS(NAME);
static const char heap_names[] = HEAP_MEMBERS(NAME);
static const char type_names[] = TYPE_MEMBERS(NAME);
static const char shape_names[] = SHAPE_MEMBERS(NAME);
static const char flexible_names[] = FLEXIBLE_MEMBERS(NAME);

#define ENTRY_ROW(kind, name) {offsetof(ENTRY, name), 1, VKF_MEMBER_##kind},
#define ENTRY VkQueueFamilyProperties
static const vkf__described_member family_members[] = {FAMILY_MEMBERS(ENTRY_ROW)};
#undef ENTRY
#define ENTRY VkMemoryHeap
static const vkf__described_member heap_members[] = {HEAP_MEMBERS(ENTRY_ROW)};
#undef ENTRY
#define ENTRY VkMemoryType
static const vkf__described_member type_members[] = {TYPE_MEMBERS(ENTRY_ROW)};
#undef ENTRY
#define ENTRY VkCooperativeMatrixPropertiesKHR
static const vkf__described_member shape_members[] = {SHAPE_MEMBERS(ENTRY_ROW)};
#undef ENTRY
#define ENTRY VkCooperativeMatrixFlexibleDimensionsPropertiesNV
static const vkf__described_member flexible_members[] = {FLEXIBLE_MEMBERS(ENTRY_ROW)};
#undef ENTRY

#define LIST(name, array, number, what)                                                                                \
    {                                                                                                                  \
        name, offsetof(vkf__described, array), offsetof(vkf__described, number),                                       \
            sizeof(((vkf__described *)0)->array[0]), COUNT(((vkf__described *)0)->array), what##_names, what##_members \
    }

static const vkf__described_list lists[] = {
    LIST("VkQueueFamilyProperties", families, family_count, family),
    LIST("memoryHeaps", heaps, heap_count, heap),
    LIST("memoryTypes", types, type_count, type),
    LIST("VkCooperativeMatrixPropertiesKHR", shapes, shape_count, shape),
    LIST("VkCooperativeMatrixFlexibleDimensionsPropertiesNV", flexible, flexible_count, flexible),
};

#define CONSTANT_VALUE(name) (uint32_t)(name),
static const char constant_names[] = CONSTANTS(CONSTANT_NAME);
static const uint32_t constant_values[] = {CONSTANTS(CONSTANT_VALUE)};

// ---- what a description says

void vkf__described_init(vkf__described *described, const vkf__host *host)
{
    *described = (vkf__described){.host = host};
    vkf__features_init(&described->features);
    described->properties.maintenance3.maxMemoryAllocationSize = UINT64_C(1) << 30;
    described->properties.maintenance4.maxBufferSize = UINT64_C(1) << 30;
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

// The number of a name in a text of names; UINT32_MAX when it is not there.
static uint32_t find_name(const char *names, const char *name)
{
    for (uint32_t i = 0; *names; i++, names += strlen(names) + 1)
        if (strcmp(names, name) == 0)
            return i;
    return UINT32_MAX;
}

const vkf__described_member *vkf__described_find(const char *structure, const char *name)
{
    uint32_t index = find_name(member_names, name);
    // An older extension has a feature of the same name, which means another kind of matrices.
    if (index == UINT32_MAX || strcmp(structure, "VkPhysicalDeviceCooperativeMatrixFeaturesNV") == 0)
        return NULL;
    return &members[index];
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
    uint32_t index = find_name(constant_names, name);
    if (index == UINT32_MAX)
        return false;
    *out_value = constant_values[index];
    return true;
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
        {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_4_PROPERTIES, &p->maintenance4, sizeof p->maintenance4},
        {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES, &p->driver, sizeof p->driver},
        {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_PROPERTIES, &p->integer_dot,
         sizeof p->integer_dot},
        {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FLOAT_CONTROLS_PROPERTIES, &p->floats, sizeof p->floats},
        {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_PROPERTIES_KHR, &p->matrix, sizeof p->matrix},
        {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_2_PROPERTIES_NV, &p->matrix2, sizeof p->matrix2},
        {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_SM_BUILTINS_PROPERTIES_NV, &p->nvidia_cores, sizeof p->nvidia_cores},
        {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CORE_PROPERTIES_AMD, &p->amd_cores, sizeof p->amd_cores},
        {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CORE_PROPERTIES_2_AMD, &p->amd_cores2, sizeof p->amd_cores2},
        {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CORE_BUILTINS_PROPERTIES_ARM, &p->arm_cores, sizeof p->arm_cores},
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

PFN_vkVoidFunction vkf__described_function(const char *name)
{
    static const vkf__named_function functions[] = {
        VKF_NAMED_FUNCTION("vkEnumerateDeviceExtensionProperties", list_extensions),
        VKF_NAMED_FUNCTION("vkGetPhysicalDeviceProperties", get_properties),
        VKF_NAMED_FUNCTION("vkGetPhysicalDeviceProperties2", get_properties2),
        VKF_NAMED_FUNCTION("vkGetPhysicalDeviceFeatures2", get_features2),
        VKF_NAMED_FUNCTION("vkGetPhysicalDeviceMemoryProperties2", get_memory),
        VKF_NAMED_FUNCTION("vkGetPhysicalDeviceQueueFamilyProperties", list_families),
        VKF_NAMED_FUNCTION("vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR", list_shapes),
        VKF_NAMED_FUNCTION("vkGetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV", list_flexible),
    };
    return VKF_FIND_FUNCTION(functions, name);
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_proc(VkInstance instance, const char *name)
{
    (void)instance;
    return vkf__described_function(name);
}

vkf_status vkf__described_caps(const vkf__described *described, vkf__caps *out_caps)
{
    vkf__instance instance = {
        .host = described->host,
        .get_proc = get_proc,
        .api_version = VK_API_VERSION_1_3, // as of an instance that is made here
    };
#define LOAD_FUNCTION(name) instance.name = (PFN_##name)vkf__described_function(#name);
    VKF_INSTANCE_FUNCTIONS(LOAD_FUNCTION)
#undef LOAD_FUNCTION
    return vkf__caps_read(&instance, (VkPhysicalDevice)(uintptr_t)described, true, out_caps);
}
