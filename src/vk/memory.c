// Slabs of device memory and the ranges that are cut from them, first fit.
#include "vk/memory.h"

#include <inttypes.h>
#include <string.h>

#include "base/size.h"

#define SLAB_BYTES (UINT64_C(32) << 20)
#define DEDICATED_BYTES (UINT64_C(4) << 20)

// A used range of a slab. Ranges are kept in order of their offsets.
typedef struct vkf__range {
    uint64_t begin;
    uint64_t end;
} vkf__range;

typedef struct vkf__slab {
    VkDeviceMemory memory;
    uint64_t size_bytes;
    uint32_t memory_type;
    uint8_t *mapped;
    vkf__range *used;
    size_t used_count;
    size_t used_capacity;
} vkf__slab;

vkf_status vkf__memory_init(vkf__memory *memory, vkf__device *device)
{
    *memory = (vkf__memory){.device = device};
    memory->usage.heap_count = device->plan.caps.memory.memoryHeapCount;
    if (pthread_mutex_init(&memory->lock, NULL) != 0)
        return vkf__fail(device->host, VKF_ERROR_OUT_OF_HOST_MEMORY, "memory: the system has no mutex left");
    memory->lock_ready = true;
    return VKF_OK;
}

static uint32_t heap_of(const vkf__memory *memory, uint32_t memory_type)
{
    return memory->device->plan.caps.memory.memoryTypes[memory_type].heapIndex;
}

static void slab_destroy(vkf__memory *memory, vkf__slab *slab)
{
    vkf__device *device = memory->device;
    if (slab->memory != VK_NULL_HANDLE) {
        memory->usage.reserved_bytes[heap_of(memory, slab->memory_type)] -= slab->size_bytes;
        device->vk.vkFreeMemory(device->handle, slab->memory, NULL);
    }
    vkf__free(device->host, slab->used);
    vkf__free(device->host, slab);
}

void vkf__memory_finish(vkf__memory *memory)
{
    if (!memory->device)
        return;
    for (size_t i = 0; i < memory->slab_count; i++)
        slab_destroy(memory, memory->slabs[i]);
    vkf__free(memory->device->host, memory->slabs);
    if (memory->lock_ready)
        pthread_mutex_destroy(&memory->lock);
    *memory = (vkf__memory){0};
}

// Finds the first gap that holds the request. *out_at is the index before which the range is inserted.
static bool slab_find(const vkf__slab *slab, uint64_t size, uint64_t alignment, uint64_t *out_begin, size_t *out_at)
{
    uint64_t begin = 0;
    for (size_t i = 0; i <= slab->used_count; i++) {
        uint64_t limit = i < slab->used_count ? slab->used[i].begin : slab->size_bytes;
        if (begin <= limit && limit - begin >= size) {
            *out_begin = begin;
            *out_at = i;
            return true;
        }
        if (i < slab->used_count)
            begin = vkf__align_u64(slab->used[i].end, alignment);
    }
    return false;
}

// NULL for device memory unless memory is unified: the host must not see it even if its slab happens to be mapped.
static uint8_t *mapped_range(const vkf__memory *memory, const vkf__slab *slab, vkf__memory_class class, uint64_t begin)
{
    bool hidden = class == VKF_MEMORY_DEVICE && !memory->device->plan.caps.traits.unified_memory;
    return slab->mapped && !hidden ? slab->mapped + begin : NULL;
}

static vkf_status slab_take(vkf__memory *memory, vkf__slab *slab, vkf__memory_class class, uint64_t begin,
                            uint64_t size, size_t at, vkf__allocation *out)
{
    void *ranges = slab->used;
    vkf_status status = vkf__grow(memory->device->host, &ranges, sizeof *slab->used, slab->used_count,
                                  &slab->used_capacity, slab->used_count + 1);
    if (status != VKF_OK)
        return status;
    slab->used = ranges;
    for (size_t i = slab->used_count; i > at; i--)
        slab->used[i] = slab->used[i - 1];
    slab->used[at] = (vkf__range){begin, begin + size};
    slab->used_count++;
    VkMemoryPropertyFlags flags = memory->device->plan.caps.memory.memoryTypes[slab->memory_type].propertyFlags;
    *out = (vkf__allocation){
        .memory = slab->memory,
        .offset = begin,
        .size_bytes = size,
        .mapped = mapped_range(memory, slab, class, begin),
        .memory_type = slab->memory_type,
        .device_local = (flags & VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT) != 0,
        .host_cached = (flags & VK_MEMORY_PROPERTY_HOST_CACHED_BIT) != 0,
    };
    uint32_t heap = heap_of(memory, slab->memory_type);
    memory->usage.used_bytes[heap] += size;
    if (memory->usage.used_bytes[heap] > memory->usage.peak_bytes[heap])
        memory->usage.peak_bytes[heap] = memory->usage.used_bytes[heap];
    return VKF_OK;
}

