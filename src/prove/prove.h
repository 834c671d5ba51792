// The step between a plan and its use: the kernels that the plan wants are measured and tested on the device.
#ifndef VKF_PROVE_PROVE_H
#define VKF_PROVE_PROVE_H

#include "kernel/work.h"

// A vkf__prove_fn. Where the context tunes on first use, problems are measured first. If that taught selection
// something new, the next plan may want other kernels, and nothing is tested yet. Otherwise the kernels whose verdict
// is unknown are tested, and those that multiply matrices race.
vkf_status vkf__prove(vkf_context *context, const vkf__want *wants, size_t count, bool *out_again);

#endif
