// Records a trainer's works: a pass has a command buffer for each layer's way forward, another for its way back, and
// others for what lies between.
#include <string.h>

#include "training/trainer.h"

// The bytes of a dispatch's label that name its layer.
static size_t layer_bytes(const vkf__work *work, uint32_t node)
{
    return strlen(work->built.nodes[node].label) - strlen(work->plan.nodes[node].label);
}

static bool is_same_layer(const vkf__work *work, uint32_t a, uint32_t b)
{
    const size_t bytes = layer_bytes(work, a);
    return bytes == layer_bytes(work, b) &&
           memcmp(work->built.nodes[a].label, work->built.nodes[b].label, bytes) == 0;
}

static vkf_status add(vkf__recording *recording, vkf__work *work, vkf__submission *submission, uint32_t begin,
                      uint32_t end)
{
    void *parts = recording->parts;
    VKF_RETURN_IF_ERROR(vkf__grow(submission->device->host, &parts, sizeof *recording->parts, recording->count,
                                  &recording->capacity, recording->count + 1));
    recording->parts = parts;
    VkCommandBuffer *part = &recording->parts[recording->count];
    VKF_RETURN_IF_ERROR(vkf__submission_command_buffer(submission, work->name, part));
    recording->count++;
    return vkf__work_record_part(work, *part, begin, end, false);
}

vkf_status vkf__trainer_record(vkf_trainer *t, vkf__work *work, vkf__recording *inout_recording)
{
    VKF_RETURN_IF_ERROR(vkf__work_find_barriers(work));
    for (uint32_t begin = 0, end = 0; begin < work->plan.node_count; begin = end) {
        while (end < work->plan.node_count && is_same_layer(work, begin, end))
            end++;
        VKF_RETURN_IF_ERROR(add(inout_recording, work, &t->submission, begin, end));
    }
    return VKF_OK;
}
