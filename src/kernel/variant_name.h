// Names of kernel variants, as vkf_context_desc.variant takes them: beginnings of "kernel/config".
#ifndef VKF_KERNEL_VARIANT_NAME_H
#define VKF_KERNEL_VARIANT_NAME_H

#include <stdbool.h>
#include <stddef.h>

#include "kernel/registry.h"

// Whether its name begins so. What is the whole name of a config names no other one.
bool vkf__variant_is_named(const vkf__kernel *kernel, const vkf__config *config, const char *beginning);

typedef struct vkf__variant_matches {
    bool any;
    bool by_address; // one that reads an operand by its device address
} vkf__variant_matches;

// Which variants of the registry have names that begin like this, whatever the device.
vkf__variant_matches vkf__variants_named(const char *beginning);

// Writes the names nearest to one that does not exist, separated by ", ". They are as complete as that one is: shader,
// kernel, or kernel and config.
void vkf__variant_near(const char *name, char *out_text, size_t size_bytes);

#endif
