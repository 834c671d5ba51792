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
    uint quad = flat_index();
    bvec4 keeps = dropout_keeps(uvec4(quad, 0u, p.stream, p.step), uvec2(p.seed_low, p.seed_high), p.threshold);
    [[unroll]] for (uint i = 0; i < 4; ++i) {
        uint at = 4 * quad + i;
        if (at >= p.count)
            return;
        float value = keeps[i] && p.scale != 0.0 ? x_load(at) * p.scale : 0.0;
        if (HAS_RESIDUAL != 0)
            value += residual_load(at);
        out_store(at, value);
    }
}
