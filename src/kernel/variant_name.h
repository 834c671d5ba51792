// Names of kernel variants, as vkf_context_desc.variant takes them: beginnings of "kernel/config".
#ifndef VKF_KERNEL_VARIANT_NAME_H
#define VKF_KERNEL_VARIANT_NAME_H

#include <stdbool.h>
#include <stddef.h>

#include "kernel/registry.h"

bool vkf__variant_is_named(const vkf__kernel *kernel, const vkf__config *config, const char *beginning);

// Whether any row of the registry has a variant whose name begins like this, whatever the device.
bool vkf__variant_exists(const char *beginning);

// Whether one of these reads an operand by its device address.
bool vkf__variant_takes_addresses(const char *beginning);

// Writes the names nearest to one that does not exist, separated by ", ". They are as complete as that one is: shader,
// kernel, or kernel and config.
void vkf__variant_near(const char *name, char *out_text, size_t size_bytes);

#endif
