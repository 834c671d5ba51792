// Which variants are worth measuring for a problem: a pure function of caps, verdicts, types and shape.
#ifndef VKF_KERNEL_TUNE_CANDIDATES_H
#define VKF_KERNEL_TUNE_CANDIDATES_H

#include "kernel/select.h"

typedef struct vkf__candidate {
    vkf__variant variant;
    bool taken;            // worth measuring
    const char *why;       // why it is taken or not; static
    uint32_t registers;    // estimate of 32-bit registers per invocation
    uint32_t shared_bytes; // of a workgroup
} vkf__candidate;

// Estimates what an invocation keeps in registers: its part of the tile of d, a row and a column of operands, and
// addresses. A kernel without tiles keeps little.
uint32_t vkf__estimate_registers(const vkf__config *config);

// Lists every variant with the operator and types in the order in which time is best spent: the likeliest config of
// every kernel, then the second ones, and so on, each time by the ladder. So the default without measurements is the
// first of those worth measuring. *out_candidates is released with vkf__free(). Status OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__tune_candidates(const vkf__host *host, const vkf__selector *selector, vkf__op op,
                                               const vkf_dtype *types, const vkf__problem *problem,
                                               vkf__candidate **out_candidates, size_t *out_count);

#endif
