// Combines the partial results of attention over split keys, see shared/attention.h. One workgroup per row (query of a
// head), rows ordered (batch, heads, q_len).
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require

#include "include/storage.glsl"
#include "shared/attention.h"
#include "include/grid.glsl"
#include "include/math.glsl"

layout(constant_id = VKF_ATTENTION_REDUCE_SPEC_FULLY_MASKED) const uint FULLY_MASKED = 0;

layout(set = 0, binding = VKF_BINDING_PARAMS, std140) uniform params_block { vkf_attention_reduce_params p; };
layout(push_constant) uniform offsets_block { uint part_offset, out_offset; };

READ(f32, VKF_ATTENTION_REDUCE_BINDING_PARTIAL, part)
WRITE(TYPE_OUT, VKF_ATTENTION_REDUCE_BINDING_OUT, out)

const uint COLS = 2; // elements per invocation and pass

void main()
{
    uint row = group_index();
    if (row >= p.rows)
        return;
    uint stride = p.v_head_dim + 2;
    uint begin = row * p.splits * stride;
    uint end = begin + p.splits * stride;
    uint l = row % p.q_len;
    uint h = row / p.q_len % p.heads;
    uint out_first = row / p.q_len / p.heads * p.out_batch + l * p.out_row + h * p.out_head;

    float maximum = part_load(begin + p.v_head_dim);
    bool masked = part_load(begin + p.v_head_dim + 1) == 0.0;
    for (uint at = begin + stride; at < end; at += stride) {
        maximum = max(maximum, part_load(at + p.v_head_dim));
        masked = masked && part_load(at + p.v_head_dim + 1) == 0.0;
    }

    for (uint first = gl_LocalInvocationID.x; first < p.v_head_dim; first += COLS * gl_WorkGroupSize.x) {
        float sums[COLS];
        [[unroll]] for (uint c = 0; c < COLS; ++c)
            sums[c] = 0.0;
        float total = 0.0;
        for (uint at = begin; at < end; at += stride) {
            float part_total = part_load(at + p.v_head_dim + 1);
            float factor = masked ? 1.0 : exp(part_load(at + p.v_head_dim) - maximum);
            total += is_nan(part_total) ? part_total : part_total * factor;
            // A part that saw no key counts for nothing unless all parts saw none.
            bool counts = masked || part_total != 0.0;
            [[unroll]] for (uint c = 0; c < COLS; ++c) {
                float value = part_load(at + min(first + c * gl_WorkGroupSize.x, p.v_head_dim - 1));
                sums[c] += counts ? value * factor : 0.0;
            }
        }
        float scale = 1.0 / (masked ? float(p.k_len) : total);
        [[unroll]] for (uint c = 0; c < COLS; ++c) {
            uint i = first + c * gl_WorkGroupSize.x;
            float value = is_nan(total) ? nan_value() : sums[c] * scale;
            if (masked && FULLY_MASKED != VKF_SHADER_FULLY_MASKED_UNIFORM)
                value = FULLY_MASKED == VKF_SHADER_FULLY_MASKED_NAN ? nan_value() : 0.0;
            if (i < p.v_head_dim)
                out_store(out_first + i, value);
        }
    }
}
