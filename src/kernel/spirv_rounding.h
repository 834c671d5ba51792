// How a module rounds what it stores in 16 bits. SPIR-V leaves that to the implementation, and some truncate, which
// shifts every stored activation by half a unit in the last place.
#ifndef VKF_KERNEL_SPIRV_ROUNDING_H
#define VKF_KERNEL_SPIRV_ROUNDING_H

#include "base/host.h"

// Makes a module with one entry point round 16-bit floats to the nearest, and to the even one of two: the execution
// mode RoundingModeRTE of SPV_KHR_float_controls; with `all_widths` 32-bit floats, too, as these round anyway. *words,
// an allocation of `host`, is replaced where the module has 16-bit floats, and stays as it is where it has none.
// Statuses: OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__spirv_round_to_even(const vkf__host *host, bool all_widths, uint32_t **words,
                                                   size_t *size_bytes);

#endif
