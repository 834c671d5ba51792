// What each variant of each kernel is to a device: usable, taken by default, compiled, and how well. What becomes of a
// shader of the caller's.
#ifndef VKF_OBSERVE_KERNEL_REPORT_H
#define VKF_OBSERVE_KERNEL_REPORT_H

#include <vkformer/kernels.h>

#include "kernel/context.h"

// Of variants whose names begin with `name`. Statuses: CANCELLED, OUT_OF_HOST_MEMORY, DEVICE_LOST; that a pipeline
// cannot be made is a part of the report.
VKF_MUST_CHECK vkf_status vkf__report_kernels(vkf_context *context, const char *name, vkf_kernel_compile which,
                                              vkf_kernel_report_fn visit, void *user);

// Statuses as vkf_context_report_shader().
VKF_MUST_CHECK vkf_status vkf__report_shader(vkf_context *context, const vkf_shader_desc *desc,
                                             vkf_kernel_report_fn visit, void *user);

#endif
