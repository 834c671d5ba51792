// The backward pass of gated linear units; semantics in shared/gate_grad.h.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require

#include "include/storage.glsl"
#include "shared/gate_grad.h"
#include "include/grid.glsl"
#include "include/math.glsl"
#include "include/activation_grad.glsl"

layout(constant_id = VKF_GATE_GRAD_SPEC_ACTIVATION) const uint ACTIVATION = VKF_SHADER_ACTIVATION_NONE;

layout(set = 0, binding = VKF_BINDING_PARAMS, std140) uniform params_block { vkf_gate_grad_params p; };
layout(push_constant) uniform offsets_block { uint x_offset, dout_offset, dx_offset; };

READ(TYPE_X, VKF_GATE_GRAD_BINDING_X, x)
READ(TYPE_X, VKF_GATE_GRAD_BINDING_DOUT, dout)
WRITE(TYPE_X, VKF_GATE_GRAD_BINDING_DX, dx)

void main()
{
    uvec2 at = row_and_column(p.dim);
    uint row = at.x, col = at.y, first = 2 * row * p.dim;
    if (row >= p.rows)
        return;
    [[unroll]] for (uint i = 0; i < VKF_PART_EACH; ++i, col += gl_WorkGroupSize.x) {
        if (col >= p.dim)
            return;
        float a = x_load(first + col), b = x_load(first + p.dim + col), incoming = dout_load(row * p.dout_row + col);
        dx_store(first + col, incoming * b * activation_slope(ACTIVATION, a));
        dx_store(first + p.dim + col, incoming * activate(ACTIVATION, a));
    }
}
