// Copies through the staging buffers, part by part.
#include "vk/transfer.h"

#include <string.h>

#include "base/size.h"

static void half_finish(vkf__memory *memory, vkf__transfer_half *half)
{
    if (half->staging != VK_NULL_HANDLE)
        memory->device->vk.vkDestroyBuffer(memory->device->handle, half->staging, NULL);
    vkf__memory_release(memory, &half->allocation);
    vkf__submission_finish(&half->submission);
    vkf__turns_finish(&half->turns);
}

void vkf__transfer_finish(vkf__transfer *transfer)
{
    if (!transfer->memory)
        return;
    for (size_t i = 0; i < 2; i++)
        half_finish(transfer->memory, &transfer->halves[i]);
    *transfer = (vkf__transfer){0};
}

// Whole pages, so that the buffer's own alignment adds nothing.
static uint64_t part_limit(const vkf__caps *caps)
{
    const uint64_t page = 4096, allocation = caps->max_memory_allocation_bytes, buffer = caps->max_buffer_bytes;
    const uint64_t most = (buffer < allocation ? buffer : allocation) / page * page;
    return most > 0 && most < VKF_STAGING_BYTES ? most : VKF_STAGING_BYTES;
}

static vkf_status staging_create(const vkf__transfer *transfer, vkf__transfer_half *half)
{
    vkf__memory *memory = transfer->memory;
    vkf__device *device = memory->device;
    if (half->staging != VK_NULL_HANDLE)
        return VKF_OK;
    vkf_status status = VKF_OK;
    VkBufferCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
        .size = transfer->part_bytes,
        .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT,
    };
    VKF_VK_CREATE(device, device->vk.vkCreateBuffer(device->handle, &info, NULL, &half->staging), &half->staging);
    vkf__device_name(device, VK_OBJECT_TYPE_BUFFER, (uint64_t)half->staging, "vkformer staging");
    VkMemoryRequirements need;
    device->vk.vkGetBufferMemoryRequirements(device->handle, half->staging, &need);
    VKF_TRY(vkf__memory_allocate(memory, &need, VKF_MEMORY_STAGING, "vkformer staging", &half->allocation));
    VKF_VK(device, device->vk.vkBindBufferMemory(device->handle, half->staging, half->allocation.memory,
                                                 half->allocation.offset));
    return VKF_OK;
fail:
    if (half->staging != VK_NULL_HANDLE)
        device->vk.vkDestroyBuffer(device->handle, half->staging, NULL);
    half->staging = VK_NULL_HANDLE;
    vkf__memory_release(memory, &half->allocation);
    return status;
}

static bool is_cached(const vkf__device_plan *plan, vkf__memory_class class)
{
    const VkMemoryType *type = &plan->caps.memory.memoryTypes[plan->memory_type[class]];
    return type->propertyFlags & VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
}

static vkf_status half_init(const vkf__transfer *transfer, vkf__transfer_half *half)
{
    vkf__memory *memory = transfer->memory;
    VKF_RETURN_IF_ERROR(vkf__turns_init(&half->turns, memory->device->host));
    VKF_RETURN_IF_ERROR(vkf__submission_init(&half->submission, memory->device, "vkformer transfer"));
    VKF_RETURN_IF_ERROR(vkf__submission_command_buffer(&half->submission, "vkformer transfer", &half->command_buffer));
    // Made here rather than on first use, so that creating an object later allocates what its plan says and no more.
    if (memory->device->plan.caps.traits.unified_memory && is_cached(&memory->device->plan, VKF_MEMORY_DEVICE))
        return VKF_OK;
    return staging_create(transfer, half);
}

vkf_status vkf__transfer_init(vkf__transfer *transfer, vkf__memory *memory)
{
    vkf_status status = VKF_OK;
    *transfer = (vkf__transfer){.memory = memory, .part_bytes = part_limit(&memory->device->plan.caps)};
    if (vkf__device_is_described(memory->device))
        return VKF_OK;
    for (size_t i = 0; i < 2; i++)
        VKF_TRY(half_init(transfer, &transfer->halves[i]));
    return VKF_OK;
fail:
    vkf__transfer_finish(transfer);
    return status;
}

