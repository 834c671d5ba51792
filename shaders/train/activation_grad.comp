// The backward pass of activations; semantics in shared/activation_grad.h.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require

#include "include/storage.glsl"
#include "shared/activation_grad.h"
#include "include/grid.glsl"
#include "include/math.glsl"
#include "include/activation_grad.glsl"

layout(constant_id = VKF_ACTIVATION_GRAD_SPEC_ACTIVATION) const uint ACTIVATION = VKF_SHADER_ACTIVATION_NONE;

layout(set = 0, binding = VKF_BINDING_PARAMS, std140) uniform params_block { vkf_activation_grad_params p; };
layout(push_constant) uniform offsets_block { uint x_offset, dout_offset, dx_offset; };

READ(TYPE_X, VKF_ACTIVATION_GRAD_BINDING_X, x)
READ(TYPE_X, VKF_ACTIVATION_GRAD_BINDING_DOUT, dout)
READ_WRITE(TYPE_X, VKF_ACTIVATION_GRAD_BINDING_DX, dx)

void main()
{
    uvec2 at = row_and_column(p.count);
    uint i = at.y;
    if (at.x > 0) // the grid overshoots
        return;
    [[unroll]] for (uint part = 0; part < VKF_PART_EACH; ++part, i += gl_WorkGroupSize.x) {
        if (i >= p.count)
            return;
        float value = dout_load(i) * activation_slope(ACTIVATION, x_load(i));
        if (p.accumulate != 0)
            value += dx_load(i);
        dx_store(i, value);
    }
}
