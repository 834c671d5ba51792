// What the modes of a work share, below its public face.
#ifndef VKF_KERNEL_WORK_PLAN_H
#define VKF_KERNEL_WORK_PLAN_H

#include "kernel/work.h"

void vkf__dispatch_plan_free(vkf__dispatch_plan *plan, const vkf__host *host);

// Enters a dispatch into the plan.
VKF_MUST_CHECK vkf_status vkf__work_plan_dispatch(vkf__work *work, const vkf__dispatch *dispatch);

// Turns to a mode, at the beginning of the list.
void vkf__work_rewind(vkf__work *work, vkf__work_mode mode);

// A bit 1 << i for every operand that is there.
uint32_t vkf__dispatch_present(const vkf__dispatch *dispatch);

// INTERNAL: the emitter does `what` where it has come to, which it did not do while planning.
vkf_status vkf__work_diverged(const vkf__work *work, const char *what);

#endif
