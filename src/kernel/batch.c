#include "kernel/batch.h"

vkf_status vkf__batch_add(vkf__batch *batch, const vkf__work *work)
{
    void *grown = batch->command_buffers;
    vkf_status status = vkf__grow(work->context->device.host, &grown, sizeof *batch->command_buffers, batch->count,
                                  &batch->capacity, batch->count + 1);
    if (status != VKF_OK)
        return status;
    batch->command_buffers = grown;
    batch->command_buffers[batch->count++] = work->command_buffer;
    return VKF_OK;
}

void vkf__batch_free(vkf__batch *batch, const vkf__host *host)
{
    vkf__free(host, batch->command_buffers);
    *batch = (vkf__batch){0};
}

vkf_status vkf__batch_run(const vkf__batch *batch, vkf__submission *submission, size_t begin, size_t end)
{
    return vkf__submission_run(submission, batch->command_buffers + begin, (uint32_t)(end - begin));
}
