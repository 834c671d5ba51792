// Makes, exports and imports shared memory: opaque file descriptors, dma-bufs, memory of the host's, and Android's
// hardware buffers.
#include "vk/external_memory.h"

#include <errno.h>
#include <inttypes.h>

#include <vulkan/vulkan_android.h>

#include "base/size.h"
#include "base/system_file.h"

#define IMPORT_ALIGNMENT 16u // kernels read so many bytes at once

typedef struct kind_row {
    const char *name;
    const char *extension; // that the device was made with
    size_t enabled;        // offset of its bool in vkf__enabled
    VkExternalMemoryHandleTypeFlagBits type;
    bool descriptor; // it is a file descriptor
    bool dedicated;  // whatever the device says
} kind_row;

static const kind_row kinds[VKF_MEMORY_KIND_COUNT] = {
    [VKF_MEMORY_OPAQUE_FD] = {"an opaque fd", VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME,
                              offsetof(vkf__enabled, external_fd), VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT,
                              .descriptor = true},
    [VKF_MEMORY_DMA_BUF] = {"a dma-buf", VK_EXT_EXTERNAL_MEMORY_DMA_BUF_EXTENSION_NAME,
                            offsetof(vkf__enabled, external_dma_buf), VK_EXTERNAL_MEMORY_HANDLE_TYPE_DMA_BUF_BIT_EXT,
                            .descriptor = true},
    [VKF_MEMORY_HOST_POINTER] = {"memory of the host's", VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME,
                                 offsetof(vkf__enabled, external_host),
                                 VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT, .descriptor = false},
    [VKF_MEMORY_ANDROID_HARDWARE_BUFFER] = {"an Android hardware buffer",
                                            VK_ANDROID_EXTERNAL_MEMORY_ANDROID_HARDWARE_BUFFER_EXTENSION_NAME,
                                            offsetof(vkf__enabled, external_hardware_buffer),
                                            VK_EXTERNAL_MEMORY_HANDLE_TYPE_ANDROID_HARDWARE_BUFFER_BIT_ANDROID,
                                            .dedicated = true},
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
    *out_sharing = (sharing){row, row->dedicated || (features & VK_EXTERNAL_MEMORY_FEATURE_DEDICATED_ONLY_BIT)};
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
    if (size_bytes == 0 || ((unsigned)kind < VKF_MEMORY_KIND_COUNT && !kinds[kind].descriptor))
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

// What is known of memory that is imported.
typedef struct offered_memory {
    uint64_t bytes;
    uint32_t types; // a bit for each type of memory that it may have
} offered_memory;

static vkf_status ask_hardware_buffer(vkf__device *device, const vkf_imported_memory *from, offered_memory *out_memory)
{
    const vkf__instance *instance = device->instance;
    PFN_vkGetAndroidHardwareBufferPropertiesANDROID ask =
        (PFN_vkGetAndroidHardwareBufferPropertiesANDROID)instance->vkGetDeviceProcAddr(
            device->handle, "vkGetAndroidHardwareBufferPropertiesANDROID");
    VkAndroidHardwareBufferPropertiesANDROID buffer = {
        .sType = VK_STRUCTURE_TYPE_ANDROID_HARDWARE_BUFFER_PROPERTIES_ANDROID};
    if (!ask)
        return vkf__fail(device->host, VKF_ERROR_VULKAN,
                         "imported buffer: the driver has no function vkGetAndroidHardwareBufferPropertiesANDROID");
    VKF_VK_OR_RETURN(device, ask(device->handle, from->pointer, &buffer));
    *out_memory = (offered_memory){buffer.allocationSize, buffer.memoryTypeBits};
    return VKF_OK;
}

static vkf_status ask_memory(vkf__device *device, const vkf_imported_memory *from, const sharing *how,
                             offered_memory *out_memory)
{
    VkMemoryHostPointerPropertiesEXT host = {.sType = VK_STRUCTURE_TYPE_MEMORY_HOST_POINTER_PROPERTIES_EXT};
    VkMemoryFdPropertiesKHR fd = {.sType = VK_STRUCTURE_TYPE_MEMORY_FD_PROPERTIES_KHR};
    *out_memory = (offered_memory){.bytes = from->memory_bytes > 0 ? from->memory_bytes : from->buffer_bytes};
    switch (from->kind) {
    case VKF_MEMORY_OPAQUE_FD: // Vulkan has the exporter tell
        out_memory->types = from->memory_type < 32 ? UINT32_C(1) << from->memory_type : 0;
        return VKF_OK;
    case VKF_MEMORY_DMA_BUF:
        VKF_VK_OR_RETURN(device, device->vk.vkGetMemoryFdPropertiesKHR(device->handle, how->row->type, from->fd, &fd));
        out_memory->types = fd.memoryTypeBits;
        return VKF_OK;
    case VKF_MEMORY_ANDROID_HARDWARE_BUFFER:
        return ask_hardware_buffer(device, from, out_memory);
    case VKF_MEMORY_HOST_POINTER:
    case VKF_MEMORY_KIND_COUNT:
        break;
    }
    VKF_VK_OR_RETURN(
        device, device->vk.vkGetMemoryHostPointerPropertiesEXT(device->handle, how->row->type, from->pointer, &host));
    out_memory->types = host.memoryTypeBits;
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
    const bool descriptor = kinds[from->kind].descriptor;
    const uint64_t memory_bytes = from->memory_bytes > 0 ? from->memory_bytes : from->buffer_bytes;
    if (descriptor ? from->fd < 0 : !from->pointer)
        return vkf__fail(host, VKF_ERROR_INVALID_ARGUMENT, "imported buffer: %s",
                         descriptor ? "no fd" : "pointer is NULL");
    if (from->buffer_bytes == 0 || from->buffer_bytes % IMPORT_ALIGNMENT != 0 || from->buffer_bytes > memory_bytes)
        return vkf__fail(host, VKF_ERROR_INVALID_ARGUMENT,
                         "imported buffer: %" PRIu64 " bytes in a memory of %" PRIu64 " have to be within it, and a "
                         "multiple of %u",
                         from->buffer_bytes, memory_bytes, IMPORT_ALIGNMENT);
    const uint64_t alignment = from->kind == VKF_MEMORY_HOST_POINTER ? pointer_alignment(device) : 0;
    if (alignment > 0 && ((uintptr_t)from->pointer % alignment != 0 || memory_bytes % alignment != 0))
        return vkf__fail(host, VKF_ERROR_INVALID_ARGUMENT,
                         "imported buffer: pointer and memory_bytes have to be multiples of %" PRIu64 " here",
                         alignment);
    return VKF_OK;
}

// The driver owns a descriptor once memory has been allocated by it. It gets a copy, because what comes after may fail.
static vkf_status import_descriptor(vkf_buffer *buffer, const vkf_imported_memory *from, const sharing *how,
                                    vkf__shared_memory *shared)
{
    const vkf__host *host = buffer->transfer->memory->device->host;
    const int copy = vkf__descriptor_copy(from->fd);
    if (copy < 0)
        return errno == EBADF
                   ? vkf__fail(host, VKF_ERROR_INVALID_ARGUMENT, "imported buffer: fd %d is not open", from->fd)
                   : vkf__fail(host, VKF_ERROR_OUT_OF_HOST_MEMORY,
                               "imported buffer: the process can open no more files: close some or raise its limit");
    const VkImportMemoryFdInfoKHR import = {
        .sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR, .handleType = how->row->type, .fd = copy};
    shared->chain = &import;
    vkf_status status = end_shared(buffer, how, shared, "imported buffer");
    if (!shared->taken)
        vkf__descriptor_close(copy);
    if (status == VKF_OK)
        vkf__descriptor_close(from->fd);
    return status;
}

static vkf_status import_host_pointer(vkf_buffer *buffer, const vkf_imported_memory *from, const sharing *how,
                                      vkf__shared_memory *shared)
{
    const VkImportMemoryHostPointerInfoEXT import = {.sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT,
                                                     .handleType = how->row->type,
                                                     .pHostPointer = from->pointer};
    const bool unified = buffer->transfer->memory->device->plan.caps.traits.unified_memory;
    shared->chain = &import;
    shared->mapped = unified ? from->pointer : NULL;
    return end_shared(buffer, how, shared, "imported buffer");
}

// The host reaches a hardware buffer by AHardwareBuffer_lock(), and some were not allocated for it at all.
static vkf_status import_hardware_buffer(vkf_buffer *buffer, const vkf_imported_memory *from, const sharing *how,
                                         vkf__shared_memory *shared)
{
    const VkImportAndroidHardwareBufferInfoANDROID import = {
        .sType = VK_STRUCTURE_TYPE_IMPORT_ANDROID_HARDWARE_BUFFER_INFO_ANDROID, .buffer = from->pointer};
    shared->chain = &import;
    shared->unmapped = true;
    return end_shared(buffer, how, shared, "imported buffer");
}

static vkf_status import_memory(vkf_buffer *buffer, const vkf_imported_memory *from, const sharing *how,
                                vkf__shared_memory *shared)
{
    vkf__device *device = buffer->transfer->memory->device;
    offered_memory memory;
    VKF_RETURN_IF_ERROR(ask_memory(device, from, how, &memory));
    if (shared->need.size > memory.bytes)
        return vkf__fail(device->host, VKF_ERROR_INVALID_ARGUMENT,
                         "imported buffer: the device needs %" PRIu64 " bytes for it, the memory has %" PRIu64,
                         (uint64_t)shared->need.size, memory.bytes);
    shared->need.size = memory.bytes;
    shared->need.memoryTypeBits &= memory.types;
    if (how->row->descriptor)
        return import_descriptor(buffer, from, how, shared);
    return from->kind == VKF_MEMORY_HOST_POINTER ? import_host_pointer(buffer, from, how, shared)
                                                 : import_hardware_buffer(buffer, from, how, shared);
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
