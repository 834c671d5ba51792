// A hash of what a measured or tested variant was made from. Stored results are valid only while it stays the same.
#ifndef VKF_KERNEL_VARIANT_HASH_H
#define VKF_KERNEL_VARIANT_HASH_H

#include "kernel/registry.h"

// The hash covers the embedded SPIR-V and the values that the config gives to its constants. 0 for a kernel that is not
// in this build.
uint64_t vkf__variant_hash(const vkf__kernel *kernel, const vkf__config *config);

// Finds the registry's variant with the name "kernel/config"; false when there is none. `name` need not be terminated.
bool vkf__variant_named(const char *name, size_t length, const vkf__kernel **out_kernel,
                        const vkf__config **out_config);

#endif
