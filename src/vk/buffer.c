// Creates, references, reads and writes buffers, and keeps the list of those that are alive.
#include "vk/buffer.h"

#include <inttypes.h>
#include <string.h>

#include "base/size.h"

// So many bytes are read from write-combined memory, at 4 (over PCIe, measured) to 60 MB/s, in the time of one
// submission.
#define FEW_BYTES 256

uint64_t vkf__buffer_allocated_bytes(uint64_t size_bytes)
{
    return vkf__align_u64(size_bytes, VKF_BUFFER_GRANULARITY);
}

vkf_status vkf__buffer_check_size(const vkf__device *device, uint64_t size_bytes, const char *name)
{
    const vkf__caps *caps = &device->plan.caps;
    const uint64_t allocation = caps->max_memory_allocation_bytes, buffer = caps->max_buffer_bytes;
    const uint64_t most = buffer < allocation ? buffer : allocation;
    if (size_bytes <= UINT64_MAX / 2 && vkf__buffer_allocated_bytes(size_bytes) <= most)
        return VKF_OK;
    return vkf__fail(vkf__limited(device->host, "bytes of a buffer", size_bytes, most), VKF_ERROR_TOO_LARGE,
                     "buffer %s: %" PRIu64 " bytes, the device allows %" PRIu64 " in one buffer", name, size_bytes,
                     most);
}

static uint64_t buffer_address(vkf__device *device, VkBuffer handle)
{
    const VkBufferDeviceAddressInfo info = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO,
        .buffer = handle,
    };
    if (!device->plan.enabled.buffer_device_address)
        return 0;
    PFN_vkGetBufferDeviceAddress get = device->vk.vkGetBufferDeviceAddress;
    if (!get)
        get = device->vk.vkGetBufferDeviceAddressKHR;
    return get ? get(device->handle, &info) : 0;
}

// Kernels read up to so many bytes at once, and so does the descriptor of what they read.
#define WRAP_ALIGNMENT 16u

static vkf_status check_range(const vkf__host *host, const vkf__wrapped_range *range)
{
    if (range->handle == VK_NULL_HANDLE)
        return vkf__fail(host, VKF_ERROR_INVALID_ARGUMENT, "wrapped buffer: the VkBuffer is null");
    if (!(range->usage & VK_BUFFER_USAGE_STORAGE_BUFFER_BIT))
        return vkf__fail(
            host, VKF_ERROR_INVALID_ARGUMENT,
            "wrapped buffer: its usage 0x%x has no VK_BUFFER_USAGE_STORAGE_BUFFER_BIT, which kernels need: "
            "create the VkBuffer with it",
            (unsigned)range->usage);
    if (range->size_bytes == 0 || range->begin > UINT64_MAX - range->size_bytes)
        return vkf__fail(host, VKF_ERROR_INVALID_ARGUMENT, "wrapped buffer: bytes %" PRIu64 "+%" PRIu64 " are no range",
                         range->begin, range->size_bytes);
    if (range->begin % WRAP_ALIGNMENT != 0 || range->size_bytes % WRAP_ALIGNMENT != 0)
        return vkf__fail(host, VKF_ERROR_INVALID_ARGUMENT,
                         "wrapped buffer: offset %" PRIu64 " and size %" PRIu64 " have to be multiples of %u, which "
                         "kernels read at once: make the VkBuffer so much larger",
                         range->begin, range->size_bytes, WRAP_ALIGNMENT);
    return VKF_OK;
}

static vkf_buffer **list_of(vkf__memory *memory, const vkf_buffer *buffer)
{
    return &memory->live[(uintptr_t)buffer / sizeof *buffer % VKF_LIVE_BUFFER_LISTS];
}

static void list_as_alive(vkf_buffer *buffer)
{
    vkf__memory *memory = buffer->transfer->memory;
    vkf_buffer **list = list_of(memory, buffer);
    pthread_mutex_lock(&memory->lock);
    buffer->next = *list;
    *list = buffer;
    pthread_mutex_unlock(&memory->lock);
}

// A buffer whose creation failed is in no list.
static void list_as_gone(vkf_buffer *buffer)
{
    vkf__memory *memory = buffer->transfer->memory;
    pthread_mutex_lock(&memory->lock);
    vkf_buffer **at = list_of(memory, buffer);
    while (*at && *at != buffer)
        at = &(*at)->next;
    if (*at)
        *at = buffer->next;
    pthread_mutex_unlock(&memory->lock);
}

bool vkf__buffer_is_alive(vkf__memory *memory, const vkf_buffer *buffer)
{
    pthread_mutex_lock(&memory->lock);
    const vkf_buffer *found = *list_of(memory, buffer);
    while (found && found != buffer)
        found = found->next;
    pthread_mutex_unlock(&memory->lock);
    return found != NULL;
}

