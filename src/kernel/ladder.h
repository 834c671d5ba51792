// In which order an operator's kernels are taken where nothing was measured: one list for each operator, the best
// first. A row of the registry says on which rung it stands (vkf__kernel.rung), and the list says when that rung is
// where: by facts about the device and the problem, never by names. A rung may be listed more than once.
#ifndef VKF_KERNEL_LADDER_H
#define VKF_KERNEL_LADDER_H

#include "kernel/registry.h"

// A rung where all of these facts hold; 0: always.
typedef struct vkf__ladder_step {
    vkf__rung rung;
    uint32_t facts; // bits
} vkf__ladder_step;

// *out_count: how many steps the ladder has.
const vkf__ladder_step *vkf__ladder_of(vkf__op op, uint32_t *out_count);

// The facts that hold for a problem of these types on a device.
uint32_t vkf__ladder_facts(const vkf__caps *caps, vkf__op op, const vkf_dtype *types, const vkf__problem *problem);

// The step of its operator's ladder at which a kernel is taken where these facts hold. Every row has one: a test holds
// that each rung that a row names is listed without facts, too.
uint32_t vkf__ladder_step_of(const vkf__kernel *kernel, uint32_t facts);

// A sentence about the first of `facts`, such as "for up to 8 rows", as static text.
const char *vkf__fact_text(uint32_t facts);

const char *vkf__rung_name(vkf__rung rung);

// Whether products of m rows with a weight in blocks of this type, k deep, are faster by integer dot products.
bool vkf__integer_dot_pays(const vkf__traits *traits, vkf_dtype weight, uint32_t m, uint32_t k);

#endif
