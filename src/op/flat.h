// What all kernels of one invocation per element have in common, and those whose invocations take a few of a row.
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
    uint64_t count[4]; // factors of the number of elements; 0 skips the dispatch in this run
    size_t factors;
    bool parts;          // a workgroup works on a part of one row, of which the last factor is the width: VKF_PART_EACH
    uint32_t *out_count; // where in params the number of elements goes; NULL: nowhere
} vkf__flat_args;

// Status TOO_LARGE when the elements exceed 2^32 - 1.
VKF_MUST_CHECK vkf_status vkf__emit_flat(vkf__work *work, const vkf__flat_args *args);

#endif
