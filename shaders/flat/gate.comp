// Gated linear units; semantics in shared/gate.h.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require

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
    uvec2 at = row_and_column(p.dim);
    uint row = at.x, col = at.y, first = 2 * row * p.dim;
    if (row >= p.rows)
        return;
    [[unroll]] for (uint i = 0; i < VKF_PART_EACH; ++i, col += gl_WorkGroupSize.x) {
        if (col < p.dim)
            out_store(row * p.out_row + col, activate(ACTIVATION, x_load(first + col)) * x_load(first + p.dim + col));
    }
}
