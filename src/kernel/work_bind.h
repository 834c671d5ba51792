// Binding the operands of a dispatch: descriptors, texel views, push constants, and what the dispatch accesses.
#ifndef VKF_KERNEL_WORK_BIND_H
#define VKF_KERNEL_WORK_BIND_H

#include "kernel/work.h"

// Where node `index` has its parameters in the control buffer.
uint64_t vkf__work_params_offset(const vkf__work *work, uint32_t index);

// Fills in set, views, push constants and accesses of the node at work->cursor, whose pipeline is there. What was made
// of a node that fails is released by vkf__work_unbind(), as of any other.
VKF_MUST_CHECK vkf_status vkf__work_bind(vkf__work *work, const vkf__dispatch *dispatch, vkf__node *node);
void vkf__work_unbind(vkf__work *work, vkf__node *node);

#endif
