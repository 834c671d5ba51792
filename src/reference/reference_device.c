// Instance, device and objects. Most objects have nothing to remember: what a dispatch needs is told with it.
#include "reference/reference_device.h"

#include <stdlib.h>
#include <string.h>

#include "vk/described.h"
#include "vk/named_function.h"

#define HEAP_BYTES (UINT64_C(1) << 36) // of addresses; what the host does not have ends in OUT_OF_DEVICE_MEMORY
#define ALIGNMENT 64u

typedef struct instance {
    vkf__host host;
    vkf__described device; // the handle of the physical device is a pointer to it
} instance;

// Gives a handle for `size` bytes of zeros.
static VkResult make(size_t size, void *out_handle, size_t handle_bytes)
{
    void *object = calloc(1, size);
    const uint64_t handle = (uintptr_t)object;
    memcpy(out_handle, handle_bytes == sizeof object ? (const void *)&object : (const void *)&handle, handle_bytes);
    return object ? VK_SUCCESS : VK_ERROR_OUT_OF_HOST_MEMORY;
}

#define MAKE(size, out_handle) make((size), (out_handle), sizeof *(out_handle))

// ---- objects without content: X(what, type of its description)

#define PLAIN_OBJECTS(X)                                    \
    X(BufferView, VkBufferViewCreateInfo)                   \
    X(Semaphore, VkSemaphoreCreateInfo)                     \
    X(ShaderModule, VkShaderModuleCreateInfo)               \
    X(PipelineCache, VkPipelineCacheCreateInfo)             \
    X(PipelineLayout, VkPipelineLayoutCreateInfo)           \
    X(DescriptorSetLayout, VkDescriptorSetLayoutCreateInfo) \
    X(DescriptorPool, VkDescriptorPoolCreateInfo)

#define DEFINE_CREATE(what, info_type)                                                                         \
    static VKAPI_ATTR VkResult VKAPI_CALL create_##what(VkDevice device, const info_type *info,                \
                                                        const VkAllocationCallbacks *callbacks, Vk##what *out) \
    {                                                                                                          \
        (void)device, (void)info, (void)callbacks;                                                             \
        return MAKE(1, out);                                                                                   \
    }
PLAIN_OBJECTS(DEFINE_CREATE)
#undef DEFINE_CREATE

#define FREED_OBJECTS(X)   \
    X(Buffer)              \
    X(Fence)               \
    X(QueryPool)           \
    X(BufferView)          \
    X(Semaphore)           \
    X(ShaderModule)        \
    X(PipelineCache)       \
    X(PipelineLayout)      \
    X(DescriptorSetLayout) \
    X(DescriptorPool)      \
    X(Pipeline)

#define DEFINE_DESTROY(what)                                                                 \
    static VKAPI_ATTR void VKAPI_CALL destroy_##what(VkDevice device, Vk##what handle,       \
                                                     const VkAllocationCallbacks *callbacks) \
    {                                                                                        \
        (void)device, (void)callbacks;                                                       \
        free(VKF_REFERENCE_OBJECT(void, handle));                                            \
    }
FREED_OBJECTS(DEFINE_DESTROY)
#undef DEFINE_DESTROY

// ---- memory and buffers

static VKAPI_ATTR VkResult VKAPI_CALL allocate_memory(VkDevice device, const VkMemoryAllocateInfo *info,
                                                      const VkAllocationCallbacks *callbacks, VkDeviceMemory *out)
{
    (void)device, (void)callbacks;
    if (info->allocationSize > SIZE_MAX / 2)
        return VK_ERROR_OUT_OF_DEVICE_MEMORY;
    if (MAKE(sizeof(vkf__reference_memory) + (size_t)info->allocationSize, out) != VK_SUCCESS)
        return VK_ERROR_OUT_OF_DEVICE_MEMORY;
    VKF_REFERENCE_OBJECT(vkf__reference_memory, *out)->size_bytes = info->allocationSize;
    return VK_SUCCESS;
}

static VKAPI_ATTR void VKAPI_CALL free_memory(VkDevice device, VkDeviceMemory memory,
                                              const VkAllocationCallbacks *callbacks)
{
    (void)device, (void)callbacks;
    free(VKF_REFERENCE_OBJECT(void, memory));
}

