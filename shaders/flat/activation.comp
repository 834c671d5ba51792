// Activations of elements; semantics in shared/activation.h.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require

#include "include/storage.glsl"
#include "shared/activation.h"
#include "include/grid.glsl"
#include "include/math.glsl"

layout(constant_id = VKF_ACTIVATION_SPEC_ACTIVATION) const uint ACTIVATION = VKF_SHADER_ACTIVATION_NONE;

layout(set = 0, binding = VKF_BINDING_PARAMS, std140) uniform params_block { vkf_activation_params p; };
layout(push_constant) uniform offsets_block { uint x_offset, out_offset; };

READ(TYPE_X, VKF_ACTIVATION_BINDING_X, x)
WRITE(TYPE_X, VKF_ACTIVATION_BINDING_OUT, out)

void main()
{
    uvec2 at = row_and_column(p.count);
    uint i = at.y;
    if (at.x > 0) // the grid overshoots
        return;
    [[unroll]] for (uint part = 0; part < VKF_PART_EACH; ++part, i += gl_WorkGroupSize.x) {
        if (i < p.count)
            out_store(i, activate_by(ACTIVATION, x_load(i), p.alpha));
    }
}
