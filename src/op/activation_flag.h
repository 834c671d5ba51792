// Activations as operators take them.
#ifndef VKF_OP_ACTIVATION_FLAG_H
#define VKF_OP_ACTIVATION_FLAG_H

#include <vkformer/op.h>

#include "shared/types.h"

_Static_assert(VKF_SHADER_ACTIVATION_RELU == (int)VKF_ACTIVATION_RELU &&
                   VKF_SHADER_ACTIVATION_GELU_ERF == (int)VKF_ACTIVATION_GELU_ERF &&
                   VKF_SHADER_ACTIVATION_GELU_TANH == (int)VKF_ACTIVATION_GELU_TANH &&
                   VKF_SHADER_ACTIVATION_SILU == (int)VKF_ACTIVATION_SILU &&
                   VKF_SHADER_ACTIVATION_TANH == (int)VKF_ACTIVATION_TANH &&
                   VKF_SHADER_ACTIVATION_NONE == (int)VKF_ACTIVATION_DEFAULT &&
                   VKF_SHADER_ACTIVATION_SIGMOID == (int)VKF_ACTIVATION_SIGMOID &&
                   VKF_SHADER_ACTIVATION_MISH == (int)VKF_ACTIVATION_MISH &&
                   VKF_SHADER_ACTIVATION_HARD_SWISH == (int)VKF_ACTIVATION_HARD_SWISH &&
                   VKF_SHADER_ACTIVATION_LEAKY_RELU == (int)VKF_ACTIVATION_LEAKY_RELU &&
                   VKF_SHADER_ACTIVATION_ELU == (int)VKF_ACTIVATION_ELU &&
                   VKF_SHADER_ACTIVATION_HARD_SIGMOID == (int)VKF_ACTIVATION_HARD_SIGMOID,
               "the shaders take the values of vkf_activation");

// The shaders' constant for an activation. An operator's default is none.
static inline uint32_t vkf__activation_flag(vkf_activation activation)
{
    return activation == VKF_ACTIVATION_NONE ? VKF_SHADER_ACTIVATION_NONE : (uint32_t)activation;
}

#endif
