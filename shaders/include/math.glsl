// Tests on floats that no compiler may assume away, and activations.
//
// erf and tanh are polynomials fitted for this file (weighted minimax, evaluated in float32): both are within 1e-7
// absolute. The built-in tanh is not used: on some devices it overflows to NaN, or cancels near 0.
#ifndef VKF_MATH_GLSL
#define VKF_MATH_GLSL

// By bits, because isnan() and x != x may be folded to false.
bool is_nan(float x)
{
    return (floatBitsToUint(x) & 0x7fffffffu) > 0x7f800000u;
}

float nan_value()
{
    return uintBitsToFloat(0x7fc00000u);
}

float erf_approx(float x)
{
    float a = min(abs(x), 4.0); // erf(4) is 1 in float32
    float t = a * a;
    float small = 7.647119825e-05;
    small = small * t - 7.942356944e-04;
    small = small * t + 5.179749622e-03;
    small = small * t - 2.684859136e-02;
    small = small * t + 1.128343012e-01;
    small = small * t - 3.761260599e-01;
    small = small * t + 1.283791584e-01;
    small = a + a * small;
    // 1 - erfc(a), erfc(a) = exp(-a^2) * polynomial on [1, 4]
    float large = 1.068436388e-04;
    large = large * a - 1.911807677e-03;
    large = large * a + 1.530232195e-02;
    large = large * a - 7.275937315e-02;
    large = large * a + 2.305712323e-01;
    large = large * a - 5.188609558e-01;
    large = large * a + 8.627212695e-01;
    large = large * a - 1.079844839e+00;
    large = large * a + 9.922588774e-01;
    large = 1.0 - exp(-t) * large;
    float magnitude = a < 1.0 ? small : large;
    return x < 0.0 ? -magnitude : magnitude;
}

float tanh_accurate(float x)
{
    float a = min(abs(x), 10.0); // tanh(10) is 1 in float32, and exp(20) is far from overflow
    float t = a * a;
    float small = 1.248362153e-03;
    small = small * t - 6.719241737e-03;
    small = small * t + 2.076926979e-02;
    small = small * t - 5.366140709e-02;
    small = small * t + 1.332914426e-01;
    small = small * t - 3.333312627e-01;
    small = a + a * (t * small);
    float large = 1.0 - 2.0 / (exp(2.0 * a) + 1.0);
    float magnitude = a < 0.9 ? small : large;
    float value = x < 0.0 ? -magnitude : magnitude;
    return is_nan(x) ? x : value;
}

float gelu_erf(float x)
{
    return 0.5 * x * (1.0 + erf_approx(x * 0.70710678118654752));
}

float gelu_tanh(float x)
{
    return 0.5 * x * (1.0 + tanh_accurate(0.79788456080286536 * (x + 0.044715 * x * x * x)));
}

// Without exp(large).
float sigmoid(float x)
{
    float e = exp(-abs(x));
    return (x < 0.0 ? e : 1.0) / (1.0 + e);
}

// x * tanh(log(1 + exp(x))): the tanh is n / (n + 2) with n = u * (u + 2) and u = exp(x). Above 0 both are divided by
// u * u, so that nothing overflows.
float mish(float x)
{
    float e = exp(-abs(x));
    return x * (x < 0.0 ? e * (e + 2.0) / (e * (e + 2.0) + 2.0) : (1.0 + 2.0 * e) / (1.0 + 2.0 * e + 2.0 * e * e));
}

float hard_sigmoid(float x)
{
    return clamp(x + 3.0, 0.0, 6.0) / 6.0;
}

// exp(x) - 1 for x <= 0. By a tanh, whose relative accuracy near 0 it keeps.
float expm1_below_0(float x)
{
    float t = tanh_accurate(0.5 * x);
    return 2.0 * t / (1.0 - t);
}

// `kind` is a VKF_SHADER_ACTIVATION_*, and `alpha` what LEAKY_RELU and ELU multiply by below 0. NaN stays NaN.
float activate_by(uint kind, float x, float alpha)
{
    float y = x;
    if (kind == VKF_SHADER_ACTIVATION_RELU)
        y = max(x, 0.0);
    else if (kind == VKF_SHADER_ACTIVATION_GELU_ERF)
        y = gelu_erf(x);
    else if (kind == VKF_SHADER_ACTIVATION_GELU_TANH)
        y = gelu_tanh(x);
    else if (kind == VKF_SHADER_ACTIVATION_SILU)
        y = x * sigmoid(x);
    else if (kind == VKF_SHADER_ACTIVATION_TANH)
        y = tanh_accurate(x);
    else if (kind == VKF_SHADER_ACTIVATION_SIGMOID)
        y = sigmoid(x);
    else if (kind == VKF_SHADER_ACTIVATION_MISH)
        y = mish(x);
    else if (kind == VKF_SHADER_ACTIVATION_HARD_SWISH)
        y = x * hard_sigmoid(x);
    else if (kind == VKF_SHADER_ACTIVATION_LEAKY_RELU)
        y = x > 0.0 ? x : alpha * x;
    else if (kind == VKF_SHADER_ACTIVATION_ELU)
        y = x > 0.0 ? x : alpha * expm1_below_0(x);
    else if (kind == VKF_SHADER_ACTIVATION_HARD_SIGMOID)
        y = hard_sigmoid(x);
    return is_nan(x) ? x : y;
}

float activate(uint kind, float x)
{
    return activate_by(kind, x, kind == VKF_SHADER_ACTIVATION_ELU ? VKF_ELU_ALPHA : VKF_LEAKY_RELU_SLOPE);
}

#endif