static bool is_within_limit(const vkf__memory *memory, uint64_t size)
{
    uint64_t reserved = 0;
    for (uint32_t i = 0; i < memory->usage.heap_count; i++)
        reserved += memory->usage.reserved_bytes[i];
    return memory->limit_bytes == 0 || (reserved <= memory->limit_bytes && size <= memory->limit_bytes - reserved);
}

static vkf_status no_memory(const vkf__memory *memory, uint64_t size, const char *name)
{
    const vkf__host *host = memory->device->host;
    if (!is_within_limit(memory, size))
        return vkf__fail(host, VKF_ERROR_OUT_OF_DEVICE_MEMORY,
                         "%" PRIu64 " bytes more (%s) would exceed device_memory_limit_bytes, %" PRIu64
                         "; use smaller maximum sizes or raise the limit",
                         size, name, memory->limit_bytes);
    return vkf__fail(host, VKF_ERROR_OUT_OF_DEVICE_MEMORY,
                     "no device memory for %" PRIu64 " bytes (%s); use smaller maximum sizes or a device with more",
                     size, name);
}

static vkf_status slab_map(vkf__memory *memory, vkf__slab *slab, const vkf__shared_memory *shared)
{
    vkf__device *device = memory->device;
    const VkMemoryPropertyFlags properties = device->plan.caps.memory.memoryTypes[slab->memory_type].propertyFlags;
    void *mapped = shared ? shared->mapped : NULL;
    const bool wanted = !mapped && !(shared && shared->unmapped);
    if (wanted && (properties & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT))
        VKF_VK_OR_RETURN(device, device->vk.vkMapMemory(device->handle, slab->memory, 0, VK_WHOLE_SIZE, 0, &mapped));
    slab->mapped = mapped;
    return VKF_OK;
}

// Gives back the raw result of vkAllocateMemory: an exhausted heap is no error while another may serve.
static vkf_status slab_create(vkf__memory *memory, uint32_t memory_type, uint64_t size, const char *name,
                              vkf__shared_memory *shared, VkResult *out_result, vkf__slab **out_slab)
{
    vkf__device *device = memory->device;
    vkf_status status = VKF_OK;
    vkf__slab *slab = NULL;
    VKF_ALLOC(device->host, slab, 1);
    slab->memory_type = memory_type;
    const VkMemoryAllocateFlagsInfo flags = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
        .pNext = shared ? shared->chain : NULL,
        .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT,
    };
    VkMemoryAllocateInfo info = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
        .pNext = device->plan.enabled.buffer_device_address ? &flags : flags.pNext,
        .allocationSize = size,
        .memoryTypeIndex = memory_type,
    };
    *out_result = is_within_limit(memory, size)
                      ? device->vk.vkAllocateMemory(device->handle, &info, NULL, &slab->memory)
                      : VK_ERROR_OUT_OF_DEVICE_MEMORY;
    if (*out_result != VK_SUCCESS) {
        slab->memory = VK_NULL_HANDLE;
        slab_destroy(memory, slab);
        return VKF_OK;
    }
    if (shared)
        shared->taken = true;
    slab->size_bytes = size;
    memory->usage.reserved_bytes[heap_of(memory, memory_type)] += size;
    vkf__device_name(device, VK_OBJECT_TYPE_DEVICE_MEMORY, (uint64_t)slab->memory, name);
    VKF_TRY(slab_map(memory, slab, shared));
    void *slabs = memory->slabs;
    VKF_TRY(vkf__grow(device->host, &slabs, sizeof *memory->slabs, memory->slab_count, &memory->slab_capacity,
                      memory->slab_count + 1));
    memory->slabs = slabs;
    memory->slabs[memory->slab_count++] = slab;
    *out_slab = slab;
    return VKF_OK;
