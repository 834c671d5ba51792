// Copies through the staging buffer, part by part.
#include "vk/transfer.h"

#include <string.h>

#include "base/size.h"

static void staging_destroy(vkf__transfer *transfer)
{
    vkf__device *device = transfer->memory->device;
    if (transfer->staging != VK_NULL_HANDLE)
        device->vk.vkDestroyBuffer(device->handle, transfer->staging, NULL);
    transfer->staging = VK_NULL_HANDLE;
    vkf__memory_release(transfer->memory, &transfer->allocation);
}

void vkf__transfer_finish(vkf__transfer *transfer)
{
    if (!transfer->memory)
        return;
    staging_destroy(transfer);
    vkf__submission_finish(&transfer->submission);
    vkf__turns_finish(&transfer->turns);
    *transfer = (vkf__transfer){0};
}

static vkf_status staging_create(vkf__transfer *transfer)
{
    if (transfer->staging != VK_NULL_HANDLE)
        return VKF_OK;
    vkf__device *device = transfer->memory->device;
    vkf_status status = VKF_OK;
    VkBufferCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
        .size = VKF_STAGING_BYTES,
        .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT,
    };
    VKF_VK_CREATE(device, device->vk.vkCreateBuffer(device->handle, &info, NULL, &transfer->staging),
                  &transfer->staging);
    vkf__device_name(device, VK_OBJECT_TYPE_BUFFER, (uint64_t)transfer->staging, "vkformer staging");
    VkMemoryRequirements need;
    device->vk.vkGetBufferMemoryRequirements(device->handle, transfer->staging, &need);
    VKF_TRY(
        vkf__memory_allocate(transfer->memory, &need, VKF_MEMORY_STAGING, "vkformer staging", &transfer->allocation));
    VKF_VK(device, device->vk.vkBindBufferMemory(device->handle, transfer->staging, transfer->allocation.memory,
                                                 transfer->allocation.offset));
    return VKF_OK;
fail:
    staging_destroy(transfer);
    return status;
}

static bool is_cached(const vkf__device_plan *plan, vkf__memory_class class)
{
    const VkMemoryType *type = &plan->caps.memory.memoryTypes[plan->memory_type[class]];
    return type->propertyFlags & VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
}

vkf_status vkf__transfer_init(vkf__transfer *transfer, vkf__memory *memory)
{
    vkf_status status = VKF_OK;
    *transfer = (vkf__transfer){.memory = memory};
    if (vkf__device_is_described(memory->device))
        return VKF_OK;
    VKF_TRY(vkf__turns_init(&transfer->turns, memory->device->host));
    VKF_TRY(vkf__submission_init(&transfer->submission, memory->device, "vkformer transfer"));
    VKF_TRY(vkf__submission_command_buffer(&transfer->submission, "vkformer transfer", &transfer->command_buffer));
    // Made here rather than on first use, so that creating an object later allocates what its plan says and no more.
    if (!memory->device->plan.caps.traits.unified_memory || !is_cached(&memory->device->plan, VKF_MEMORY_DEVICE))
        VKF_TRY(staging_create(transfer));
    return VKF_OK;
fail:
    vkf__transfer_finish(transfer);
    return status;
}

// A transfer runs alone between two waits, so one barrier before it and one after it cover every hazard with shaders
// and the host.
static void barrier(vkf__transfer *transfer, VkPipelineStageFlags from, VkAccessFlags from_access,
                    VkPipelineStageFlags to, VkAccessFlags to_access)
{
    VkMemoryBarrier memory_barrier = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
        .srcAccessMask = from_access,
        .dstAccessMask = to_access,
    };
    vkf__device *device = transfer->memory->device;
    device->vk.vkCmdPipelineBarrier(transfer->command_buffer, from, to, 0, 1, &memory_barrier, 0, NULL, 0, NULL);
}

