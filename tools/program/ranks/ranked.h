// Commands that run on all ranks.
#ifndef VKF_PROGRAM_RANKED_H
#define VKF_PROGRAM_RANKED_H

#include "command/options.h"
#include "ranks/ranks.h"

// Runs a command, whose exit code is that of rank 0. What fails while other ranks may wait for this one ends them, too.
int vkf_run_ranked(vkf_ranks *out_ranks, int (*run)(void *user), void *user);

// The device to take: where no option chooses it, each rank on a machine with several discrete GPUs has another.
vkf_device_choice vkf_ranked_device(const vkf_ranks *ranks, const vkf_common_options *options);

#endif
