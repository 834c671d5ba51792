// The backward pass of activations: dx = dout * activation'(x).
#ifndef VKF_OP_ACTIVATION_GRAD_H
#define VKF_OP_ACTIVATION_GRAD_H

#include "op/operand.h"

typedef struct vkf__activation_grad_args {
    const char *label;
    vkf__span x;        // (rows, dim), what was activated
    vkf__span dout;     // (rows, dim), of the same type
    vkf__span dx;       // (rows, dim), of the same type; may be x or dout unless it accumulates
    uint32_t rows, dim; // rows 0 skips it in this run
    vkf_activation activation;
    bool accumulate; // adds to dx, which is else not read
} vkf__activation_grad_args;

// Status TOO_LARGE for more than 2^32 - 1 elements.
VKF_MUST_CHECK vkf_status vkf__emit_activation_grad(vkf__work *work, const vkf__activation_grad_args *args);

#endif
