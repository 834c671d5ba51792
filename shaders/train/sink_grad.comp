// The part of each row in the gradient of a sink; semantics in shared/sink_grad.h.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require

#include "include/storage.glsl"
#include "shared/sink_grad.h"
#include "include/grid.glsl"

layout(set = 0, binding = VKF_BINDING_PARAMS, std140) uniform params_block { vkf_sink_grad_params p; };
layout(push_constant) uniform offsets_block { uint stats_offset, out_offset, deltas_offset, sinks_offset; };

READ(TYPE_X, VKF_SINK_GRAD_BINDING_STATS, stats)
WRITE(TYPE_X, VKF_SINK_GRAD_BINDING_OUT, out)
READ(TYPE_X, VKF_SINK_GRAD_BINDING_DELTAS, deltas)
READ(TYPE_X, VKF_SINK_GRAD_BINDING_SINKS, sinks)

void main()
{
    uint row = flat_index();
    if (row >= p.count)
        return;
    uint group = p.heads / p.kv_heads, l = row / group % p.q_len, key_head = row / group / p.q_len;
    uint h = key_head % p.kv_heads * group + row % group;
    float weight = exp(sinks_load(h) - stats_load(row)) * stats_load(p.count + row);
    out_store((key_head / p.kv_heads * p.q_len + l) * p.heads + h, weight != 0.0 ? -weight * deltas_load(row) : 0.0);
}
