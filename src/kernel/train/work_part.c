// Records parts of works with their copies.
#include "kernel/train/work_part.h"

// Behind whatever ran before, and before what `to` and `access` tell of.
static void order(vkf__device *device, VkCommandBuffer commands, VkPipelineStageFlags to, VkAccessFlags access)
{
    const VkMemoryBarrier barrier = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
        .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT,
        .dstAccessMask = access,
    };
    device->vk.vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT, to,
                                    0, 1, &barrier, 0, NULL, 0, NULL);
}

static vkf_status record_copies(const vkf__work_part *part, const vkf__buffer_copy *copies, size_t count)
{
    vkf__device *device = part->submission.device;
    const VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    VKF_VK_OR_RETURN(device, device->vk.vkBeginCommandBuffer(part->copies, &info));
    order(device, part->copies, VK_PIPELINE_STAGE_TRANSFER_BIT,
          VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT);
    for (size_t i = 0; i < count; i++) {
        const vkf__buffer_copy *copy = &copies[i];
        const VkBufferCopy region = {copy->from->begin + copy->from_begin, copy->to->begin + copy->to_begin,
                                     copy->size_bytes};
        device->vk.vkCmdCopyBuffer(part->copies, copy->from->handle, copy->to->handle, 1, &region);
    }
    order(device, part->copies, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_HOST_BIT,
          VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_HOST_READ_BIT);
    VKF_VK_OR_RETURN(device, device->vk.vkEndCommandBuffer(part->copies));
    return VKF_OK;
}

vkf_status vkf__work_part_init(vkf__work_part *part, const vkf__work_part_desc *desc)
{
    const char *name = desc->work->name;
    *part = (vkf__work_part){.copies_first = desc->copies_first};
    VKF_RETURN_IF_ERROR(vkf__submission_init(&part->submission, &desc->work->context->device, name));
    VKF_RETURN_IF_ERROR(vkf__submission_command_buffer(&part->submission, name, &part->nodes));
    VKF_RETURN_IF_ERROR(vkf__submission_command_buffer(&part->submission, name, &part->copies));
    VKF_RETURN_IF_ERROR(vkf__work_record_part(desc->work, part->nodes, desc->begin, desc->end, true));
    return record_copies(part, desc->copies, desc->copy_count);
}

void vkf__work_part_finish(vkf__work_part *part)
{
    vkf__submission_finish(&part->submission);
    *part = (vkf__work_part){0};
}

vkf_status vkf__work_part_submit(vkf__work_part *part, bool nodes)
{
    const VkCommandBuffer first = part->copies_first ? part->copies : part->nodes,
                          second = part->copies_first ? part->nodes : part->copies, both[] = {first, second};
    return nodes ? vkf__submission_submit(&part->submission, both, 2)
                 : vkf__submission_submit(&part->submission, &part->copies, 1);
}
