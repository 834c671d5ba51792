// Scores of additive (Bahdanau) attention; semantics in shared/additive_scores.h.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require

#include "include/storage.glsl"
#include "shared/additive_scores.h"
#include "include/grid.glsl"
#include "include/math.glsl"

layout(set = 0, binding = VKF_BINDING_PARAMS, std140) uniform params_block { vkf_additive_params p; };
layout(push_constant) uniform offsets_block { uint query_offset, key_offset, v_offset, out_offset; };

READ(TYPE_T, VKF_ADDITIVE_BINDING_QUERY, query)
READ(TYPE_T, VKF_ADDITIVE_BINDING_KEY, key)
READ(TYPE_T, VKF_ADDITIVE_BINDING_V, v)
WRITE(TYPE_T, VKF_ADDITIVE_BINDING_OUT, out)

const uint UNROLL = 4;

void main()
{
    uint i = flat_index();
    if (i >= p.count)
        return;
    uint s = i % p.k_len;
    uint bt = i / p.k_len;
    uint b = bt / p.q_len;
    uint query_first = bt * p.dim;
    uint key_first = (b * p.k_len + s) * p.dim;
    float sum = 0.0;
    for (uint first = 0; first < p.dim; first += UNROLL) {
        [[unroll]] for (uint j = 0; j < UNROLL; ++j) {
            uint a = min(first + j, p.dim - 1);
            float term = v_load(a) * tanh_accurate(query_load(query_first + a) + key_load(key_first + a));
            sum += first + j < p.dim ? term : 0.0;
        }
    }
    out_store(i, sum);
}
