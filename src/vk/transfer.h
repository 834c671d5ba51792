// Copies between host memory and buffers that the host cannot map, through two staging buffers per context: while the
// device copies one part, the host fills the other, or reads from it. The transfers of several threads take turns part
// by part, so that a small one waits for two parts of a large one at most.
#ifndef VKF_VK_TRANSFER_H
#define VKF_VK_TRANSFER_H

#include "vk/memory.h"
#include "vk/submission.h"
#include "vk/turns.h"

#define VKF_STAGING_BYTES (UINT64_C(2) << 20) // of each half, where one allocation may be as large

typedef struct vkf__transfer_half {
    vkf__submission submission;
    VkCommandBuffer command_buffer;
    VkBuffer staging; // made by vkf__transfer_init() unless all memory is mapped and cached, and else on first use
    vkf__allocation allocation;
    vkf__turns turns; // guard the members above
} vkf__transfer_half;

typedef struct vkf__transfer {
    vkf__memory *memory;
    uint64_t part_bytes; // what a half holds
    vkf__transfer_half halves[2];
} vkf__transfer;

VKF_MUST_CHECK vkf_status vkf__transfer_init(vkf__transfer *transfer, vkf__memory *memory);
void vkf__transfer_finish(vkf__transfer *transfer);

// Statuses: OUT_OF_HOST_MEMORY, OUT_OF_DEVICE_MEMORY, DEVICE_LOST, VULKAN.
VKF_MUST_CHECK vkf_status vkf__transfer_read(vkf__transfer *transfer, VkBuffer buffer, uint64_t offset, void *out_data,
                                             uint64_t size_bytes);
// Moves bytes within a buffer through staging memory, so that both places may overlap.
VKF_MUST_CHECK vkf_status vkf__transfer_move(vkf__transfer *transfer, VkBuffer buffer, uint64_t from, uint64_t to,
                                             uint64_t size_bytes);
// Fills with zeros; offset and size are multiples of 4.
VKF_MUST_CHECK vkf_status vkf__transfer_clear(vkf__transfer *transfer, VkBuffer buffer, uint64_t offset,
                                              uint64_t size_bytes);

// Writes one after the other. Between two of them the last part may still be in flight, while the caller makes the data
// of the next. vkf__transfer_flow_end() has to follow, also after a failure: until then the buffers have to live, the
// flow keeps a half from other threads, and its own makes no other transfer. Begins as {.transfer = transfer}.
typedef struct vkf__transfer_flow {
    vkf__transfer *transfer;
    vkf__transfer_half *held; // its part is in flight; NULL: none is
    uint8_t *out_part;        // of a read: where that part goes
    uint64_t part_bytes;
    vkf_status status; // the first failure
} vkf__transfer_flow;

// `data` is free when it returns. The status may be that of an earlier write of the flow.
VKF_MUST_CHECK vkf_status vkf__transfer_flow_write(vkf__transfer_flow *flow, VkBuffer buffer, uint64_t offset,
                                                   const void *data, uint64_t size_bytes);
// Waits for what is in flight, and gives the first failure of the flow.
VKF_MUST_CHECK vkf_status vkf__transfer_flow_end(vkf__transfer_flow *flow);

#endif
