// A step of Adam or AdamW; semantics in shared/adam.h.
#version 450
#extension GL_GOOGLE_include_directive : require

#include "include/storage.glsl"
#include "shared/adam.h"
#include "include/grid.glsl"

layout(set = 0, binding = VKF_BINDING_PARAMS, std140) uniform params_block { vkf_adam_params p; };
layout(push_constant) uniform offsets_block { uint parameter_offset, gradient_offset, moments_offset, factor_offset; };

READ_WRITE(f32, VKF_ADAM_BINDING_PARAMETER, parameter)
READ_WRITE(f32, VKF_ADAM_BINDING_GRADIENT, gradient)
READ_WRITE(f32, VKF_ADAM_BINDING_MOMENTS, moments)
READ(f32, VKF_ADAM_BINDING_FACTOR, factor)

void main()
{
    uint i = flat_index();
    float factor = factor_load(0);
    if (i >= p.count)
        return;
    float gradient = gradient_load(i);
    gradient_store(i, 0.0);
    if (factor == 0.0)
        return;
    float w = parameter_load(i);
    float g = factor * gradient + p.penalty * w;
    float m = p.beta1 * moments_load(2 * i) + p.rest1 * g;
    float v = p.beta2 * moments_load(2 * i + 1) + p.rest2 * (g * g);
    moments_store(2 * i, m);
    moments_store(2 * i + 1, v);
    parameter_store(i, w - p.decay * w - p.rate * (m / (sqrt(v) * p.root + p.eps)));
}