static VKAPI_ATTR VkResult VKAPI_CALL map_memory(VkDevice device, VkDeviceMemory memory, VkDeviceSize offset,
                                                 VkDeviceSize size, VkMemoryMapFlags flags, void **out)
{
    (void)device, (void)size, (void)flags;
    *out = VKF_REFERENCE_OBJECT(vkf__reference_memory, memory)->bytes + offset;
    return VK_SUCCESS;
}

static VKAPI_ATTR void VKAPI_CALL unmap_memory(VkDevice device, VkDeviceMemory memory)
{
    (void)device, (void)memory;
}

static VKAPI_ATTR VkResult VKAPI_CALL keep_ranges(VkDevice device, uint32_t count, const VkMappedMemoryRange *ranges)
{
    (void)device, (void)count, (void)ranges;
    return VK_SUCCESS; // all memory is coherent
}

static VKAPI_ATTR VkResult VKAPI_CALL create_buffer(VkDevice device, const VkBufferCreateInfo *info,
                                                    const VkAllocationCallbacks *callbacks, VkBuffer *out)
{
    (void)device, (void)callbacks;
    const VkResult result = MAKE(sizeof(vkf__reference_buffer), out);
    if (result == VK_SUCCESS)
        VKF_REFERENCE_OBJECT(vkf__reference_buffer, *out)->size_bytes = info->size;
    return result;
}

static VKAPI_ATTR void VKAPI_CALL get_requirements(VkDevice device, VkBuffer buffer, VkMemoryRequirements *out)
{
    (void)device;
    const uint64_t size = VKF_REFERENCE_OBJECT(vkf__reference_buffer, buffer)->size_bytes;
    *out = (VkMemoryRequirements){.size = size, .alignment = ALIGNMENT, .memoryTypeBits = 1};
}

static VKAPI_ATTR void VKAPI_CALL get_requirements2(VkDevice device, const VkBufferMemoryRequirementsInfo2 *info,
                                                    VkMemoryRequirements2 *out)
{
    get_requirements(device, info->buffer, &out->memoryRequirements);
}

static VKAPI_ATTR VkResult VKAPI_CALL bind_memory(VkDevice device, VkBuffer buffer, VkDeviceMemory memory,
                                                  VkDeviceSize offset)
{
    (void)device;
    vkf__reference_buffer *bound = VKF_REFERENCE_OBJECT(vkf__reference_buffer, buffer);
    bound->memory = VKF_REFERENCE_OBJECT(vkf__reference_memory, memory);
    bound->offset_bytes = offset;
    return VK_SUCCESS;
}

uint8_t *vkf__reference_bytes(VkBuffer buffer, uint64_t offset_bytes, uint64_t size_bytes)
{
    const vkf__reference_buffer *bound = VKF_REFERENCE_OBJECT(vkf__reference_buffer, buffer);
    if (!bound || !bound->memory || offset_bytes > bound->size_bytes || size_bytes > bound->size_bytes - offset_bytes)
        return NULL;
    return bound->memory->bytes + bound->offset_bytes + offset_bytes;
}

// ---- what a submission leaves behind it has ended