vkf_status vkf__buffer_begin(vkf__transfer *transfer, uint64_t bytes, const void *chain, const char *name,
                             vkf_buffer **out_buffer)
{
    vkf__device *device = transfer->memory->device;
    vkf_status status = VKF_OK;
    vkf_buffer *buffer = NULL;
    VKF_ALLOC(device->host, buffer, 1);
    buffer->references = 1;
    buffer->transfer = transfer;
    buffer->size_bytes = buffer->allocated_bytes = bytes;
    buffer->usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT |
                    VK_BUFFER_USAGE_UNIFORM_TEXEL_BUFFER_BIT | VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT |
                    VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT |
                    (device->plan.enabled.buffer_device_address ? VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT : 0u);
    const VkBufferCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
        .pNext = chain,
        .size = bytes,
        .usage = buffer->usage,
    };
    VKF_VK_CREATE(device, device->vk.vkCreateBuffer(device->handle, &info, NULL, &buffer->handle), &buffer->handle);
    vkf__device_name(device, VK_OBJECT_TYPE_BUFFER, (uint64_t)buffer->handle, name);
    *out_buffer = buffer;
    return VKF_OK;
fail:
    vkf__buffer_destroy(&buffer);
    return status;
}

vkf_status vkf__buffer_bind(vkf_buffer *buffer)
{
    vkf__device *device = buffer->transfer->memory->device;
    VKF_VK_OR_RETURN(device, device->vk.vkBindBufferMemory(device->handle, buffer->handle, buffer->allocation.memory,
                                                           buffer->allocation.offset));
    buffer->address = buffer_address(device, buffer->handle);
    list_as_alive(buffer);
    return VKF_OK;
}

vkf_status vkf__buffer_create(vkf__transfer *transfer, vkf__memory_class class, uint64_t size_bytes, const char *name,
                              vkf_buffer **out_buffer)
{
    vkf__device *device = transfer->memory->device;
    vkf_status status = VKF_OK;
    vkf_buffer *buffer = NULL;
    VkMemoryRequirements need;
    if (size_bytes == 0)
        return vkf__fail(device->host, VKF_ERROR_INVALID_ARGUMENT, "buffer %s: a size of 0 bytes", name);
    VKF_RETURN_IF_ERROR(vkf__device_check_runs(device, name));
    VKF_RETURN_IF_ERROR(vkf__buffer_check_size(device, size_bytes, name));
    VKF_RETURN_IF_ERROR(vkf__buffer_begin(transfer, vkf__buffer_allocated_bytes(size_bytes), NULL, name, &buffer));
    buffer->size_bytes = size_bytes;
    buffer->class = class;
    device->vk.vkGetBufferMemoryRequirements(device->handle, buffer->handle, &need);
    VKF_TRY(vkf__memory_allocate(transfer->memory, &need, class, name, &buffer->allocation));
    VKF_TRY(vkf__buffer_bind(buffer));
    *out_buffer = buffer;
    return VKF_OK;
fail:
    vkf__buffer_destroy(&buffer);
    return status;
}

vkf_status vkf__buffer_wrap(vkf__transfer *transfer, const vkf__wrapped_range *range, vkf_buffer **out_buffer)
{
    vkf__device *device = transfer->memory->device;
    vkf_buffer *buffer = NULL;
    VKF_RETURN_IF_ERROR(vkf__device_check_runs(device, "wrapped buffer"));
    VKF_RETURN_IF_ERROR(check_range(device->host, range));
    VKF_ALLOC_OR_RETURN(device->host, buffer, 1);
    buffer->references = 1;
    buffer->transfer = transfer;
    buffer->handle = range->handle;
    buffer->begin = range->begin;
    buffer->size_bytes = buffer->allocated_bytes = range->size_bytes;
    buffer->usage = range->usage;
    buffer->wrapped = true;
    if (range->usage & VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT) {
        const uint64_t address = buffer_address(device, range->handle);
        buffer->address = address > 0 ? address + range->begin : 0;
    }
    list_as_alive(buffer);
    *out_buffer = buffer;
    return VKF_OK;
}

void vkf__buffer_hold(vkf_buffer *buffer)
{
    atomic_fetch_add(&buffer->references, 1);
}

void vkf__buffer_drop(vkf_buffer *buffer)
{
    vkf__device *device = buffer->transfer->memory->device;
    if (atomic_fetch_sub(&buffer->references, 1) > 1)
        return;
    if (buffer->handle != VK_NULL_HANDLE && !buffer->wrapped)
        device->vk.vkDestroyBuffer(device->handle, buffer->handle, NULL);
    vkf__memory_release(buffer->transfer->memory, &buffer->allocation);
    vkf__free(device->host, buffer);
}

void vkf__buffer_destroy(vkf_buffer **buffer)
{
    if (!*buffer)
        return;
    list_as_gone(*buffer);
    vkf__buffer_drop(*buffer);
    *buffer = NULL;
}

