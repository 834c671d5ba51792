// What the modes of a work share internally.
#ifndef VKF_KERNEL_WORK_PLAN_H
#define VKF_KERNEL_WORK_PLAN_H

#include "kernel/work.h"

void vkf__dispatch_plan_free(vkf__dispatch_plan *plan, const vkf__host *host);

// Enters a dispatch into the plan.
VKF_MUST_CHECK vkf_status vkf__work_plan_dispatch(vkf__work *work, const vkf__dispatch *dispatch);

// Switches to a mode and goes back to the beginning of the list.
void vkf__work_rewind(vkf__work *work, vkf__work_mode mode);

// A bit 1 << i for every operand that is present.
uint32_t vkf__dispatch_present(const vkf__dispatch *dispatch);

// Fails with INTERNAL: at this place the emitter does `what`, which it did not do while planning.
vkf_status vkf__work_diverged(const vkf__work *work, const char *what);

#endif
