// Kernels that do one thing as fast as the device can: copy memory, read it, or multiply and add.
#ifndef VKF_OP_ROOF_H
#define VKF_OP_ROOF_H

#include "op/operand.h"

// x and out begin at multiples of 16 bytes. x is f32 and holds a multiple of 4 elements.
typedef struct vkf__roof_copy_args {
    const char *label;
    vkf__span x;
    vkf__span out; // as large as x; with `read`, 4 elements
    bool read;     // x is only summed, and out is written only where a sum is not 0
} vkf__roof_copy_args;
VKF_MUST_CHECK vkf_status vkf__emit_roof_copy(vkf__work *work, const vkf__roof_copy_args *args);

typedef struct vkf__roof_fma_args {
    const char *label;
    vkf__span out;   // (count) f32
    uint32_t count;  // invocations
    uint32_t rounds; // of VKF_ROOF_FMA_STEPS multiply-adds on every accumulator
    uint32_t chains; // vectors of four accumulators: 2 to 4
} vkf__roof_fma_args;
VKF_MUST_CHECK vkf_status vkf__emit_roof_fma(vkf__work *work, const vkf__roof_fma_args *args);

#endif
