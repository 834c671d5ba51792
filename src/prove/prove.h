// The step between a plan and its use: the kernels that the plan wants are measured and tested on the device.
#ifndef VKF_PROVE_PROVE_H
#define VKF_PROVE_PROVE_H

#include "kernel/work.h"

// A vkf__prove_fn. Where the context tunes on first use, problems are measured first. If that taught selection
// something new, the next plan may want other kernels, and nothing is tested yet. Otherwise the driver compiles the
// plan's pipelines in one batch, those that have not been tested on this device are tested, each with its
// specialisation constants, and those that multiply matrices race. Status CANCELLED, too.
vkf_status vkf__prove(vkf_context *context, const vkf__dispatch_plan *plan, bool *out_again);

#endif
