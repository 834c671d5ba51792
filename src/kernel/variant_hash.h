// What a measured or tested variant was made of: stored results count only while this is the same.
#ifndef VKF_KERNEL_VARIANT_HASH_H
#define VKF_KERNEL_VARIANT_HASH_H

#include "kernel/registry.h"

// Of the embedded SPIR-V and of the values that the config gives its constants. 0 for a kernel that is not in this
// build.
uint64_t vkf__variant_hash(const vkf__kernel *kernel, const vkf__config *config);

// The registry's variant of a name "kernel/config"; false when there is none. `name` is not terminated.
bool vkf__variant_named(const char *name, size_t length, const vkf__kernel **out_kernel,
                        const vkf__config **out_config);

#endif
