// Makes, exports and imports shared memory: opaque file descriptors, dma-bufs, and memory of the host's.
#include "vk/external_memory.h"

#include <inttypes.h>

#include "base/size.h"

#define IMPORT_ALIGNMENT 16u // kernels read so many bytes at once

typedef struct kind_row {
    const char *name;
    const char *extension; // that the device was made with
    size_t enabled;        // offset of its bool in vkf__enabled
    VkExternalMemoryHandleTypeFlagBits type;
} kind_row;

static const kind_row kinds[VKF_MEMORY_KIND_COUNT] = {
    [VKF_MEMORY_OPAQUE_FD] = {"an opaque fd", VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME,
                              offsetof(vkf__enabled, external_fd), VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT},
    [VKF_MEMORY_DMA_BUF] = {"a dma-buf", VK_EXT_EXTERNAL_MEMORY_DMA_BUF_EXTENSION_NAME,
                            offsetof(vkf__enabled, external_dma_buf), VK_EXTERNAL_MEMORY_HANDLE_TYPE_DMA_BUF_BIT_EXT},
    [VKF_MEMORY_HOST_POINTER] = {"memory of the host's", VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME,
                                 offsetof(vkf__enabled, external_host),
                                 VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT},
};

// What the memory of a buffer is shared as, and whether it has to be for that buffer alone.
typedef struct sharing {
    const kind_row *row;
    bool dedicated;
} sharing;

static vkf_status ask_device(vkf__device *device, vkf_memory_kind kind, VkExternalMemoryFeatureFlags needed,
                             const char *what, sharing *out_sharing)
{
    const vkf__instance *instance = device->instance;
    VKF_RETURN_IF_ERROR(vkf__device_check_runs(device, what));
    if ((unsigned)kind >= VKF_MEMORY_KIND_COUNT)
        return vkf__fail(device->host, VKF_ERROR_INVALID_ARGUMENT, "%s: kind %d does not exist", what, (int)kind);
    const kind_row *row = &kinds[kind];
    if (!*((const bool *)(const void *)&device->plan.enabled + row->enabled))
        return vkf__fail(device->host, VKF_ERROR_UNSUPPORTED,
                         "%s: %s needs %s, which the device does not have, or was not made with: set external_memory "
                         "in vkf_context_desc",
                         what, row->name, row->extension);
    PFN_vkGetPhysicalDeviceExternalBufferProperties ask =
        (PFN_vkGetPhysicalDeviceExternalBufferProperties)instance->get_proc(
            instance->handle, "vkGetPhysicalDeviceExternalBufferProperties");
    const VkPhysicalDeviceExternalBufferInfo info = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_BUFFER_INFO,
        .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT,
        .handleType = row->type,
    };
    VkExternalBufferProperties answer = {.sType = VK_STRUCTURE_TYPE_EXTERNAL_BUFFER_PROPERTIES};
    if (ask)
        ask(device->physical, &info, &answer);
    const VkExternalMemoryFeatureFlags features = answer.externalMemoryProperties.externalMemoryFeatures;
    if ((features & needed) != needed)
        return vkf__fail(device->host, VKF_ERROR_UNSUPPORTED, "%s: %s does not offer %s for this", what,
                         device->plan.caps.name, row->name);
    *out_sharing = (sharing){row, (features & VK_EXTERNAL_MEMORY_FEATURE_DEDICATED_ONLY_BIT) != 0};
    return VKF_OK;
}

// Makes the handle of a buffer on shared memory. `shared->need` is then what the handle asks for.
static vkf_status begin_shared(vkf__transfer *transfer, const sharing *how, uint64_t bytes, const char *name,
                               vkf__shared_memory *shared, vkf_buffer **out_buffer)
{
    vkf__device *device = transfer->memory->device;
    const VkExternalMemoryBufferCreateInfo external = {.sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO,
                                                       .handleTypes = how->row->type};
    VKF_RETURN_IF_ERROR(vkf__buffer_begin(transfer, bytes, &external, name, out_buffer));
    device->vk.vkGetBufferMemoryRequirements(device->handle, (*out_buffer)->handle, &shared->need);
    return VKF_OK;
}

