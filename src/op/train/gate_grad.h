// The backward pass of the gate in the middle of a gated feed-forward (op/gate.h).
#ifndef VKF_OP_GATE_GRAD_H
#define VKF_OP_GATE_GRAD_H

#include "op/operand.h"

typedef struct vkf__gate_grad_args {
    const char *label;
    vkf__span x;        // (rows, 2 * dim), what was gated
    vkf__span dout;     // (rows, dim), of the same type
    vkf__span dx;       // (rows, 2 * dim), of the same type; may be x, does not overlap dout
    uint32_t dout_row;  // elements from one row of dout to the next; 0: dim
    uint32_t rows, dim; // rows 0 skips it in this run
    vkf_activation activation;
} vkf__gate_grad_args;

// Status TOO_LARGE for more than 2^32 - 1 elements.
VKF_MUST_CHECK vkf_status vkf__emit_gate_grad(vkf__work *work, const vkf__gate_grad_args *args);

#endif
