// Dropout (Srivastava et al. 2014), with a residual that may be added: out = [residual +] keep(i) * x / (1 - p). It is
// its own backward pass: dx = keep(i) * dout / (1 - p), without a residual, by the same seed, stream and step.
#ifndef VKF_OP_DROPOUT_H
#define VKF_OP_DROPOUT_H

#include "op/operand.h"

typedef struct vkf__dropout_args {
    const char *label;
    vkf__span x;        // (rows, dim)
    vkf__span residual; // optional, (rows, dim), of the same type
    vkf__span out;      // (rows, dim), of the same type; may be x or residual
    uint32_t rows, dim; // rows 0 skips it in this run
    float p;            // 0 .. 1, the probability of being dropped; 0 copies x, and 1 gives zeros
    uint64_t seed;
    uint32_t stream; // tells the dropouts of one step apart
    uint32_t step;
} vkf__dropout_args;

// Status TOO_LARGE for more than 2^32 - 1 elements.
VKF_MUST_CHECK vkf_status vkf__emit_dropout(vkf__work *work, const vkf__dropout_args *args);

// What kernels with dropout take for a probability, see shared/dropout.h.
uint32_t vkf__dropout_threshold(float p);
float vkf__dropout_scale(float p);

#endif
