// Activations of one number, for the references of operators.
#ifndef VKF_OP_ACTIVATION_VALUE_H
#define VKF_OP_ACTIVATION_VALUE_H

#include <vkformer/op.h>

double vkf__activation_value(vkf_activation activation, double x);
// Its derivative; of ReLU at 0, it is 0.
double vkf__activation_slope(vkf_activation activation, double x);

#endif
