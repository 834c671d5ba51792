// Activations as an operator of its own: vkf_activate(), and training, where what is activated is kept.
#ifndef VKF_OP_ACTIVATION_H
#define VKF_OP_ACTIVATION_H

#include "op/activation_flag.h"
#include "op/operand.h"

typedef struct vkf__activation_args {
    const char *label;
    vkf__span x;        // (rows, dim)
    vkf__span out;      // (rows, dim), of the same type; may be x
    uint32_t rows, dim; // rows 0 skips it in this run
    vkf_activation activation;
    float alpha; // of LEAKY_RELU and ELU; 0: as in vkf_activate_desc
} vkf__activation_args;

// Status TOO_LARGE for more than 2^32 - 1 elements.
VKF_MUST_CHECK vkf_status vkf__emit_activation(vkf__work *work, const vkf__activation_args *args);

#endif
