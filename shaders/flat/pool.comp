// Pooling over the positions of a sequence; semantics in shared/pool.h. A workgroup takes a sequence, and an invocation
// columns that are the local size apart; this is a power of two (the registry checks it).
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require

#include "include/storage.glsl"
#include "shared/pool.h"
#include "include/grid.glsl"
#include "include/local_size.glsl"
#include "include/workgroup_reduce.glsl"
#include "include/math.glsl"

layout(constant_id = VKF_POOL_SPEC_MODE) const uint MODE = VKF_POOL_MEAN;
layout(constant_id = VKF_POOL_SPEC_NORMALISE) const uint NORMALISE = 0;

layout(set = 0, binding = VKF_BINDING_PARAMS, std140) uniform params_block { vkf_pool_params p; };
layout(push_constant) uniform offsets_block { uint x_offset, lengths_offset, out_offset; };

READ(TYPE_X, VKF_POOL_BINDING_X, x)
READ(i32, VKF_POOL_BINDING_LENGTHS, lengths)
READ_WRITE(f32, VKF_POOL_BINDING_OUT, out)

#include "include/pooling.glsl"

shared float partial[LOCAL_SIZE];

// The sum over the workgroup, in each invocation.
float workgroup_sum(float own)
{
    partial[gl_LocalInvocationID.x] = own;
    WORKGROUP_REDUCE(partial, SUM_OF)
    return partial[0];
}

void main()
{
    uint b = group_index();
    if (b >= p.batch)
        return;
    uint length = uint(clamp(lengths_load(b), 0, int(p.len)));
    uint x_first = b * p.len * p.dim, out_first = b * p.out_stride;
    float squares = 0.0;
    for (uint col = gl_LocalInvocationID.x; col < p.dim; col += gl_WorkGroupSize.x) {
        float value = pooled(x_first + col, length);
        squares += value * value;
        out_store(out_first + col, value);
    }
    if (NORMALISE == 0)
        return;
    float sum = workgroup_sum(squares), norm = max(sqrt(sum), 1e-12);
    bool known = is_finite(sum); // where it overflowed, everything over it would be 0
    for (uint col = gl_LocalInvocationID.x; col < p.dim; col += gl_WorkGroupSize.x)
        out_store(out_first + col, known ? out_load(out_first + col) / norm : nan_value());
}
