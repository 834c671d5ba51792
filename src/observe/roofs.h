// Measures the roofs of a device: by single runs of the caller's sizes, or all three with sizes and repetitions chosen
// here.
#ifndef VKF_OBSERVE_ROOFS_H
#define VKF_OBSERVE_ROOFS_H

#include <vkformer/measure.h>

#include "op/roof.h"

// Runs a kernel once. The context then has its time. Statuses: those of a run.
VKF_MUST_CHECK vkf_status vkf__run_roof_copy(vkf_context *context, const vkf__roof_copy_args *args);
VKF_MUST_CHECK vkf_status vkf__run_roof_fma(vkf_context *context, const vkf__roof_fma_args *args);

// The operations of one run, two to a multiply-add.
double vkf__roof_fma_flops(double invocations, uint32_t rounds, uint32_t chains);

// `progress` may be NULL. Statuses as vkf_measure_roofs().
VKF_MUST_CHECK vkf_status vkf__measure_roofs(vkf_context *context, vkf_progress_fn progress, void *user,
                                             vkf_roofs *out_roofs);

#endif
