// out = activation(x[:, :dim]) * x[:, dim:]: the middle of a gated feed-forward.
#ifndef VKF_OP_GATE_H
#define VKF_OP_GATE_H

#include "op/operand.h"

typedef struct vkf__gate_args {
    const char *label;
    vkf__span x;        // (rows, 2 * dim)
    vkf__span out;      // (rows, dim), of the same type; does not overlap x
    uint32_t out_row;   // elements from one row of out to the next; 0: dim
    uint32_t rows, dim; // rows 0 skips it in this run
    vkf_activation activation;
} vkf__gate_args;

// Status TOO_LARGE for more than 2^32 - 1 elements.
VKF_MUST_CHECK vkf_status vkf__emit_gate(vkf__work *work, const vkf__gate_args *args);

#endif