fail:
    if (slab)
        slab_destroy(memory, slab);
    return status;
}

static bool type_serves(const vkf__memory *memory, uint32_t type, uint32_t type_bits, vkf__memory_class class)
{
    if (!(type_bits & (1u << type)))
        return false;
    VkMemoryPropertyFlags flags = memory->device->plan.caps.memory.memoryTypes[type].propertyFlags;
    VkMemoryPropertyFlags mapped = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    if (flags & (VK_MEMORY_PROPERTY_PROTECTED_BIT | VK_MEMORY_PROPERTY_LAZILY_ALLOCATED_BIT))
        return false;
    // Non-coherent memory is never chosen for mapping: every host access relies on coherence.
    if (class == VKF_MEMORY_DEVICE)
        return !(flags & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT) || (flags & mapped) == mapped;
    return (flags & mapped) == mapped;
}

// Allocates from one memory type. *out_done tells whether it worked; an exhausted type is not yet an error.
static vkf_status allocate_from(vkf__memory *memory, uint32_t type, const VkMemoryRequirements *need,
                                vkf__memory_class class, const char *name, vkf__allocation *out, bool *out_done)
{
    uint64_t begin = 0;
    size_t at = 0;
    for (size_t i = 0; i < memory->slab_count && need->size < DEDICATED_BYTES; i++) {
        vkf__slab *slab = memory->slabs[i];
        if (slab->memory_type == type && slab_find(slab, need->size, need->alignment, &begin, &at)) {
            *out_done = true;
            return slab_take(memory, slab, class, begin, need->size, at, out);
        }
    }
    // A slab takes at most a sixteenth of its heap, so that a small heap is not used up by one. Where no slab can be
    // had, the bytes that are needed may still fit.
    uint64_t heap_bytes = memory->device->plan.caps.memory.memoryHeaps[heap_of(memory, type)].size;
    uint64_t slab_bytes = need->size;
    if (need->size < DEDICATED_BYTES && heap_bytes / 16 >= need->size)
        slab_bytes = heap_bytes / 16 < SLAB_BYTES ? heap_bytes / 16 : SLAB_BYTES;
    vkf__slab *slab = NULL;
    VkResult result = VK_SUCCESS;
    vkf_status status = slab_create(memory, type, slab_bytes, name, NULL, &result, &slab);
    if (status == VKF_OK && !slab && slab_bytes > need->size && result != VK_ERROR_DEVICE_LOST)
        status = slab_create(memory, type, need->size, name, NULL, &result, &slab);
    if (status != VKF_OK)
        return status;
    if (!slab) {
        if (result == VK_ERROR_OUT_OF_DEVICE_MEMORY || result == VK_ERROR_TOO_MANY_OBJECTS)
            return VKF_OK;
        return vkf__device_status(memory->device, result, "vkAllocateMemory");
    }
    status = slab_take(memory, slab, class, 0, need->size, 0, out);
    if (status != VKF_OK) {
        slab_destroy(memory, slab);
        memory->slab_count--;
    }
    *out_done = status == VKF_OK;
    return status;
}

static vkf_status allocate_locked(vkf__memory *memory, const VkMemoryRequirements *need, vkf__memory_class class,
                                  const char *name, vkf__allocation *out)
{
    const vkf__device_plan *plan = &memory->device->plan;
    bool done = false;
    uint32_t preferred = plan->memory_type[class];
    if (type_serves(memory, preferred, need->memoryTypeBits, class)) {
        vkf_status status = allocate_from(memory, preferred, need, class, name, out, &done);
        if (status != VKF_OK || done)
            return status;
    }
    for (uint32_t type = 0; type < plan->caps.memory.memoryTypeCount; type++) {
        if (type == preferred || !type_serves(memory, type, need->memoryTypeBits, class))
            continue;
        vkf_status status = allocate_from(memory, type, need, class, name, out, &done);
        if (status != VKF_OK || done)
            return status;
    }
    return no_memory(memory, need->size, name);
}

