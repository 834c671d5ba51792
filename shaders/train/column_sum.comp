// Sums over the rows of a matrix; semantics in shared/column_sum.h.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require

#include "include/storage.glsl"
#include "shared/column_sum.h"
#include "include/grid.glsl"

layout(constant_id = VKF_COLUMN_SUM_SPEC_NORM) const uint NORM = 0;

layout(set = 0, binding = VKF_BINDING_PARAMS, std140) uniform params_block { vkf_column_sum_params p; };
layout(push_constant) uniform offsets_block { uint x_offset, out_offset, normed_offset, stats_offset; };

READ(TYPE_X, VKF_COLUMN_SUM_BINDING_X, x)
READ_WRITE(f32, VKF_COLUMN_SUM_BINDING_OUT, out)
READ(TYPE_X, VKF_COLUMN_SUM_BINDING_NORMED, normed)
READ(f32, VKF_COLUMN_SUM_BINDING_STATS, stats)

const uint UNROLL = 8; // rows per iteration

// Read once, ahead of any branch: lavapipe would gather parameters anew in each.
uint cols;
uint x_row;

float load_term(uint row, uint col)
{
    uint at = row * x_row + col;
    float value = x_load(at);
    if (NORM != 0)
        value = value != 0.0 ? value * ((normed_load(at) - stats_load(2 * row)) * stats_load(2 * row + 1)) : 0.0;
    return value;
}

// Rows are summed in runs of UNROLL, and the runs are summed: that rounds less often than one sum over all.
vec4 sum_rows(uint begin, uint end, uint first_col)
{
    vec4 sum = vec4(0.0);
    for (uint first = begin; first < end; first += UNROLL) {
        vec4 part = vec4(0.0);
        [[unroll]] for (uint i = 0; i < UNROLL; ++i) {
            uint row = first + i;
            [[unroll]] for (uint c = 0; c < VKF_PART_EACH; ++c) {
                float term = load_term(min(row, end - 1), min(first_col + c * gl_WorkGroupSize.x, cols - 1));
                part[c] += row < end ? term : 0.0;
            }
        }
        sum += part;
    }
    return sum;
}

void main()
{
    cols = p.cols;
    x_row = p.x_row;
    uint accumulate = p.accumulate, rows = p.rows, group_rows = p.group_rows;
    uvec2 at = row_and_column(cols);
    uint group = at.x, col = at.y, begin = group * group_rows;
    if (group >= (rows + group_rows - 1) / group_rows)
        return;
    vec4 sum = sum_rows(begin, min(begin + group_rows, rows), col);
    [[unroll]] for (uint c = 0; c < VKF_PART_EACH; ++c, col += gl_WorkGroupSize.x) {
        uint place = group * cols + col;
        if (col < cols)
            out_store(place, accumulate != 0 ? out_load(place) + sum[c] : sum[c]);
    }
}
