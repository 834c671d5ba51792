// The factor that limits the norm of all gradients; semantics in shared/clip.h. One workgroup; the local size is a
// power of two (the registry checks it).
#version 450
#extension GL_GOOGLE_include_directive : require

#include "include/storage.glsl"
#include "shared/clip.h"
#include "include/grid.glsl"
#include "include/local_size.glsl"
#include "include/workgroup_reduce.glsl"

layout(set = 0, binding = VKF_BINDING_PARAMS, std140) uniform params_block { vkf_clip_params p; };
layout(push_constant) uniform offsets_block { uint x_offset, out_offset; };

READ(f32, VKF_CLIP_BINDING_X, x)
WRITE(f32, VKF_CLIP_BINDING_OUT, out)

shared float partial[LOCAL_SIZE];

// By bits, because a compiler may assume that no float is infinite or NaN.
bool is_finite(float value)
{
    return (floatBitsToUint(value) & 0x7fffffffu) < 0x7f800000u;
}

void main()
{
    float sum = 0.0;
    for (uint i = gl_LocalInvocationID.x; i < p.count; i += gl_WorkGroupSize.x)
        sum += x_load(i);
    partial[gl_LocalInvocationID.x] = sum;
    WORKGROUP_REDUCE(partial, SUM_OF)
    if (group_index() != 0 || gl_LocalInvocationID.x != 0)
        return;
    float total = partial[0];
    float norm = is_finite(total) ? sqrt(total) * p.inverse_scale : total;
    float limited = p.max_norm > 0.0 ? min(1.0, p.max_norm / (norm + 1e-6)) : 1.0;
    out_store(0, is_finite(total) ? limited * p.inverse_scale : 0.0);
    out_store(1, norm);
}