vkf_status vkf__memory_allocate(vkf__memory *memory, const VkMemoryRequirements *requirements, vkf__memory_class class,
                                const char *name, vkf__allocation *out_allocation)
{
    const vkf__caps *caps = &memory->device->plan.caps;
    if (requirements->size > caps->max_memory_allocation_bytes)
        return vkf__fail(memory->device->host, VKF_ERROR_TOO_LARGE,
                         "%s needs %" PRIu64 " bytes in one allocation, the device allows %" PRIu64, name,
                         (uint64_t)requirements->size, caps->max_memory_allocation_bytes);
    pthread_mutex_lock(&memory->lock);
    vkf_status status = allocate_locked(memory, requirements, class, name, out_allocation);
    pthread_mutex_unlock(&memory->lock);
    return status;
}

static vkf_status allocate_shared_locked(vkf__memory *memory, vkf__shared_memory *shared, uint32_t type,
                                         const char *name, vkf__allocation *out)
{
    vkf__slab *slab = NULL;
    VkResult result = VK_SUCCESS;
    if (!is_within_limit(memory, shared->need.size))
        return no_memory(memory, shared->need.size, name);
    VKF_RETURN_IF_ERROR(slab_create(memory, type, shared->need.size, name, shared, &result, &slab));
    if (!slab)
        return vkf__device_status(memory->device, result, "vkAllocateMemory");
    vkf_status status = slab_take(memory, slab, VKF_MEMORY_DEVICE, 0, shared->need.size, 0, out);
    if (status != VKF_OK) {
        slab_destroy(memory, slab);
        memory->slab_count--;
    }
    return status;
}

vkf_status vkf__memory_allocate_shared(vkf__memory *memory, vkf__shared_memory *shared, const char *name,
                                       vkf__allocation *out_allocation)
{
    const vkf__device_plan *plan = &memory->device->plan;
    uint32_t type = plan->memory_type[VKF_MEMORY_DEVICE];
    if (!type_serves(memory, type, shared->need.memoryTypeBits, VKF_MEMORY_DEVICE))
        for (type = 0; type < plan->caps.memory.memoryTypeCount; type++)
            if (type_serves(memory, type, shared->need.memoryTypeBits, VKF_MEMORY_DEVICE))
                break;
    if (type == plan->caps.memory.memoryTypeCount)
        return vkf__fail(memory->device->host, VKF_ERROR_UNSUPPORTED,
                         "%s: the device has no type of memory for it (types 0x%x could be)", name,
                         (unsigned)shared->need.memoryTypeBits);
    pthread_mutex_lock(&memory->lock);
    vkf_status status = allocate_shared_locked(memory, shared, type, name, out_allocation);
    pthread_mutex_unlock(&memory->lock);
    return status;
}

static void slab_give(vkf__memory *memory, size_t index, const vkf__allocation *allocation)
{
    vkf__slab *slab = memory->slabs[index];
    for (size_t i = 0; i < slab->used_count; i++) {
        if (slab->used[i].begin != allocation->offset)
            continue;
        memory->usage.used_bytes[heap_of(memory, slab->memory_type)] -= allocation->size_bytes;
        slab->used_count--;
        for (; i < slab->used_count; i++)
            slab->used[i] = slab->used[i + 1];
        break;
    }
    if (slab->used_count == 0) {
        slab_destroy(memory, slab);
        memory->slabs[index] = memory->slabs[--memory->slab_count];
    }
}

void vkf__memory_release(vkf__memory *memory, vkf__allocation *allocation)
{
    if (allocation->memory == VK_NULL_HANDLE)
        return;
    pthread_mutex_lock(&memory->lock);
    for (size_t i = 0; i < memory->slab_count; i++) {
        if (memory->slabs[i]->memory == allocation->memory) {
            slab_give(memory, i, allocation);
            break;
        }
    }
    pthread_mutex_unlock(&memory->lock);
    *allocation = (vkf__allocation){0};
}

void vkf__memory_usage_get(vkf__memory *memory, vkf_memory_usage *out_usage)
{
    pthread_mutex_lock(&memory->lock);
    *out_usage = memory->usage;
    pthread_mutex_unlock(&memory->lock);
}

void vkf__memory_reset_peak(vkf__memory *memory)
{
    pthread_mutex_lock(&memory->lock);
    memcpy(memory->usage.peak_bytes, memory->usage.used_bytes, sizeof memory->usage.peak_bytes);
    pthread_mutex_unlock(&memory->lock);
}
