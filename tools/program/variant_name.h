// Names of kernel variants, as --variant takes them: beginnings of "kernel/config".
#ifndef VKF_PROGRAM_VARIANT_NAME_H
#define VKF_PROGRAM_VARIANT_NAME_H

#include <stdbool.h>
#include <stddef.h>

// Whether any row of the registry has a variant whose name begins so, whatever the device.
bool vkf_variant_exists(const char *beginning);

// The names nearest to one that does not exist, as complete as it is (shader, kernel, or kernel and config), ", " between
// them.
void vkf_variant_near(const char *name, char *out_text, size_t size_bytes);

#endif