static vkf_status end_shared(vkf_buffer *buffer, const sharing *how, vkf__shared_memory *shared, const char *name)
{
    vkf__memory *memory = buffer->transfer->memory;
    const VkMemoryDedicatedAllocateInfo dedicated = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO, .pNext = shared->chain, .buffer = buffer->handle};
    if (how->dedicated)
        shared->chain = &dedicated;
    VKF_RETURN_IF_ERROR(vkf__memory_allocate_shared(memory, shared, name, &buffer->allocation));
    return vkf__buffer_bind(buffer);
}

vkf_status vkf__buffer_create_exportable(vkf__transfer *transfer, vkf_memory_kind kind, uint64_t size_bytes,
                                         const char *name, vkf_buffer **out_buffer)
{
    vkf__device *device = transfer->memory->device;
    vkf_status status = VKF_OK;
    vkf_buffer *buffer = NULL;
    sharing how;
    if (size_bytes == 0 || kind == VKF_MEMORY_HOST_POINTER)
        return vkf__fail(device->host, VKF_ERROR_INVALID_ARGUMENT,
                         "exportable buffer %s: it needs a size, and is exported as a file descriptor", name);
    VKF_RETURN_IF_ERROR(ask_device(device, kind, VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT, "exportable buffer", &how));
    VKF_RETURN_IF_ERROR(vkf__buffer_check_size(device, size_bytes, name));
    const VkExportMemoryAllocateInfo export = {.sType = VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO,
                                               .handleTypes = how.row->type};
    vkf__shared_memory shared = {.chain = &export};
    VKF_TRY(begin_shared(transfer, &how, vkf__buffer_allocated_bytes(size_bytes), name, &shared, &buffer));
    buffer->size_bytes = size_bytes;
    buffer->exports = how.row->type;
    VKF_TRY(end_shared(buffer, &how, &shared, name));
    *out_buffer = buffer;
    return VKF_OK;
fail:
    vkf__buffer_destroy(&buffer);
    return status;
}

vkf_status vkf__buffer_export(vkf_buffer *buffer, vkf_exported_memory *out_memory)
{
    vkf__device *device = buffer->transfer->memory->device;
    VKF_RETURN_IF_ERROR(vkf__device_check_process(device, "vkf_buffer_export"));
    if (!buffer->exports || !device->vk.vkGetMemoryFdKHR)
        return vkf__fail(device->host, VKF_ERROR_INVALID_ARGUMENT,
                         "vkf_buffer_export: the buffer is not exportable: make it with vkf_buffer_create_exportable");
    const VkMemoryGetFdInfoKHR info = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_GET_FD_INFO_KHR,
        .memory = buffer->allocation.memory,
        .handleType = (VkExternalMemoryHandleTypeFlagBits)buffer->exports,
    };
    int fd = -1;
    VKF_VK_OR_RETURN(device, device->vk.vkGetMemoryFdKHR(device->handle, &info, &fd));
    *out_memory = (vkf_exported_memory){.fd = fd,
                                        .buffer_bytes = buffer->allocated_bytes,
                                        .memory_bytes = buffer->allocation.size_bytes,
                                        .memory_type = buffer->allocation.memory_type};
    return VKF_OK;
}

// The types of memory that what is imported has.
static vkf_status import_types(vkf__device *device, const vkf_imported_memory *from, const sharing *how,
                               uint32_t *out_bits)
{
    VkMemoryHostPointerPropertiesEXT host = {.sType = VK_STRUCTURE_TYPE_MEMORY_HOST_POINTER_PROPERTIES_EXT};
    VkMemoryFdPropertiesKHR fd = {.sType = VK_STRUCTURE_TYPE_MEMORY_FD_PROPERTIES_KHR};
    switch (from->kind) {
    case VKF_MEMORY_OPAQUE_FD: // Vulkan has the exporter tell
        *out_bits = from->memory_type < 32 ? UINT32_C(1) << from->memory_type : 0;
        return VKF_OK;
    case VKF_MEMORY_DMA_BUF:
        VKF_VK_OR_RETURN(device, device->vk.vkGetMemoryFdPropertiesKHR(device->handle, how->row->type, from->fd, &fd));
        *out_bits = fd.memoryTypeBits;
        return VKF_OK;
    case VKF_MEMORY_HOST_POINTER:
    case VKF_MEMORY_KIND_COUNT:
        break;
    }
    VKF_VK_OR_RETURN(
        device, device->vk.vkGetMemoryHostPointerPropertiesEXT(device->handle, how->row->type, from->pointer, &host));
    *out_bits = host.memoryTypeBits;
    return VKF_OK;
}

