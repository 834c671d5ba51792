// What a dispatch did with the parameters of a run, read from them: floating-point operations, bytes, and where its
// output lies. Nothing is kept for it while nobody asks.
#ifndef VKF_OBSERVE_ACCOUNT_H
#define VKF_OBSERVE_ACCOUNT_H

#include "kernel/registry.h"

// What no kernel can do without: every element of the operands that is read or written counts once, whatever caches make of
// it; biases and masks, which are small beside them, do not. Operations
// are those of the formula: two of a multiply-add, one of anything else, exp() and tanh() too. Of attention, the keys that
// a causal mask and a window leave visible; other masks are data, and what they hide counts.
typedef struct vkf__account {
    double flops, bytes_read, bytes_written;
} vkf__account;

#define VKF_EXTENT_RANK 4

// Elements of an operand, as nested runs: the innermost lie side by side.
typedef struct vkf__extent {
    uint32_t operand; // place among the kernel's operands
    vkf_dtype dtype;
    uint64_t first;                    // in elements
    uint32_t counts[VKF_EXTENT_RANK];  // outermost first
    uint64_t strides[VKF_EXTENT_RANK]; // in elements; the last is 1
} vkf__extent;

// A dispatch as it ran.
typedef struct vkf__dispatched {
    const vkf__kernel *kernel;
    const uint32_t *spec; // kernel->spec_count values, by id
    const void *params;   // of the kernel's operator
} vkf__dispatched;

// Zeros for kernels that measure roofs.
vkf__account vkf__account_of(const vkf__dispatched *dispatched);

// False where the output is no tensor of floating-point numbers: tokens, parts of sums, rounded or moved rows.
bool vkf__output_of(const vkf__dispatched *dispatched, vkf__extent *out_extent);

#endif
