// Collects the command buffers of recorded works and submits them together.
#include "kernel/batch.h"

vkf_status vkf__batch_add(vkf__batch *batch, vkf__work *work)
{
    const vkf__host *host = work->context->device.host;
    void *works = batch->works, *command_buffers = batch->command_buffers;
    VKF_RETURN_IF_ERROR(
        vkf__grow(host, &works, sizeof *batch->works, batch->count, &batch->work_capacity, batch->count + 1));
    batch->works = works;
    VKF_RETURN_IF_ERROR(vkf__grow(host, &command_buffers, sizeof *batch->command_buffers, batch->count,
                                  &batch->capacity, batch->count + 1));
    batch->command_buffers = command_buffers;
    batch->works[batch->count] = work;
    batch->command_buffers[batch->count++] = work->built.command_buffer;
    return VKF_OK;
}

void vkf__batch_free(vkf__batch *batch, const vkf__host *host)
{
    vkf__free(host, batch->works);
    vkf__free(host, batch->command_buffers);
    *batch = (vkf__batch){0};
}

vkf_status vkf__batch_record(const vkf__batch *batch, VkCommandBuffer command_buffer, bool queries)
{
    for (size_t i = 0; i < batch->count; i++)
        VKF_RETURN_IF_ERROR(vkf__work_record(batch->works[i], command_buffer, queries));
    return VKF_OK;
}

vkf_status vkf__batch_join(vkf__batch *batch, vkf__submission *submission, const char *name)
{
    vkf__device *device = submission->device;
    const VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    VkCommandBuffer joined = VK_NULL_HANDLE;
    VKF_RETURN_IF_ERROR(vkf__submission_command_buffer(submission, name, &joined));
    VKF_VK_OR_RETURN(device, device->vk.vkBeginCommandBuffer(joined, &info));
    VKF_RETURN_IF_ERROR(vkf__batch_record(batch, joined, true));
    VKF_VK_OR_RETURN(device, device->vk.vkEndCommandBuffer(joined));
    batch->joined = joined;
    return VKF_OK;
}

// Entries [begin, end), or all of them in one.
static const VkCommandBuffer *command_buffers_of(const vkf__batch *batch, size_t begin, size_t end, uint32_t *out_count)
{
    const bool joined = batch->joined != VK_NULL_HANDLE && begin == 0 && end == batch->count;
    *out_count = joined ? 1 : (uint32_t)(end - begin);
    return joined ? &batch->joined : batch->command_buffers + begin;
}

vkf_status vkf__batch_submit_with(const vkf__batch *batch, vkf__submission *submission, size_t begin, size_t end,
                                  const vkf__submit_semaphores *semaphores)
{
    vkf__submit_semaphores own = *semaphores;
    uint32_t count = 0;
    const VkCommandBuffer *command_buffers = command_buffers_of(batch, begin, end, &count);
    if (begin > 0)
        own.wait_count = 0;
    if (end == batch->count)
        return vkf__submission_submit_with(submission, command_buffers, count, &own);
    own.signal_count = 0;
    return vkf__submission_submit_ahead(submission, command_buffers, count, &own);
}
