// Reports what a device makes of each variant of each kernel: whether it can use the variant, takes it by default and
// compiles it, and how well. Does the same for a shader of the caller's.
#ifndef VKF_OBSERVE_KERNEL_REPORT_H
#define VKF_OBSERVE_KERNEL_REPORT_H

#include <vkformer/kernels.h>

#include "kernel/context.h"

// Reports on the variants whose names begin with `name`. Statuses: CANCELLED, OUT_OF_HOST_MEMORY, DEVICE_LOST. A
// pipeline that cannot be made is a part of the report.
VKF_MUST_CHECK vkf_status vkf__report_kernels(vkf_context *context, const char *name, vkf_kernel_compile which,
                                              vkf_kernel_report_fn visit, void *user);

// Statuses as vkf_context_report_shader().
VKF_MUST_CHECK vkf_status vkf__report_shader(vkf_context *context, const vkf_shader_desc *desc,
                                             vkf_kernel_report_fn visit, void *user);

#endif
