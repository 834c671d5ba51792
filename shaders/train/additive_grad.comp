// The backward pass of the scores of additive attention; semantics in shared/additive_grad.h.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require

#include "include/storage.glsl"
#include "shared/additive_grad.h"
#include "include/grid.glsl"
#include "include/math.glsl"

layout(constant_id = VKF_ADDITIVE_GRAD_SPEC_KIND) const uint KIND = VKF_ADDITIVE_GRAD_SUM;

layout(set = 0, binding = VKF_BINDING_PARAMS, std140) uniform params_block { vkf_additive_grad_params p; };
layout(push_constant) uniform offsets_block { uint own_offset, other_offset, dscores_offset, out_offset; };

READ(TYPE_T, VKF_ADDITIVE_GRAD_BINDING_OWN, own)
READ(TYPE_T, VKF_ADDITIVE_GRAD_BINDING_OTHER, other)
READ(TYPE_T, VKF_ADDITIVE_GRAD_BINDING_DSCORES, dscores)
READ_WRITE(TYPE_T, VKF_ADDITIVE_GRAD_BINDING_OUT, out)

const uint UNROLL = VKF_ADDITIVE_GRAD_UNROLL; // long sequences stay below lavapipe's limit of 65,535 iterations

// (sum of d (1 - T^2), sum of d T) over the rows of the other side.
vec2 sums_of(uint row, uint col)
{
    uint b = row / p.own_len, score = b * p.own_len * p.other_len + (row - b * p.own_len) * p.score_own;
    uint other_first = b * p.other_len * p.dim + col;
    float own_value = own_load(row * p.dim + col);
    vec2 sums = vec2(0.0);
    for (uint first = 0; first < p.other_len; first += UNROLL) {
        vec2 part = vec2(0.0); // summed apart, which rounds a long sum less often
        [[unroll]] for (uint i = 0; i < UNROLL; ++i) {
            uint at = min(first + i, p.other_len - 1);
            float d = dscores_load(score + at * p.score_other);
            float value = tanh_accurate(own_value + other_load(other_first + at * p.dim));
            part += first + i < p.other_len && d != 0.0 ? d * vec2((1.0 - value) * (1.0 + value), value) : vec2(0.0);
        }
        sums += part;
    }
    return sums;
}

float sum_of_parts(uint col)
{
    float sum = 0.0;
    for (uint first = 0; first < p.rows; first += UNROLL) {
        float part = 0.0;
        [[unroll]] for (uint i = 0; i < UNROLL; ++i) {
            float value = own_load((p.rows + min(first + i, p.rows - 1)) * p.dim + col);
            part += first + i < p.rows ? value : 0.0;
        }
        sum += part;
    }
    return sum;
}

void put(uint at, float value)
{
    out_store(at, p.accumulate != 0 ? out_load(at) + value : value);
}

void main()
{
    uvec2 at = row_and_column(p.dim);
    uint row = at.x, col = at.y;
    if (row >= (KIND == VKF_ADDITIVE_GRAD_COLUMNS ? 1 : p.rows))
        return;
    [[unroll]] for (uint i = 0; i < VKF_PART_EACH; ++i, col += gl_WorkGroupSize.x) {
        if (col >= p.dim)
            return;
        if (KIND == VKF_ADDITIVE_GRAD_COLUMNS) {
            put(col, sum_of_parts(col));
        } else if (KIND == VKF_ADDITIVE_GRAD_SCALE) {
            put(row * p.dim + col, own_load(row * p.dim + col) * other_load(col));
        } else {
            vec2 sums = sums_of(row, col);
            out_store(row * p.dim + col, sums.x);
            if (p.totals != 0)
                out_store((p.rows + row) * p.dim + col, sums.y);
        }
    }
}
