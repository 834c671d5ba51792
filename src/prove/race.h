// Races kernels that multiply by cooperative matrices. Drivers also offer these where the device has no units for them,
// and where they are slower than plain multiply-adds. So before its first use such a kernel, right as it may be, is
// measured against the kernel that the device would take without matrices.
#ifndef VKF_PROVE_RACE_H
#define VKF_PROVE_RACE_H

#include "kernel/work.h"

// Measures two variants in turn on a problem of the kind that is wanted, of moderate size. *out_ns has the best time of
// each; zeros where one of them does not take the problem. Statuses: OUT_OF_HOST_MEMORY, OUT_OF_DEVICE_MEMORY,
// DEVICE_LOST, VULKAN.
VKF_MUST_CHECK vkf_status vkf__race_run(vkf_context *context, const vkf__want *want, const vkf__variant *opponent,
                                        double out_ns[2]);

// Races a wanted kernel by matrices that was never raced on this device, unless it was asked for or measured, and keeps
// the outcome. Where nothing could be measured, that is told, and known until the context ends. *out_lost: whether it
// is slower than what the device has without matrices. Statuses: those of vkf__race_run() and of vkf__self_test().
VKF_MUST_CHECK vkf_status vkf__race_once(vkf_context *context, const vkf__want *want, bool *out_lost);

#endif
