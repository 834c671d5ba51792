// Parts of building a work: binding the operands of a dispatch (descriptors, texel views, push constants and accesses),
// and queries for clocks and counters.
#ifndef VKF_KERNEL_WORK_BIND_H
#define VKF_KERNEL_WORK_BIND_H

#include "kernel/work.h"

// Bytes of a dispatch's grid in the control buffer: three words, and one of padding.
#define VKF_WORK_GRID_BYTES 16u

// Where the parameters of node `index` are in the control buffer.
uint64_t vkf__work_params_offset(const vkf__work *work, uint32_t index);

// Where counter `index` is there.
uint64_t vkf__work_counter_offset(const vkf__work *work, uint32_t index);

// What a dispatch does to an operand's bytes. It is told from others by its VkBuffer: a program may wrap one twice.
vkf__access vkf__access_of(const vkf__binding *binding);

// Fills in set, views, push constants and accesses of node `index`, whose pipeline is there already. On failure, what
// was made is released by vkf__work_unbind() like that of any other node.
VKF_MUST_CHECK vkf_status vkf__work_bind(vkf__work *work, const vkf__dispatch *dispatch, uint32_t index);
void vkf__work_unbind(vkf__work *work, vkf__node *node);

// Make the queries for timestamps and counters, where the context has them.
VKF_MUST_CHECK vkf_status vkf__work_clocks_init(vkf__work *work);
void vkf__work_clocks_finish(vkf__work *work);

#endif
