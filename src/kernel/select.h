// Which kernel and which tile parameters serve a problem: a pure function of caps, what was measured and tested on the
// device, types and shape.
#ifndef VKF_KERNEL_SELECT_H
#define VKF_KERNEL_SELECT_H

#include "kernel/tuned.h"
#include "kernel/verdict.h"

typedef struct vkf__variant {
    const vkf__kernel *kernel;
    const vkf__config *config;
} vkf__variant;

typedef struct vkf__selector {
    const vkf__caps *caps;
    const vkf__tuned *tuned;       // NULL: nothing was measured
    const vkf__verdicts *verdicts; // NULL: nothing was tested
    // Beginning of "kernel/config": a variant of this name is taken wherever one can serve. NULL: none.
    const char *forced;
} vkf__selector;

uint32_t vkf__variant_local_size(const vkf__caps *caps, const vkf__variant *variant);

// Shared memory of a workgroup for a problem; NULL: at least. 0 for a kernel on matrices that the device does not have.
uint32_t vkf__variant_shared_bytes(const vkf__caps *caps, const vkf__variant *variant, const vkf__problem *problem);

// The values of all specialisation constants of a variant that the device may run: workgroup size, tile, flags, and
// the shape of the device's matrices. `flags` are indexed by spec id, and what the others have there counts for
// nothing; NULL where a kernel has none. Constants that a module does not have get a value, too.
void vkf__variant_spec(const vkf__caps *caps, const vkf__variant *variant, const uint32_t *flags, uint32_t *out_spec);

// 32-bit words of push constants: an offset per operand, then, on an even word, two for each address.
uint32_t vkf__kernel_push_words(const vkf__kernel *kernel);

// Whether the device may run a kernel with a config; *out_why (may be NULL) gets a static reason either way.
bool vkf__kernel_usable(const vkf__caps *caps, const vkf__kernel *kernel, const vkf__config *config,
                        const char **out_why);

// Whether a usable kernel with a config may be given this problem: layout, alignment, range, precision, resources.
bool vkf__kernel_takes(const vkf__caps *caps, const vkf__kernel *kernel, const vkf__config *config,
                       const vkf__problem *problem);

// Which of a kernel's configs is meant for a problem: a matter of taste, not of correctness.
bool vkf__config_suits(const vkf__config *config, const vkf__problem *problem);

// Both, and the self-test had nothing against it. *out_why (may be NULL) gets a static reason either way.
bool vkf__variant_serves(const vkf__selector *selector, const vkf__kernel *kernel, const vkf__config *config,
                         const vkf__problem *problem, const char **out_why);

// False when no row of the registry serves op and types on this device. *out_why (may be NULL): why this one, static.
bool vkf__select(const vkf__selector *selector, vkf__op op, const vkf_dtype *types, const vkf__problem *problem,
                 vkf__variant *out_variant, const char **out_why);

// Where vkf__select() gives none: whether one would serve that its self-test found to be wrong.
bool vkf__select_quarantined(const vkf__selector *selector, vkf__op op, const vkf_dtype *types,
                             const vkf__problem *problem, vkf__variant *out_variant);

// How much a device wants the variant that vkf__select() gives for a problem: 0 one asked for, 1 one measured, 2 one
// measured to be slower than with b in the other layout, more by the rank of the default; UINT32_MAX when there is
// none. For choosing between two ways to state the same problem.
uint32_t vkf__select_rank(const vkf__selector *selector, vkf__op op, const vkf_dtype *types,
                          const vkf__problem *problem);

#endif