uint64_t vkf_buffer_get_size(const vkf_buffer *buffer)
{
    return buffer ? buffer->size_bytes : 0;
}

vkf_status vkf__buffer_clear(vkf_buffer *buffer)
{
    if (buffer->allocation.mapped) {
        memset(buffer->allocation.mapped, 0, (size_t)buffer->allocated_bytes);
        return VKF_OK;
    }
    return vkf__transfer_clear(buffer->transfer, buffer->handle, buffer->begin, buffer->allocated_bytes);
}

vkf_status vkf__buffer_move(vkf_buffer *buffer, uint64_t from, uint64_t to, uint64_t size_bytes)
{
    uint8_t *mapped = buffer->allocation.mapped;
    if (!mapped || !buffer->allocation.host_cached)
        return vkf__transfer_move(buffer->transfer, buffer->handle, from, to, size_bytes);
    memmove(mapped + to, mapped + from, (size_t)size_bytes);
    return VKF_OK;
}

static vkf_status check_access(const vkf_buffer *buffer, uint64_t offset, const void *data, uint64_t size,
                               const char *what)
{
    const vkf__device *device = buffer->transfer->memory->device;
    const vkf__host *host = device->host;
    vkf_status status = vkf__device_check_process(device, what);
    if (status != VKF_OK)
        return status;
    if (!data && size > 0)
        return vkf__fail(host, VKF_ERROR_INVALID_ARGUMENT, "%s: the data pointer is NULL", what);
    if (offset > buffer->size_bytes || size > buffer->size_bytes - offset)
        return vkf__fail(host, VKF_ERROR_INVALID_ARGUMENT, "%s: bytes %" PRIu64 "+%" PRIu64 " of a buffer of %" PRIu64,
                         what, offset, size, buffer->size_bytes);
    return VKF_OK;
}

// Only of a wrapped buffer can either be missing.
static vkf_status check_usage(const vkf_buffer *buffer, VkBufferUsageFlags needed, const char *needed_name,
                              const char *what)
{
    if (buffer->usage & needed)
        return VKF_OK;
    return vkf__fail(buffer->transfer->memory->device->host, VKF_ERROR_INVALID_ARGUMENT,
                     "%s: the wrapped buffer's usage has no %s: create the VkBuffer with it, or copy by yourself", what,
                     needed_name);
}

vkf_status vkf__buffer_write_on(vkf__transfer_flow *flow, vkf_buffer *buffer, uint64_t offset_bytes, const void *data,
                                uint64_t size_bytes)
{
    if (!buffer->allocation.mapped)
        return vkf__transfer_flow_write(flow, buffer->handle, buffer->begin + offset_bytes, data, size_bytes);
    memcpy(buffer->allocation.mapped + offset_bytes, data, (size_t)size_bytes);
    return VKF_OK;
}

vkf_status vkf_buffer_write(vkf_buffer *buffer, uint64_t offset_bytes, const void *data, uint64_t size_bytes)
{
    if (!buffer)
        return vkf__null_argument(__func__);
    vkf_status status = check_access(buffer, offset_bytes, data, size_bytes, __func__);
    if (status != VKF_OK || size_bytes == 0)
        return status;
    VKF_RETURN_IF_ERROR(
        check_usage(buffer, VK_BUFFER_USAGE_TRANSFER_DST_BIT, "VK_BUFFER_USAGE_TRANSFER_DST_BIT", __func__));
    vkf__transfer_flow flow = {.transfer = buffer->transfer};
    status = vkf__buffer_write_on(&flow, buffer, offset_bytes, data, size_bytes);
    vkf_status ended = vkf__transfer_flow_end(&flow);
    return status != VKF_OK ? status : ended;
}

vkf_status vkf_buffer_read(vkf_buffer *buffer, uint64_t offset_bytes, void *out_data, uint64_t size_bytes)
{
    if (!buffer)
        return vkf__null_argument(__func__);
    vkf_status status = check_access(buffer, offset_bytes, out_data, size_bytes, __func__);
    if (status != VKF_OK || size_bytes == 0)
        return status;
    VKF_RETURN_IF_ERROR(
        check_usage(buffer, VK_BUFFER_USAGE_TRANSFER_SRC_BIT, "VK_BUFFER_USAGE_TRANSFER_SRC_BIT", __func__));
    const vkf__allocation *allocation = &buffer->allocation;
    if (allocation->mapped && (allocation->host_cached || size_bytes <= FEW_BYTES)) {
        memcpy(out_data, allocation->mapped + offset_bytes, (size_t)size_bytes);
        return VKF_OK;
    }
    return vkf__transfer_read(buffer->transfer, buffer->handle, buffer->begin + offset_bytes, out_data, size_bytes);
}
