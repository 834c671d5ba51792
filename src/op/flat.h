// Emits kernels that take one element per invocation, and kernels whose invocations take a few elements of a row each.
#ifndef VKF_OP_FLAT_H
#define VKF_OP_FLAT_H

#include "op/operand.h"

typedef struct vkf__flat_args {
    const char *label;
    vkf__op op;
    vkf_dtype types[VKF_KERNEL_MAX_TYPES];
    vkf__binding bindings[VKF_KERNEL_MAX_OPERANDS];
    const uint32_t *flags; // NULL: the kernel has none
    const void *params;
    uint64_t count[4]; // factors of the number of elements; a 0 skips the dispatch in this run
    size_t factors;
    // A workgroup takes a part of one row, VKF_PART_EACH elements per invocation. The last factor is the row's width.
    bool parts;
    uint32_t columns;    // of a row, which configs may be for; 0: none is
    bool normed;         // rows are normalised on their way, which some configs are for
    uint32_t *out_count; // the field of params that gets the number of elements; NULL: none does
} vkf__flat_args;

// Status TOO_LARGE for more than 2^32 - 1 elements.
VKF_MUST_CHECK vkf_status vkf__emit_flat(vkf__work *work, const vkf__flat_args *args);

#endif
