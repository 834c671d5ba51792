// Sums of the parts of a tensor, or of their squares; semantics in shared/total.h. One workgroup per part; the local
// size is a power of two (the registry checks it).
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require

#include "include/storage.glsl"
#include "shared/total.h"
#include "include/grid.glsl"
#include "include/local_size.glsl"
#include "include/workgroup_reduce.glsl"

layout(constant_id = VKF_TOTAL_SPEC_SQUARES) const uint SQUARES = 0;

layout(set = 0, binding = VKF_BINDING_PARAMS, std140) uniform params_block { vkf_total_params p; };
layout(push_constant) uniform offsets_block { uint x_offset, out_offset; };

READ(TYPE_X, VKF_TOTAL_BINDING_X, x)
READ_WRITE(f32, VKF_TOTAL_BINDING_OUT, out)

const uint UNROLL = 8;

shared float partial[LOCAL_SIZE];

// The sum of the invocation's elements in [begin, end).
float own_sum(uint begin, uint end)
{
    float sum = 0.0;
    for (uint first = begin + gl_LocalInvocationID.x; first < end; first += UNROLL * gl_WorkGroupSize.x) {
        float few = 0.0; // summed apart, which rounds a long sum less often
        [[unroll]] for (uint i = 0; i < UNROLL; ++i) {
            uint at = first + i * gl_WorkGroupSize.x;
            float value = x_load(min(at, end - 1));
            few += at < end ? (SQUARES != 0 ? value * value : value) : 0.0;
        }
        sum += few;
    }
    return sum;
}

void main()
{
    uint part = group_index();
    if (part >= p.parts)
        return;
    uint begin = part * p.part;
    partial[gl_LocalInvocationID.x] = own_sum(begin, begin + min(p.part, p.count - begin));
    WORKGROUP_REDUCE(partial, SUM_OF)
    if (gl_LocalInvocationID.x != 0)
        return;
    float sum = p.factor * partial[0];
    if (p.beta != 0.0)
        sum += p.beta * out_load(part);
    out_store(part, sum);
}
