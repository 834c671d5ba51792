// The problems that Transformers are made of, as each operator's row lists them: for telling which kernels a device
// takes by default, for compiling them as they are commonly asked for, and for making their pipelines ahead of their
// first use.
#ifndef VKF_OP_TYPICAL_PROBLEM_H
#define VKF_OP_TYPICAL_PROBLEM_H

#include "kernel/select.h"

typedef struct vkf__typical_problem {
    const char *label; // in reports; NULL: they leave it out
    vkf__problem problem;
    bool linear; // b is a weight, in the layout that the device wants
    // Pipelines are made ahead of the kernels that a device takes for it, of a linear one for every layout of b.
    bool ahead;
} vkf__typical_problem;

// The problem as a device gets it: with the layout of b that a kernel for these types wants there.
vkf__problem vkf__typical_problem_for(const vkf__selector *selector, const vkf__typical_problem *typical,
                                      const vkf_dtype *types);

// Sizes of a head that attention kernels are compiled for.
#define VKF_TYPICAL_HEAD_DIMS 3
extern const uint32_t vkf__typical_head_dims[VKF_TYPICAL_HEAD_DIMS];

// The specialisation constants after the tile, as vkf__variant_spec() takes them: a Linear with bias, attention without
// a mask over heads of head_dim (in parts where the config is for those alone), layer norm with weight and bias.
// `out_flags` has room for VKF_KERNEL_MAX_SPEC.
void vkf__typical_flags(const vkf__kernel *kernel, const vkf__config *config, uint32_t head_dim, uint32_t *out_flags);

// Sets the constant of an id where the kernel has it behind its tile.
void vkf__typical_flag_set(const vkf__kernel *kernel, uint32_t spec_id, uint32_t value, uint32_t *flags);

#endif
