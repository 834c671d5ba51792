// Which kernel with which tile parameters serves a problem: a pure function of caps, types, shape, and what was
// measured and tested on the device.
//
// A device supports a kernel with a config, and a kernel takes a problem; a variant serves one when both hold and
// nothing bad was found out about it; the default is the first of the ladder that serves.
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
    uint32_t cores;                // as measured on the device; 0: those of the traits
    // Beginning of a "kernel/config". A variant of this name is taken wherever one can serve. NULL: none.
    const char *forced;
} vkf__selector;

// At least 1.
uint32_t vkf__selector_cores(const vkf__selector *selector);

uint32_t vkf__variant_local_size(const vkf__caps *caps, const vkf__variant *variant);

// Shared memory of a workgroup for a problem; for NULL, the least possible. 0 for a kernel on matrices that the device
// lacks.
uint32_t vkf__variant_shared_bytes(const vkf__caps *caps, const vkf__variant *variant, const vkf__problem *problem);

// Writes the values of all specialisation constants of a variant that the device may run: workgroup size, tile, flags,
// and the shape of the device's matrices. `flags` are indexed by spec id; entries of the other constants are ignored.
// `flags` is NULL where a kernel has none. Constants that a module lacks get a value, too.
void vkf__variant_spec(const vkf__caps *caps, const vkf__variant *variant, const uint32_t *flags, uint32_t *out_spec);

// 32-bit words of push constants: an offset per operand, then, from an even word on, two words per address.
uint32_t vkf__kernel_push_words(const vkf__kernel *kernel);

// Whether the device may run a kernel with a config. *out_why (may be NULL) gets a static reason in either case.
bool vkf__kernel_supported(const vkf__caps *caps, const vkf__kernel *kernel, const vkf__config *config,
                           const char **out_why);

// The first config with which the device may run a kernel, which is the one that most problems get; NULL when it may
// not run. *out_why as above.
const vkf__config *vkf__kernel_supported_config(const vkf__caps *caps, const vkf__kernel *kernel, const char **out_why);
// How many kernels the device may run.
uint32_t vkf__kernels_supported(const vkf__caps *caps);

// Whether a supported kernel with a config may be given this problem: layout, alignment, range, precision, resources.
bool vkf__kernel_takes(const vkf__caps *caps, const vkf__kernel *kernel, const vkf__config *config,
                       const vkf__problem *problem);

// Whether a config is meant for a problem: a question of speed, not of correctness.
bool vkf__config_recommended(const vkf__config *config, const vkf__problem *problem);

// How long a device takes for one step of a matrix product's depth, in multiply-adds that a core has time for: the
// number of waves, times the area of a tile, times what it loads for a multiply-add from memory and, by matrices, from
// shared memory, twice where no second one fits beside it, over the part of a core that the workgroups of all waves
// keep busy, where the driver tells how many subgroups a core holds.
double vkf__config_time(const vkf__selector *selector, const vkf__variant *variant, const vkf__problem *problem);

// What the tile of a matrix product costs on the device; the lowest is best: the time above. Tiles that leave cores
// without work come last, the smallest of them first. Tiles made for few rows come first where they take the problem,
// those that give each core one ahead of the others, and then those that have enough bytes under way.
double vkf__config_cost(const vkf__selector *selector, const vkf__kernel *kernel, const vkf__config *config,
                        const vkf__problem *problem);

// Whether the variant is supported, takes the problem, and has no bad verdict. *out_why (may be NULL) gets a static
// reason in either case.
bool vkf__variant_serves(const vkf__selector *selector, const vkf__kernel *kernel, const vkf__config *config,
                         const vkf__problem *problem, const char **out_why);

// False when no row of the registry serves op and types on this device. *out_why (may be NULL) gets a static reason for
// the choice.
bool vkf__select(const vkf__selector *selector, vkf__op op, const vkf_dtype *types, const vkf__problem *problem,
                 vkf__variant *out_variant, const char **out_why);

// The config that a kernel serves a problem with where nothing was measured; NULL: none.
const vkf__config *vkf__kernel_default(const vkf__selector *selector, const vkf__kernel *kernel,
                                       const vkf__problem *problem);

// Where vkf__select() finds none: whether a variant would serve that has a bad verdict.
bool vkf__select_quarantined(const vkf__selector *selector, vkf__op op, const vkf_dtype *types,
                             const vkf__problem *problem, vkf__variant *out_variant);

// How much a device prefers the variant that vkf__select() gives for a problem: 0 for one that was asked for, 1 for one
// measured, 2 for one measured to be slower than with b in the other layout, and more by the default's step of the
// ladder. UINT32_MAX when there is none. It serves to choose between two ways to state the same problem.
uint32_t vkf__select_rank(const vkf__selector *selector, vkf__op op, const vkf_dtype *types,
                          const vkf__problem *problem);

#endif