// One barrier before a part and one after it cover every hazard with shaders, the host, and the other half's part.
static void barrier(vkf__transfer_half *half, VkPipelineStageFlags from, VkAccessFlags from_access,
                    VkPipelineStageFlags to, VkAccessFlags to_access)
{
    VkMemoryBarrier memory_barrier = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
        .srcAccessMask = from_access,
        .dstAccessMask = to_access,
    };
    half->submission.device->vk.vkCmdPipelineBarrier(half->command_buffer, from, to, 0, 1, &memory_barrier, 0, NULL, 0,
                                                     NULL);
}

static vkf_status begin(vkf__transfer_half *half)
{
    vkf__device *device = half->submission.device;
    VkCommandBufferBeginInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
        .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT,
    };
    VKF_VK_OR_RETURN(device, device->vk.vkBeginCommandBuffer(half->command_buffer, &info));
    barrier(half, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT,
            VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT, VK_PIPELINE_STAGE_TRANSFER_BIT,
            VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT);
    return VKF_OK;
}

static vkf_status end_and_submit(vkf__transfer_half *half)
{
    vkf__device *device = half->submission.device;
    barrier(half, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
            VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT | VK_PIPELINE_STAGE_HOST_BIT,
            VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_READ_BIT |
                VK_ACCESS_HOST_READ_BIT);
    VKF_VK_OR_RETURN(device, device->vk.vkEndCommandBuffer(half->command_buffer));
    return vkf__submission_submit(&half->submission, &half->command_buffer, 1);
}

static vkf_status submit_copy(vkf__transfer_half *half, VkBuffer from, uint64_t from_offset, VkBuffer to,
                              uint64_t to_offset, uint64_t size)
{
    VKF_RETURN_IF_ERROR(begin(half));
    VkBufferCopy region = {.srcOffset = from_offset, .dstOffset = to_offset, .size = size};
    half->submission.device->vk.vkCmdCopyBuffer(half->command_buffer, from, to, 1, &region);
    return end_and_submit(half);
}

// Waits for the part in flight, and gives its half to whoever waits.
static void settle(vkf__transfer_flow *flow)
{
    vkf__transfer_half *half = flow->held;
    if (!half)
        return;
    vkf_status status = vkf__submission_wait(&half->submission);
    if (status == VKF_OK && flow->out_part)
        memcpy(flow->out_part, half->allocation.mapped, (size_t)flow->part_bytes);
    if (flow->status == VKF_OK)
        flow->status = status;
    flow->held = NULL;
    vkf__turns_end(&half->turns);
}

// A half for the next part. A flow never waits for one half while it keeps the other: two of them might wait for each
// other.
static vkf__transfer_half *take_half(vkf__transfer_flow *flow)
{
    vkf__transfer_half *halves = flow->transfer->halves;
    for (size_t i = 0; i < 2; i++)
        if (&halves[i] != flow->held && vkf__turns_try(&halves[i].turns))
            return &halves[i];
    vkf__transfer_half *next = flow->held == &halves[0] ? &halves[1] : &halves[0];
    settle(flow);
    vkf__turns_wait(&next->turns);
    return next;
}

// Goes on with a part that was submitted to a half, or was not: the part before it is waited for.
static vkf_status go_on(vkf__transfer_flow *flow, vkf__transfer_half *half, vkf_status submitted, uint8_t *out_part,
                        uint64_t part_bytes)
{
    settle(flow);
    if (flow->status == VKF_OK)
        flow->status = submitted;
    if (submitted != VKF_OK) {
        vkf__turns_end(&half->turns);
        return flow->status;
    }
    flow->held = half;
    flow->out_part = out_part;
    flow->part_bytes = part_bytes;
    return flow->status;
}

static vkf_status write_part(vkf__transfer_flow *flow, VkBuffer buffer, uint64_t offset, const void *data,
                             uint64_t size)
{
    vkf__transfer_half *half = take_half(flow);
    vkf_status status = staging_create(flow->transfer, half);
    if (status == VKF_OK) {
        memcpy(half->allocation.mapped, data, (size_t)size);
        status = submit_copy(half, half->staging, 0, buffer, offset, size);
    }
    return go_on(flow, half, status, NULL, 0);
}

