// How many bytes a planned dispatch asks memory for at once.
#ifndef VKF_API_PLANNED_STEP_H
#define VKF_API_PLANNED_STEP_H

#include <vkformer/plan.h>

#include "kernel/registry.h"

// The bytes that a workgroup asks for before it waits for any of them, from the tile of its kernel: those of a step of
// depth, or of a step of keys. Kernels without a tile are taken to load 16 bytes for each invocation.
double vkf__planned_step_bytes(const vkf__config *config, const vkf_planned_dispatch *dispatch);

#endif