static uint64_t pointer_alignment(const vkf__device *device)
{
    VkPhysicalDeviceExternalMemoryHostPropertiesEXT host = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_MEMORY_HOST_PROPERTIES_EXT};
    VkPhysicalDeviceProperties2 properties = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &host};
    device->instance->vkGetPhysicalDeviceProperties2(device->physical, &properties);
    return host.minImportedHostPointerAlignment;
}

static vkf_status check_import(const vkf__device *device, const vkf_imported_memory *from)
{
    const vkf__host *host = device->host;
    const bool pointer = from->kind == VKF_MEMORY_HOST_POINTER;
    const uint64_t memory_bytes = from->memory_bytes > 0 ? from->memory_bytes : from->buffer_bytes;
    if (pointer ? !from->pointer : from->fd < 0)
        return vkf__fail(host, VKF_ERROR_INVALID_ARGUMENT, "imported buffer: %s",
                         pointer ? "pointer is NULL" : "no fd");
    if (from->buffer_bytes == 0 || from->buffer_bytes % IMPORT_ALIGNMENT != 0 || from->buffer_bytes > memory_bytes)
        return vkf__fail(host, VKF_ERROR_INVALID_ARGUMENT,
                         "imported buffer: %" PRIu64 " bytes in a memory of %" PRIu64 " have to be within it, and a "
                         "multiple of %u",
                         from->buffer_bytes, memory_bytes, IMPORT_ALIGNMENT);
    const uint64_t alignment = pointer ? pointer_alignment(device) : 0;
    if (pointer && alignment > 0 && ((uintptr_t)from->pointer % alignment != 0 || memory_bytes % alignment != 0))
        return vkf__fail(host, VKF_ERROR_INVALID_ARGUMENT,
                         "imported buffer: pointer and memory_bytes have to be multiples of %" PRIu64 " here",
                         alignment);
    return VKF_OK;
}

// Allocates by importing. A file descriptor belongs to the driver then.
static vkf_status import_memory(vkf_buffer *buffer, const vkf_imported_memory *from, const sharing *how,
                                vkf__shared_memory *shared)
{
    vkf__device *device = buffer->transfer->memory->device;
    const uint64_t memory_bytes = from->memory_bytes > 0 ? from->memory_bytes : from->buffer_bytes;
    uint32_t types = 0;
    const VkImportMemoryFdInfoKHR fd = {
        .sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR, .handleType = how->row->type, .fd = from->fd};
    const VkImportMemoryHostPointerInfoEXT pointer = {.sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT,
                                                      .handleType = how->row->type,
                                                      .pHostPointer = from->pointer};
    const bool host = from->kind == VKF_MEMORY_HOST_POINTER;
    if (shared->need.size > memory_bytes)
        return vkf__fail(device->host, VKF_ERROR_INVALID_ARGUMENT,
                         "imported buffer: the device needs %" PRIu64 " bytes for it, the memory has %" PRIu64,
                         (uint64_t)shared->need.size, memory_bytes);
    VKF_RETURN_IF_ERROR(import_types(device, from, how, &types));
    shared->need.size = memory_bytes;
    shared->need.memoryTypeBits &= types;
    shared->chain = host ? (const void *)&pointer : (const void *)&fd;
    shared->mapped = host && device->plan.caps.traits.unified_memory ? from->pointer : NULL;
    return end_shared(buffer, how, shared, "imported buffer");
}

vkf_status vkf__buffer_import(vkf__transfer *transfer, const vkf_imported_memory *from, vkf_buffer **out_buffer)
{
    vkf__device *device = transfer->memory->device;
    vkf_status status = VKF_OK;
    vkf_buffer *buffer = NULL;
    vkf__shared_memory shared = {0};
    sharing how;
    VKF_RETURN_IF_ERROR(
        ask_device(device, from->kind, VK_EXTERNAL_MEMORY_FEATURE_IMPORTABLE_BIT, "imported buffer", &how));
    VKF_RETURN_IF_ERROR(check_import(device, from));
    VKF_RETURN_IF_ERROR(vkf__buffer_check_size(device, from->buffer_bytes, "imported buffer"));
    VKF_TRY(begin_shared(transfer, &how, from->buffer_bytes, "imported buffer", &shared, &buffer));
    VKF_TRY(import_memory(buffer, from, &how, &shared));
    *out_buffer = buffer;
    return VKF_OK;
fail:
    vkf__buffer_destroy(&buffer);
    return status;
}
