// What stands between a plan and its use: the kernels that it wants are measured and tested on the device.
#ifndef VKF_PROVE_PROVE_H
#define VKF_PROVE_PROVE_H

#include "kernel/work.h"

// A vkf__prove_fn. Problems are measured first where the context tunes on first use. When that taught selection nothing
// new, the kernels whose verdict is unknown are tested; when it did, the next plan may want others.
vkf_status vkf__prove(vkf_context *context, const vkf__want *wants, size_t count, bool *out_again);

#endif