static vkf_status read_part(vkf__transfer_flow *flow, VkBuffer buffer, uint64_t offset, uint8_t *out, uint64_t size)
{
    vkf__transfer_half *half = take_half(flow);
    vkf_status status = staging_create(flow->transfer, half);
    if (status == VKF_OK)
        status = submit_copy(half, buffer, offset, half->staging, 0, size);
    return go_on(flow, half, status, out, size);
}

static uint64_t part_at(const vkf__transfer *transfer, uint64_t done, uint64_t size_bytes)
{
    return size_bytes - done < transfer->part_bytes ? size_bytes - done : transfer->part_bytes;
}

vkf_status vkf__transfer_flow_write(vkf__transfer_flow *flow, VkBuffer buffer, uint64_t offset, const void *data,
                                    uint64_t size_bytes)
{
    for (uint64_t done = 0; done < size_bytes; done += flow->transfer->part_bytes)
        VKF_RETURN_IF_ERROR(write_part(flow, buffer, offset + done, (const uint8_t *)data + done,
                                       part_at(flow->transfer, done, size_bytes)));
    return flow->status;
}

vkf_status vkf__transfer_flow_end(vkf__transfer_flow *flow)
{
    settle(flow);
    return flow->status;
}

vkf_status vkf__transfer_read(vkf__transfer *transfer, VkBuffer buffer, uint64_t offset, void *out_data,
                              uint64_t size_bytes)
{
    vkf__transfer_flow flow = {.transfer = transfer};
    vkf_status status = VKF_OK;
    for (uint64_t done = 0; status == VKF_OK && done < size_bytes; done += transfer->part_bytes)
        status =
            read_part(&flow, buffer, offset + done, (uint8_t *)out_data + done, part_at(transfer, done, size_bytes));
    vkf_status ended = vkf__transfer_flow_end(&flow);
    return status != VKF_OK ? status : ended;
}

// Copies a part aside and from there to its new place.
static vkf_status submit_move(vkf__transfer_half *half, VkBuffer buffer, uint64_t from, uint64_t to, uint64_t size)
{
    const VkBufferCopy away = {.srcOffset = from, .size = size}, back = {.dstOffset = to, .size = size};
    vkf__device *device = half->submission.device;
    VKF_RETURN_IF_ERROR(begin(half));
    device->vk.vkCmdCopyBuffer(half->command_buffer, buffer, half->staging, 1, &away);
    barrier(half, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT,
            VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT);
    device->vk.vkCmdCopyBuffer(half->command_buffer, half->staging, buffer, 1, &back);
    return end_and_submit(half);
}

// Parts follow each other so that none is overwritten before its turn.
vkf_status vkf__transfer_move(vkf__transfer *transfer, VkBuffer buffer, uint64_t from, uint64_t to, uint64_t size_bytes)
{
    vkf__transfer_flow flow = {.transfer = transfer};
    vkf_status status = VKF_OK;
    for (uint64_t done = 0; status == VKF_OK && done < size_bytes; done += transfer->part_bytes) {
        const uint64_t size = part_at(transfer, done, size_bytes), first = to < from ? done : size_bytes - done - size;
        vkf__transfer_half *half = take_half(&flow);
        status = staging_create(transfer, half);
        if (status == VKF_OK)
            status = submit_move(half, buffer, from + first, to + first, size);
        status = go_on(&flow, half, status, NULL, 0);
    }
    vkf_status ended = vkf__transfer_flow_end(&flow);
    return status != VKF_OK ? status : ended;
}

vkf_status vkf__transfer_clear(vkf__transfer *transfer, VkBuffer buffer, uint64_t offset, uint64_t size_bytes)
{
    vkf__transfer_flow flow = {.transfer = transfer};
    vkf__transfer_half *half = take_half(&flow);
    vkf_status status = begin(half);
    if (status == VKF_OK) {
        half->submission.device->vk.vkCmdFillBuffer(half->command_buffer, buffer, offset, size_bytes, 0);
        status = end_and_submit(half);
    }
    status = go_on(&flow, half, status, NULL, 0);
    vkf_status ended = vkf__transfer_flow_end(&flow);
    return status != VKF_OK ? status : ended;
}
