// Which kernel and which tile parameters serve a problem: a pure function of caps, tuned data, types and shape.
#ifndef VKF_KERNEL_SELECT_H
#define VKF_KERNEL_SELECT_H

#include "kernel/tuned.h"
#include "vk/caps.h"

typedef struct vkf__variant {
    const vkf__kernel *kernel;
    const vkf__config *config;
} vkf__variant;

// Whether the device may run a kernel with a config; *out_why (may be NULL) gets a static reason either way.
bool vkf__kernel_usable(const vkf__caps *caps, const vkf__kernel *kernel, const vkf__config *config,
                        const char **out_why);

// False when no row of the registry serves op and types on this device.
bool vkf__select(const vkf__caps *caps, const vkf__tuned *tuned, vkf__op op, const vkf_dtype *types,
                 const vkf__problem *problem, vkf__variant *out_variant);

#endif
