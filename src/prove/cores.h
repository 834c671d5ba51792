// How many cores run workgroups side by side, for devices whose drivers do not tell.
#ifndef VKF_PROVE_CORES_H
#define VKF_PROVE_CORES_H

#include "kernel/context.h"

// The most that are looked for.
#define VKF_MAX_MEASURED_CORES 512u

// Measures with how many workgroups of arithmetic a dispatch begins to take longer than with one: from there on cores
// have two to do. It takes about ten milliseconds. Where one workgroup does not keep a core busy, there seem to be more
// cores. Statuses: OUT_OF_HOST_MEMORY, OUT_OF_DEVICE_MEMORY, DEVICE_LOST, VULKAN.
VKF_MUST_CHECK vkf_status vkf__measure_cores(vkf_context *context, uint32_t *out_cores);

// Measures the cores of a device for which nobody has told or measured them yet, and keeps the number. Processors are
// left out: nothing is chosen by their cores. Statuses as above.
VKF_MUST_CHECK vkf_status vkf__learn_cores(vkf_context *context);

#endif
