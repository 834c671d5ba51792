// Memory bandwidth; semantics in shared/roof.h. Sets out = x by vectors of four floats. With ROOF_READ, x is summed
// instead, and the first vector of out becomes 1 if a sum is not 0. That keeps the loads alive, and writes nothing if x
// is zeros.
#version 450
#extension GL_GOOGLE_include_directive : require

#include "shared/roof.h"
#include "include/grid.glsl"

layout(constant_id = VKF_ROOF_COPY_SPEC_EACH) const uint EACH = 16;

layout(set = 0, binding = VKF_BINDING_PARAMS, std140) uniform params_block { vkf_roof_copy_params p; };
layout(push_constant) uniform offsets_block { uint x_offset, out_offset; };
layout(set = 0, binding = VKF_ROOF_COPY_BINDING_X, std430) readonly buffer x_buffer { vec4 x[]; };
layout(set = 0, binding = VKF_ROOF_COPY_BINDING_OUT, std430) writeonly buffer out_buffer { vec4 result[]; };

void main()
{
    uint x_first = x_offset / 4;
    uint out_first = out_offset / 4;
    uint group_first = group_index() * gl_WorkGroupSize.x * EACH;
    uint first = group_first + gl_LocalInvocationID.x;
    vec4 sum = vec4(0.0);
    if (group_first + gl_WorkGroupSize.x * EACH <= p.vectors) {
        for (uint e = 0; e < EACH; e++) {
            vec4 value = x[x_first + first + e * gl_WorkGroupSize.x];
#ifdef ROOF_READ
            sum += value;
#else
            result[out_first + first + e * gl_WorkGroupSize.x] = value;
#endif
        }
    } else {
        for (uint i = first; i < p.vectors; i += gl_WorkGroupSize.x) {
#ifdef ROOF_READ
            sum += x[x_first + i];
#else
            result[out_first + i] = x[x_first + i];
#endif
        }
    }
#ifdef ROOF_READ
    if (sum != vec4(0.0))
        result[out_first] = vec4(1.0);
#endif
}
