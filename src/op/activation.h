// Activations: as operators take them, and as an operator of its own, for training, where what is activated is kept.
#ifndef VKF_OP_ACTIVATION_H
#define VKF_OP_ACTIVATION_H

#include "op/operand.h"
#include "shared/types.h"

_Static_assert(VKF_SHADER_ACTIVATION_RELU == (int)VKF_ACTIVATION_RELU &&
                   VKF_SHADER_ACTIVATION_GELU_ERF == (int)VKF_ACTIVATION_GELU_ERF &&
                   VKF_SHADER_ACTIVATION_GELU_TANH == (int)VKF_ACTIVATION_GELU_TANH &&
                   VKF_SHADER_ACTIVATION_SILU == (int)VKF_ACTIVATION_SILU &&
                   VKF_SHADER_ACTIVATION_TANH == (int)VKF_ACTIVATION_TANH &&
                   VKF_SHADER_ACTIVATION_NONE == (int)VKF_ACTIVATION_DEFAULT,
               "the shaders take the values of vkf_activation");

// The shaders' constant for an activation. An operator's default is none.
static inline uint32_t vkf__activation_flag(vkf_activation activation)
{
    return activation == VKF_ACTIVATION_NONE ? VKF_SHADER_ACTIVATION_NONE : (uint32_t)activation;
}

typedef struct vkf__activation_args {
    const char *label;
    vkf__span x;        // (rows, dim)
    vkf__span out;      // (rows, dim), of the same type; may be x
    uint32_t rows, dim; // rows 0 skips it in this run
    vkf_activation activation;
} vkf__activation_args;

// Status TOO_LARGE for more than 2^32 - 1 elements.
VKF_MUST_CHECK vkf_status vkf__emit_activation(vkf__work *work, const vkf__activation_args *args);

#endif
