// The kernels on which cases are tried, and their configs.
#ifndef VKF_TESTS_SUPPORT_TRIED_CONFIG_H
#define VKF_TESTS_SUPPORT_TRIED_CONFIG_H

#include <string.h>

#include "fixture.h"
#include "kernel/select.h"

// Kernels that say nothing new about how elements are read and written. One that takes halves out of words differs
// from that with 16-bit storage in this alone, which bfloat16 has not, and one that reads one type and writes another
// reads as one of its family does, and writes as another. VKF_TEST_ALL=1: none.
static inline bool vkf_test_is_between_others(const vkf__kernel *kernel)
{
    const vkf_dtype from = kernel->types[0], to = kernel->types[kernel->type_count - 1];
    const bool between = kernel->type_count > 2 && from != VKF_DTYPE_I32 && from != to;
    const char *packed = strstr(kernel->name, "f16p");
    return (between || (packed && packed[-1] != 'b')) && !vkf_test_all();
}

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
