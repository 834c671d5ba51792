// How many bytes the kernels of the registry ask memory for at once.
#ifndef VKF_PROGRAM_PLAN_FLIGHT_H
#define VKF_PROGRAM_PLAN_FLIGHT_H

#include <vkformer/vkformer.h>

// The bytes that a workgroup asks for before it waits for any of them, from the tile of its kernel: those of a step of
// depth, or of a step of keys. Kernels without a tile are taken to load 16 bytes for each invocation.
double vkf_plan_step_bytes(const vkf_planned_dispatch *dispatch);

#endif
