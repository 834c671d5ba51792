// The parts of building a work: binding the operands of a dispatch (descriptors, texel views, push constants, and what the
// dispatch accesses), and what reads clocks.
#ifndef VKF_KERNEL_WORK_BIND_H
#define VKF_KERNEL_WORK_BIND_H

#include "kernel/work.h"

// Words of a dispatch's grid in the control buffer, one of them padding.
#define VKF_WORK_GRID_BYTES 16u

// Where node `index` has its parameters in the control buffer.
uint64_t vkf__work_params_offset(const vkf__work *work, uint32_t index);

// Fills in set, views, push constants and accesses of node `index`, whose pipeline is there. What was made of a node that
// fails is released by vkf__work_unbind(), as of any other.
VKF_MUST_CHECK vkf_status vkf__work_bind(vkf__work *work, const vkf__dispatch *dispatch, uint32_t index);
void vkf__work_unbind(vkf__work *work, vkf__node *node);

// Queries for timestamps and counters, where the context has them.
VKF_MUST_CHECK vkf_status vkf__work_clocks_init(vkf__work *work);
void vkf__work_clocks_finish(vkf__work *work);

#endif