static vkf_status begin(vkf__transfer *transfer)
{
    vkf__device *device = transfer->memory->device;
    VkCommandBufferBeginInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
        .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT,
    };
    vkf_status status =
        vkf__device_status(device, device->vk.vkBeginCommandBuffer(transfer->command_buffer, &info), __func__);
    if (status == VKF_OK)
        barrier(transfer, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT,
                VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT, VK_PIPELINE_STAGE_TRANSFER_BIT,
                VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT);
    return status;
}

static vkf_status end_and_run(vkf__transfer *transfer)
{
    vkf__device *device = transfer->memory->device;
    barrier(transfer, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
            VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT | VK_PIPELINE_STAGE_HOST_BIT,
            VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_READ_BIT |
                VK_ACCESS_HOST_READ_BIT);
    vkf_status status = vkf__device_status(device, device->vk.vkEndCommandBuffer(transfer->command_buffer), __func__);
    if (status != VKF_OK)
        return status;
    return vkf__submission_run(&transfer->submission, &transfer->command_buffer, 1);
}

static vkf_status copy(vkf__transfer *transfer, VkBuffer from, uint64_t from_offset, VkBuffer to, uint64_t to_offset,
                       uint64_t size)
{
    vkf__device *device = transfer->memory->device;
    vkf_status status = begin(transfer);
    if (status != VKF_OK)
        return status;
    VkBufferCopy region = {.srcOffset = from_offset, .dstOffset = to_offset, .size = size};
    device->vk.vkCmdCopyBuffer(transfer->command_buffer, from, to, 1, &region);
    return end_and_run(transfer);
}

static vkf_status write_part(vkf__transfer *transfer, VkBuffer buffer, uint64_t offset, const void *data, uint64_t size)
{
    vkf__turns_wait(&transfer->turns);
    vkf_status status = staging_create(transfer);
    if (status == VKF_OK) {
        memcpy(transfer->allocation.mapped, data, (size_t)size);
        status = copy(transfer, transfer->staging, 0, buffer, offset, size);
    }
    vkf__turns_end(&transfer->turns);
    return status;
}

static vkf_status read_part(vkf__transfer *transfer, VkBuffer buffer, uint64_t offset, void *out_data, uint64_t size)
{
    vkf__turns_wait(&transfer->turns);
    vkf_status status = staging_create(transfer);
    if (status == VKF_OK)
        status = copy(transfer, buffer, offset, transfer->staging, 0, size);
    if (status == VKF_OK)
        memcpy(out_data, transfer->allocation.mapped, (size_t)size);
    vkf__turns_end(&transfer->turns);
    return status;
}

static uint64_t part_at(uint64_t done, uint64_t size_bytes)
{
    return size_bytes - done < VKF_STAGING_BYTES ? size_bytes - done : VKF_STAGING_BYTES;
}

vkf_status vkf__transfer_write(vkf__transfer *transfer, VkBuffer buffer, uint64_t offset, const void *data,
                               uint64_t size_bytes)
{
    vkf_status status = VKF_OK;
    for (uint64_t done = 0; status == VKF_OK && done < size_bytes; done += VKF_STAGING_BYTES)
        status = write_part(transfer, buffer, offset + done, (const uint8_t *)data + done, part_at(done, size_bytes));
    return status;
}

vkf_status vkf__transfer_read(vkf__transfer *transfer, VkBuffer buffer, uint64_t offset, void *out_data,
                              uint64_t size_bytes)
{
    vkf_status status = VKF_OK;
    for (uint64_t done = 0; status == VKF_OK && done < size_bytes; done += VKF_STAGING_BYTES)
        status = read_part(transfer, buffer, offset + done, (uint8_t *)out_data + done, part_at(done, size_bytes));
    return status;
}

vkf_status vkf__transfer_clear(vkf__transfer *transfer, VkBuffer buffer, uint64_t offset, uint64_t size_bytes)
{
    vkf__turns_wait(&transfer->turns);
    vkf_status status = begin(transfer);
    if (status == VKF_OK) {
        vkf__device *device = transfer->memory->device;
        device->vk.vkCmdFillBuffer(transfer->command_buffer, buffer, offset, size_bytes, 0);
        status = end_and_run(transfer);
    }
    vkf__turns_end(&transfer->turns);
    return status;
}