static VKAPI_ATTR VkResult VKAPI_CALL create_fence(VkDevice device, const VkFenceCreateInfo *info,
                                                   const VkAllocationCallbacks *callbacks, VkFence *out)
{
    (void)device, (void)callbacks;
    const VkResult result = MAKE(sizeof(vkf__reference_fence), out);
    if (result == VK_SUCCESS)
        VKF_REFERENCE_OBJECT(vkf__reference_fence, *out)->signaled = info->flags & VK_FENCE_CREATE_SIGNALED_BIT;
    return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL reset_fences(VkDevice device, uint32_t count, const VkFence *fences)
{
    (void)device;
    for (uint32_t i = 0; i < count; i++)
        VKF_REFERENCE_OBJECT(vkf__reference_fence, fences[i])->signaled = false;
    return VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL get_fence_status(VkDevice device, VkFence fence)
{
    (void)device;
    return VKF_REFERENCE_OBJECT(vkf__reference_fence, fence)->signaled ? VK_SUCCESS : VK_NOT_READY;
}

static VKAPI_ATTR VkResult VKAPI_CALL wait_for_fences(VkDevice device, uint32_t count, const VkFence *fences,
                                                      VkBool32 all, uint64_t timeout)
{
    (void)all, (void)timeout;
    for (uint32_t i = 0; i < count; i++)
        if (get_fence_status(device, fences[i]) != VK_SUCCESS)
            return VK_TIMEOUT;
    return VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL create_query_pool(VkDevice device, const VkQueryPoolCreateInfo *info,
                                                        const VkAllocationCallbacks *callbacks, VkQueryPool *out)
{
    (void)device, (void)callbacks;
    const VkResult result = MAKE(sizeof(vkf__reference_queries) + sizeof(uint64_t) * info->queryCount, out);
    if (result == VK_SUCCESS)
        VKF_REFERENCE_OBJECT(vkf__reference_queries, *out)->count = info->queryCount;
    return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL get_query_results(VkDevice device, VkQueryPool pool, uint32_t first,
                                                        uint32_t count, size_t bytes, void *out, VkDeviceSize stride,
                                                        VkQueryResultFlags flags)
{
    const vkf__reference_queries *queries = VKF_REFERENCE_OBJECT(vkf__reference_queries, pool);
    (void)device, (void)bytes, (void)flags;
    for (uint32_t i = 0; i < count; i++)
        memcpy((char *)out + i * stride, &queries->ticks[first + i], sizeof queries->ticks[0]);
    return VK_SUCCESS;
}

// ---- pipelines and descriptors

static VKAPI_ATTR VkResult VKAPI_CALL create_pipelines(VkDevice device, VkPipelineCache cache, uint32_t count,
                                                       const VkComputePipelineCreateInfo *infos,
                                                       const VkAllocationCallbacks *callbacks, VkPipeline *out)
{
    VkResult result = VK_SUCCESS;
    (void)device, (void)cache, (void)infos, (void)callbacks;
    for (uint32_t i = 0; i < count; i++)
        if (MAKE(1, &out[i]) != VK_SUCCESS)
            result = VK_ERROR_OUT_OF_HOST_MEMORY;
    return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL get_cache_data(VkDevice device, VkPipelineCache cache, size_t *size, void *out)
{
    (void)device, (void)cache, (void)out;
    *size = 0;
    return VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL merge_caches(VkDevice device, VkPipelineCache into, uint32_t count,
                                                   const VkPipelineCache *caches)
{
    (void)device, (void)into, (void)count, (void)caches;
    return VK_SUCCESS;
}

// Sets have nothing to free: all are the pool that they came from.
static VKAPI_ATTR VkResult VKAPI_CALL allocate_sets(VkDevice device, const VkDescriptorSetAllocateInfo *info,
                                                    VkDescriptorSet *out)
{
    (void)device;
    for (uint32_t i = 0; i < info->descriptorSetCount; i++)
        out[i] = (VkDescriptorSet)(uintptr_t)info->descriptorPool;
    return VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL free_sets(VkDevice device, VkDescriptorPool pool, uint32_t count,
                                                const VkDescriptorSet *sets)
{
    (void)device, (void)pool, (void)count, (void)sets;
    return VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL reset_sets(VkDevice device, VkDescriptorPool pool,
                                                 VkDescriptorPoolResetFlags flags)
{
    (void)device, (void)pool, (void)flags;
    return VK_SUCCESS;
}

static VKAPI_ATTR void VKAPI_CALL update_sets(VkDevice device, uint32_t writes, const VkWriteDescriptorSet *write,
                                              uint32_t copies, const VkCopyDescriptorSet *copy)
{
    (void)device, (void)writes, (void)write, (void)copies, (void)copy;
}

// ---- device

static VKAPI_ATTR void VKAPI_CALL destroy_device(VkDevice device, const VkAllocationCallbacks *callbacks)
{
    (void)callbacks;
    free(device);
}

static VKAPI_ATTR VkResult VKAPI_CALL wait_idle(VkDevice device)
{
    (void)device;
    return VK_SUCCESS;
}

static VKAPI_ATTR void VKAPI_CALL get_queue(VkDevice device, uint32_t family, uint32_t index, VkQueue *out)
{
    (void)family, (void)index;
    *out = (VkQueue)(void *)device;
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_device_proc(VkDevice device, const char *name)
{
#define PLAIN_FUNCTION(what, info) VKF_NAMED_FUNCTION("vkCreate" #what, create_##what),
#define FREED_FUNCTION(what) VKF_NAMED_FUNCTION("vkDestroy" #what, destroy_##what),
    static const vkf__named_function functions[] = {
        PLAIN_OBJECTS(PLAIN_FUNCTION) FREED_OBJECTS(FREED_FUNCTION)
            VKF_NAMED_FUNCTION("vkDestroyDevice", destroy_device),
        VKF_NAMED_FUNCTION("vkDeviceWaitIdle", wait_idle),
        VKF_NAMED_FUNCTION("vkGetDeviceQueue", get_queue),
        VKF_NAMED_FUNCTION("vkAllocateMemory", allocate_memory),
        VKF_NAMED_FUNCTION("vkFreeMemory", free_memory),
        VKF_NAMED_FUNCTION("vkMapMemory", map_memory),
        VKF_NAMED_FUNCTION("vkUnmapMemory", unmap_memory),
        VKF_NAMED_FUNCTION("vkFlushMappedMemoryRanges", keep_ranges),
        VKF_NAMED_FUNCTION("vkInvalidateMappedMemoryRanges", keep_ranges),
        VKF_NAMED_FUNCTION("vkCreateBuffer", create_buffer),
        VKF_NAMED_FUNCTION("vkGetBufferMemoryRequirements", get_requirements),
        VKF_NAMED_FUNCTION("vkGetBufferMemoryRequirements2", get_requirements2),
        VKF_NAMED_FUNCTION("vkBindBufferMemory", bind_memory),
        VKF_NAMED_FUNCTION("vkCreateFence", create_fence),
        VKF_NAMED_FUNCTION("vkResetFences", reset_fences),
        VKF_NAMED_FUNCTION("vkGetFenceStatus", get_fence_status),
        VKF_NAMED_FUNCTION("vkWaitForFences", wait_for_fences),
        VKF_NAMED_FUNCTION("vkCreateQueryPool", create_query_pool),
        VKF_NAMED_FUNCTION("vkGetQueryPoolResults", get_query_results),
        VKF_NAMED_FUNCTION("vkCreateComputePipelines", create_pipelines),
        VKF_NAMED_FUNCTION("vkGetPipelineCacheData", get_cache_data),
        VKF_NAMED_FUNCTION("vkMergePipelineCaches", merge_caches),
        VKF_NAMED_FUNCTION("vkAllocateDescriptorSets", allocate_sets),
        VKF_NAMED_FUNCTION("vkFreeDescriptorSets", free_sets),
        VKF_NAMED_FUNCTION("vkResetDescriptorPool", reset_sets),
        VKF_NAMED_FUNCTION("vkUpdateDescriptorSets", update_sets),
    };
#undef PLAIN_FUNCTION
#undef FREED_FUNCTION
    (void)device;
    PFN_vkVoidFunction function = VKF_FIND_FUNCTION(functions, name);
    return function ? function : vkf__reference_command(name);
}

// ---- instance

static VKAPI_ATTR VkResult VKAPI_CALL create_device(VkPhysicalDevice physical, const VkDeviceCreateInfo *info,
                                                    const VkAllocationCallbacks *callbacks, VkDevice *out)
{
    (void)physical, (void)info, (void)callbacks;
    return MAKE(1, out);
}

static VKAPI_ATTR VkResult VKAPI_CALL enumerate_version(uint32_t *out)
{
    *out = VK_API_VERSION_1_3;
    return VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL enumerate_extensions(const char *layer, uint32_t *count,
                                                           VkExtensionProperties *out)
{
    (void)layer, (void)out;
    *count = 0;
    return VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL enumerate_layers(uint32_t *count, VkLayerProperties *out)
{
    (void)out;
    *count = 0;
    return VK_SUCCESS;
}

// What references do costs them nothing to offer; sizes are those of software Vulkan.
static void describe(vkf__described *device)
{
    VkPhysicalDeviceProperties *core = &device->properties.core;
    core->apiVersion = VK_API_VERSION_1_3;
    core->deviceType = VK_PHYSICAL_DEVICE_TYPE_CPU;
    (void)strcpy(core->deviceName, "reference (scalar, on the host)");
    (void)strcpy(device->properties.driver.driverName, "vkformer's references");
    VkPhysicalDeviceLimits *limits = &core->limits;
    limits->maxComputeWorkGroupInvocations = 1024;
    for (int i = 0; i < 3; i++)
        limits->maxComputeWorkGroupSize[i] = 1024;
    limits->maxComputeSharedMemorySize = 32768;
    limits->maxPerStageDescriptorStorageBuffers = 32;
    limits->maxStorageBufferRange = UINT32_MAX;
    limits->maxUniformBufferRange = 65536;
    limits->maxTexelBufferElements = UINT32_C(1) << 27;
    limits->maxPushConstantsSize = 256;
    limits->minStorageBufferOffsetAlignment = limits->minUniformBufferOffsetAlignment = 16;
    limits->minTexelBufferOffsetAlignment = limits->nonCoherentAtomSize = 16;
    device->properties.maintenance3.maxMemoryAllocationSize = HEAP_BYTES;
    device->properties.maintenance4.maxBufferSize = HEAP_BYTES;
    device->properties.subgroup = (VkPhysicalDeviceSubgroupProperties){
        .subgroupSize = 8,
        .supportedStages = VK_SHADER_STAGE_COMPUTE_BIT,
        .supportedOperations =
            VK_SUBGROUP_FEATURE_BASIC_BIT | VK_SUBGROUP_FEATURE_ARITHMETIC_BIT | VK_SUBGROUP_FEATURE_SHUFFLE_BIT,
    };
    device->features.storage_16bit.storageBuffer16BitAccess = VK_TRUE;
    device->features.storage_16bit.uniformAndStorageBuffer16BitAccess = VK_TRUE;
    device->features.integer_dot.shaderIntegerDotProduct = VK_TRUE;
    device->properties.integer_dot.integerDotProduct4x8BitPackedSignedAccelerated = VK_TRUE;
    vkf__described_complete(device);
    device->heaps[0].size = HEAP_BYTES;
    device->types[0].propertyFlags |= VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
}

static VKAPI_ATTR VkResult VKAPI_CALL create_instance(const VkInstanceCreateInfo *info,
                                                      const VkAllocationCallbacks *callbacks, VkInstance *out)
{
    (void)info, (void)callbacks;
    const VkResult result = MAKE(sizeof(instance), out);
    if (result != VK_SUCCESS)
        return result;
    instance *made = (instance *)(void *)*out;
    vkf__described_init(&made->device, &made->host);
    describe(&made->device);
    return VK_SUCCESS;
}

static VKAPI_ATTR void VKAPI_CALL destroy_instance(VkInstance handle, const VkAllocationCallbacks *callbacks)
{
    (void)callbacks;
    free(handle);
}

static VKAPI_ATTR VkResult VKAPI_CALL enumerate_devices(VkInstance handle, uint32_t *count, VkPhysicalDevice *out)
{
    if (out && *count > 0)
        *out = (VkPhysicalDevice)(void *)&((instance *)(void *)handle)->device;
    *count = 1;
    return VK_SUCCESS;
}

vkf_void_function vkf__reference_get_proc(void *handle, const char *name)
{
    static const vkf__named_function functions[] = {
        VKF_NAMED_FUNCTION("vkEnumerateInstanceVersion", enumerate_version),
        VKF_NAMED_FUNCTION("vkEnumerateInstanceExtensionProperties", enumerate_extensions),
        VKF_NAMED_FUNCTION("vkEnumerateInstanceLayerProperties", enumerate_layers),
        VKF_NAMED_FUNCTION("vkCreateInstance", create_instance),
        VKF_NAMED_FUNCTION("vkDestroyInstance", destroy_instance),
        VKF_NAMED_FUNCTION("vkEnumeratePhysicalDevices", enumerate_devices),
        VKF_NAMED_FUNCTION("vkCreateDevice", create_device),
        VKF_NAMED_FUNCTION("vkGetDeviceProcAddr", get_device_proc),
    };
    (void)handle;
    PFN_vkVoidFunction function = VKF_FIND_FUNCTION(functions, name);
    return (vkf_void_function)(function ? function : vkf__described_function(name));
}
