// Cuts works where the prefix of their labels changes.
#include "kernel/recording.h"

#include <string.h>

static size_t prefix_bytes(const vkf__work *work, uint32_t node)
{
    return strlen(work->built.nodes[node].label) - strlen(work->plan.nodes[node].label);
}

static bool have_one_prefix(const vkf__work *work, uint32_t a, uint32_t b)
{
    const size_t bytes = prefix_bytes(work, a);
    return bytes == prefix_bytes(work, b) && memcmp(work->built.nodes[a].label, work->built.nodes[b].label, bytes) == 0;
}

static vkf_status add_part(vkf__recording *recording, vkf__work *work, vkf__submission *submission, uint32_t begin,
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

vkf_status vkf__recording_add(vkf__recording *recording, vkf__work *work, vkf__submission *submission)
{
    VKF_RETURN_IF_ERROR(vkf__work_find_barriers(work));
    for (uint32_t begin = 0, end = 0; begin < work->plan.node_count; begin = end) {
        while (end < work->plan.node_count && have_one_prefix(work, begin, end))
            end++;
        VKF_RETURN_IF_ERROR(add_part(recording, work, submission, begin, end));
    }
    return VKF_OK;
}

void vkf__recording_free(vkf__recording *recording, const vkf__host *host)
{
    vkf__free(host, recording->parts);
    *recording = (vkf__recording){0};
}

vkf_status vkf__recording_run(const vkf__recording *recording, size_t count, vkf__submission *submission)
{
    return vkf__submission_run(submission, recording->parts, (uint32_t)count);
}
