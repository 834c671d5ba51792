// The problems that Transformers are made of, as each operator's row lists them. Reports use them to tell which kernels
// a device takes by default, and compile these as they are commonly used. Warm-up uses them to choose the pipelines
// that it makes ahead of their first use.
#ifndef VKF_OP_TYPICAL_PROBLEM_H
#define VKF_OP_TYPICAL_PROBLEM_H

#include "kernel/select.h"

typedef struct vkf__typical_problem {
    const char *label; // in reports; NULL: reports leave the problem out
    vkf__problem problem;
    bool linear; // b is a weight, in the layout that the device prefers
    // Warm-up makes pipelines of the kernels that the device takes for it; if it is linear, for every layout of b.
    bool ahead;
} vkf__typical_problem;

// The problem as it arises on a device. A linear one gets the layout of b that serves these types best there.
vkf__problem vkf__typical_problem_for(const vkf__selector *selector, const vkf__typical_problem *typical,
                                      const vkf_dtype *types);

// The typical problem of operators for which all are alike, but for their size. No pipeline is made ahead where only a
// layer tells which activation it needs, and where only training, beam search or a measurement asks for one.
extern const vkf__typical_problem vkf__typical_any[1], vkf__typical_any_ahead[1];

// The typical problems of operators whose rows are as long as a model is wide.
#define VKF_TYPICAL_ROWS 4
extern const vkf__typical_problem vkf__typical_rows[VKF_TYPICAL_ROWS];

// The widths of a head for which reports compile attention kernels.
#define VKF_TYPICAL_HEAD_DIMS 3
extern const uint32_t vkf__typical_head_dims[VKF_TYPICAL_HEAD_DIMS];

// The specialisation constants behind the tile of a representative pipeline, as vkf__variant_spec() takes them: a
// Linear with bias; attention without a mask over heads of head_dim, in parts where the config makes nothing else;
// layer norm with weight and bias. `out_flags` has room for VKF_KERNEL_MAX_SPEC values.
void vkf__typical_flags(const vkf__kernel *kernel, const vkf__config *config, uint32_t head_dim, uint32_t *out_flags);

// Sets constant `spec_id` if the kernel has it behind its tile.
void vkf__typical_flag_set(const vkf__kernel *kernel, uint32_t spec_id, uint32_t value, uint32_t *flags);

#endif
