// A step of stochastic gradient descent; semantics in shared/sgd.h.
#version 450
#extension GL_GOOGLE_include_directive : require

#include "include/storage.glsl"
#include "shared/sgd.h"
#include "include/grid.glsl"

layout(constant_id = VKF_SGD_SPEC_HAS_MOMENTUM) const uint HAS_MOMENTUM = 0;

layout(set = 0, binding = VKF_BINDING_PARAMS, std140) uniform params_block { vkf_sgd_params p; };
layout(push_constant) uniform offsets_block { uint parameter_offset, gradient_offset, momentum_offset, factor_offset; };

READ_WRITE(f32, VKF_SGD_BINDING_PARAMETER, parameter)
READ_WRITE(f32, VKF_SGD_BINDING_GRADIENT, gradient)
READ_WRITE(f32, VKF_SGD_BINDING_MOMENTUM, momentum)
READ(f32, VKF_SGD_BINDING_FACTOR, factor)

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
    float way = g;
    if (HAS_MOMENTUM != 0) {
        float b = p.momentum * momentum_load(i) + g;
        momentum_store(i, b);
        way = p.nesterov != 0 ? g + p.momentum * b : b;
    }
    parameter_store(i, w - p.rate * way);
}
