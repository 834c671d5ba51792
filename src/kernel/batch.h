// Several recorded works that are submitted together.
#ifndef VKF_KERNEL_BATCH_H
#define VKF_KERNEL_BATCH_H

#include "kernel/work.h"

typedef struct vkf__batch {
    vkf__work **works; // not owned
    VkCommandBuffer *command_buffers;
    size_t count;
    size_t work_capacity, capacity;
    VkCommandBuffer joined; // of all works; null: there is none
    double most_flops;      // of a run of the largest sizes; set by the owner
} vkf__batch;

// Appends a work with a recorded command buffer of its own; the batch does not own it. Status OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__batch_add(vkf__batch *batch, vkf__work *work);
// Records all works, one behind the other, into a command buffer in the recording state; with `queries`, what tells
// their times, too.
VKF_MUST_CHECK vkf_status vkf__batch_record(const vkf__batch *batch, VkCommandBuffer command_buffer, bool queries);
// Records all works into one command buffer of the submission's, which is submitted in place of their own whenever all
// of them are.
VKF_MUST_CHECK vkf_status vkf__batch_join(vkf__batch *batch, vkf__submission *submission, const char *name);
void vkf__batch_free(vkf__batch *batch, const vkf__host *host);

// Submits entries [begin, end), of which the first wait for semaphores and the last signal theirs. Only the last may be
// waited for. If this fails, all those before may be on their way.
VKF_MUST_CHECK vkf_status vkf__batch_submit_with(const vkf__batch *batch, vkf__submission *submission, size_t begin,
                                                 size_t end, const vkf__submit_semaphores *semaphores);

#endif
