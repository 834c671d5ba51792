// Gated linear units; semantics in shared/gate.h.
#version 450
#extension GL_GOOGLE_include_directive : require

#include "include/storage.glsl"
#include "shared/gate.h"
#include "include/grid.glsl"
#include "include/math.glsl"

layout(constant_id = VKF_GATE_SPEC_ACTIVATION) const uint ACTIVATION = VKF_SHADER_ACTIVATION_NONE;

layout(set = 0, binding = VKF_BINDING_PARAMS, std140) uniform params_block { vkf_gate_params p; };
layout(push_constant) uniform offsets_block { uint x_offset, out_offset; };

READ(TYPE_X, VKF_GATE_BINDING_X, x)
WRITE(TYPE_X, VKF_GATE_BINDING_OUT, out)

void main()
{
    uint i = flat_index();
    if (i >= p.count)
        return;
    uint from = i + i / p.dim * p.dim;
    out_store(i, activate(ACTIVATION, x_load(from)) * x_load(from + p.dim));
}
