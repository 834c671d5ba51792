// Activations of one number, for the references of operators.
#ifndef VKF_OP_ACTIVATION_VALUE_H
#define VKF_OP_ACTIVATION_VALUE_H

#include <vkformer/op.h>

double vkf__activation_value(vkf_activation activation, double x);
// With its parameter, which vkf_activate_desc tells of.
double vkf__activation_value_by(vkf_activation activation, double x, double alpha);
// What the parameter is by default; of activations without one, any number.
float vkf__activation_alpha(vkf_activation activation);
// Its derivative as PyTorch has it, with the default parameter. Where two pieces meet it is that of the lower one, but
// 1 of HARD_SWISH at 3, and 0 at -3 and of HARD_SIGMOID at both.
double vkf__activation_slope(vkf_activation activation, double x);

#endif
