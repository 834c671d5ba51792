// Derivatives of the activations of math.glsl, which is included before.
//
// The derivative of a sigmoid or a tanh is made of e = exp(-|x|) as e / (1 + e)^2, which keeps its relative accuracy
// where 1 - tanh(x)^2 would cancel. Beyond the bounds that x is clamped to, that is 0 in float32, and what it is
// multiplied by is not to overflow.
#ifndef VKF_ACTIVATION_GRAD_GLSL
#define VKF_ACTIVATION_GRAD_GLSL

// (sigmoid(x), sigmoid'(x))
vec2 sigmoid_and_slope(float x)
{
    float e = exp(-abs(x)), inverse = 1.0 / (1.0 + e);
    return vec2(x < 0.0 ? e * inverse : inverse, e * inverse * inverse);
}

float gelu_erf_slope(float x)
{
    float a = clamp(x, -14.0, 14.0);
    return 0.5 * (1.0 + erf_approx(a * 0.70710678118654752)) + a * (0.39894228040143268 * exp(-0.5 * a * a));
}

// 0.5 * (1 + tanh(u)) is sigmoid(2 u).
float gelu_tanh_slope(float x)
{
    float a = clamp(x, -10.0, 10.0), square = a * a;
    vec2 s = sigmoid_and_slope(1.5957691216057307 * (a + 0.044715 * square * a));
    return s.x + a * s.y * (1.5957691216057307 + 0.21406444881780076 * square);
}

float silu_slope(float x)
{
    float a = clamp(x, -80.0, 80.0);
    vec2 s = sigmoid_and_slope(a);
    return s.x + a * s.y;
}

// With w = tanh(log(1 + exp(x))), mish'(x) = w + x * (1 - w * w) * sigmoid(x). The product behind x is a fraction in
// e = exp(-|x|), in which nothing cancels.
float mish_slope(float x)
{
    float a = clamp(x, -80.0, 80.0), e = exp(-abs(a));
    if (a < 0.0) {
        float n = e * (e + 2.0), d = n + 2.0;
        return n / d + a * (4.0 * e * (1.0 + e) / (d * d));
    }
    float n = 1.0 + 2.0 * e, d = n + 2.0 * e * e;
    return n / d + a * (4.0 * e * e * (1.0 + e) / (d * d));
}

// `kind` is a VKF_SHADER_ACTIVATION_*. NaN stays NaN, unless there is no activation.
float activation_slope(uint kind, float x)
{
    if (kind == VKF_SHADER_ACTIVATION_NONE)
        return 1.0;
    float y;
    if (kind == VKF_SHADER_ACTIVATION_RELU)
        y = x > 0.0 ? 1.0 : 0.0;
    else if (kind == VKF_SHADER_ACTIVATION_GELU_ERF)
        y = gelu_erf_slope(x);
    else if (kind == VKF_SHADER_ACTIVATION_GELU_TANH)
        y = gelu_tanh_slope(x);
    else if (kind == VKF_SHADER_ACTIVATION_SILU)
        y = silu_slope(x);
    else if (kind == VKF_SHADER_ACTIVATION_TANH)
        y = 4.0 * sigmoid_and_slope(2.0 * clamp(x, -40.0, 40.0)).y;
    else if (kind == VKF_SHADER_ACTIVATION_SIGMOID)
        y = sigmoid_and_slope(clamp(x, -80.0, 80.0)).y;
    else if (kind == VKF_SHADER_ACTIVATION_MISH)
        y = mish_slope(x);
    else if (kind == VKF_SHADER_ACTIVATION_HARD_SWISH)
        y = x <= -3.0 ? 0.0 : x < 3.0 ? x / 3.0 + 0.5 : 1.0;
    else if (kind == VKF_SHADER_ACTIVATION_LEAKY_RELU)
        y = x > 0.0 ? 1.0 : VKF_LEAKY_RELU_SLOPE;
    else if (kind == VKF_SHADER_ACTIVATION_ELU)
        y = x > 0.0 ? 1.0 : VKF_ELU_ALPHA * exp(max(x, -80.0));
    else
        y = abs(x) < 3.0 ? 1.0 / 6.0 : 0.0;
    return is_nan(x) ? x : y;
}

#endif
