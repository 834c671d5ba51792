// The configs of a kernel on which its cases are tried.
#ifndef VKF_TESTS_SUPPORT_TRIED_CONFIG_H
#define VKF_TESTS_SUPPORT_TRIED_CONFIG_H

#include "kernel/select.h"

// Whether config `index` is the first that the device takes or, where configs are for problems of their own, the last:
// the first takes none of the others' problems.
static inline bool vkf_test_tries_config(const vkf__caps *caps, const vkf__kernel *kernel, uint32_t index)
{
    uint32_t last = kernel->config_count;
    for (uint32_t i = 0; i < kernel->config_count; i++)
        if (vkf__kernel_supported(caps, kernel, &kernel->configs[i], NULL))
            last = i;
    return &kernel->configs[index] == vkf__kernel_supported_config(caps, kernel, NULL) ||
           (kernel->unfit && index == last);
}

#endif
