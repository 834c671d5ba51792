// A part of a work with copies between buffers, submitted by itself, so that the host takes what it has left while the
// parts behind it run.
#ifndef VKF_KERNEL_WORK_PART_H
#define VKF_KERNEL_WORK_PART_H

#include "kernel/work.h"

typedef struct vkf__buffer_copy {
    const vkf_buffer *from, *to;
    uint64_t from_begin, to_begin, size_bytes;
} vkf__buffer_copy;

typedef struct vkf__work_part {
    vkf__submission submission; // waited for by vkf__submission_wait(), or before the queue is idle
    VkCommandBuffer nodes, copies;
    bool copies_first;
} vkf__work_part;

// What a part has: nodes [begin, end) of a work whose barriers were found, and copies behind or before them.
typedef struct vkf__work_part_desc {
    vkf__work *work;
    uint32_t begin, end;
    const vkf__buffer_copy *copies;
    size_t copy_count;
    bool copies_first;
} vkf__work_part_desc;

// Records it. The caller calls vkf__work_part_finish() whether this succeeds or not. Statuses: OUT_OF_HOST_MEMORY,
// OUT_OF_DEVICE_MEMORY, DEVICE_LOST, VULKAN.
VKF_MUST_CHECK vkf_status vkf__work_part_init(vkf__work_part *part, const vkf__work_part_desc *desc);
void vkf__work_part_finish(vkf__work_part *part);
// Without `nodes` the copies alone.
VKF_MUST_CHECK vkf_status vkf__work_part_submit(vkf__work_part *part, bool nodes);

#endif
