// Dropout of elements; semantics in shared/dropout.h.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require

#include "include/storage.glsl"
#include "shared/dropout.h"
#include "include/grid.glsl"
#include "include/dropout.glsl"

layout(constant_id = VKF_DROPOUT_SPEC_HAS_RESIDUAL) const uint HAS_RESIDUAL = 0;

layout(set = 0, binding = VKF_BINDING_PARAMS, std140) uniform params_block { vkf_dropout_params p; };
layout(push_constant) uniform offsets_block { uint x_offset, residual_offset, out_offset; };

READ(TYPE_X, VKF_DROPOUT_BINDING_X, x)
READ(TYPE_X, VKF_DROPOUT_BINDING_RESIDUAL, residual)
WRITE(TYPE_X, VKF_DROPOUT_BINDING_OUT, out)

void main()
{
    // Read once, ahead of any branch: lavapipe would gather parameters anew in each.
    uint quad = flat_index(), count = p.count, threshold = p.threshold;
    float scale = p.scale;
    uvec4 counter = uvec4(quad, 0u, p.stream, p.step);
    uvec2 seed = uvec2(p.seed_low, p.seed_high);
    bvec4 keeps = bvec4(true);
    if (threshold != 0) // a sum draws nothing
        keeps = dropout_keeps(counter, seed, threshold);
    [[unroll]] for (uint i = 0; i < 4; ++i) {
        uint at = 4 * quad + i, near = min(at, count - 1);
        float x = x_load(near), value = keeps[i] && scale != 0.0 ? x * scale : 0.0;
        if (HAS_RESIDUAL != 0)
            value += residual_load(near);
        if (at < count)
            out_store(at, value);
    }
}
