// Activations and their derivatives of one number, for the references of operators.
#include "op/activation_value.h"

#include <math.h>

#include "shared/types.h"

static double logistic(double x)
{
    return 1 / (1 + exp(-x));
}

static double hard_sigmoid(double x)
{
    return x < -3 ? 0 : x > 3 ? 1 : (x + 3) / 6;
}

float vkf__activation_alpha(vkf_activation activation)
{
    return activation == VKF_ACTIVATION_ELU ? VKF_ELU_ALPHA : VKF_LEAKY_RELU_SLOPE;
}

double vkf__activation_value(vkf_activation activation, double x)
{
    return vkf__activation_value_by(activation, x, (double)vkf__activation_alpha(activation));
}

double vkf__activation_value_by(vkf_activation activation, double x, double alpha)
{
    const double sqrt_half = 0.70710678118654752440;
    const double sqrt_2_over_pi = 0.79788456080286535588;
    switch (activation) {
    case VKF_ACTIVATION_RELU:
        return x < 0 ? 0 : x;
    case VKF_ACTIVATION_GELU_ERF:
        return 0.5 * x * (1 + erf(x * sqrt_half));
    case VKF_ACTIVATION_GELU_TANH:
        return 0.5 * x * (1 + tanh(sqrt_2_over_pi * (x + 0.044715 * x * x * x)));
    case VKF_ACTIVATION_SILU:
        return x / (1 + exp(-x));
    case VKF_ACTIVATION_TANH:
        return tanh(x);
    case VKF_ACTIVATION_SIGMOID:
        return logistic(x);
    case VKF_ACTIVATION_MISH:
        return x * tanh(log1p(exp(x)));
    case VKF_ACTIVATION_HARD_SWISH:
        return x * hard_sigmoid(x);
    case VKF_ACTIVATION_LEAKY_RELU:
        return x > 0 ? x : alpha * x;
    case VKF_ACTIVATION_ELU:
        return x > 0 ? x : alpha * expm1(x);
    case VKF_ACTIVATION_HARD_SIGMOID:
        return hard_sigmoid(x);
    default:
        return x;
    }
}

static double mish_slope(double x)
{
    const double softplus = log1p(exp(x)), cosine = cosh(softplus);
    return tanh(softplus) + x * logistic(x) / (cosine * cosine);
}

double vkf__activation_slope(vkf_activation activation, double x)
{
    const double sqrt_half = 0.70710678118654752440, sqrt_2_over_pi = 0.79788456080286535588;
    // Beyond these all slopes are what they are at infinity, where products of theirs are no numbers.
    x = x < -1000 ? -1000 : x > 1000 ? 1000 : x;
    const double inner = sqrt_2_over_pi * (x + 0.044715 * x * x * x);
    switch (activation) {
    case VKF_ACTIVATION_RELU:
        return isnan(x) ? x : x > 0;
    case VKF_ACTIVATION_GELU_ERF:
        return 0.5 * (1 + erf(x * sqrt_half)) + x * 0.5 * sqrt_2_over_pi * exp(-0.5 * x * x);
    case VKF_ACTIVATION_GELU_TANH:
        return 0.5 * (1 + tanh(inner)) +
               0.5 * x * sqrt_2_over_pi * (1 + 3 * 0.044715 * x * x) / (cosh(inner) * cosh(inner));
    case VKF_ACTIVATION_SILU:
        return logistic(x) * (1 + x * logistic(-x));
    case VKF_ACTIVATION_TANH:
        return 1 / (cosh(x) * cosh(x));
    case VKF_ACTIVATION_SIGMOID:
        return logistic(x) * logistic(-x);
    case VKF_ACTIVATION_MISH:
        return mish_slope(x);
    case VKF_ACTIVATION_HARD_SWISH:
        return isnan(x) ? x : x <= -3 ? 0 : x < 3 ? x / 3 + 0.5 : 1;
    case VKF_ACTIVATION_LEAKY_RELU:
        return isnan(x) ? x : x > 0 ? 1 : (double)VKF_LEAKY_RELU_SLOPE;
    case VKF_ACTIVATION_ELU:
        return x > 0 ? 1 : (double)VKF_ELU_ALPHA * exp(x);
    case VKF_ACTIVATION_HARD_SIGMOID:
        return isnan(x) ? x : fabs(x) < 3 ? 1.0 / 6 : 0;
    default:
        return 1;
    }
}
