// The gradient of softmax over rows; semantics in shared/softmax_grad.h. include/row.glsl says which invocations share
// a row. An element is read again only by the invocation that then writes it, so dx may alias dout or y.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require

#include "include/storage.glsl"
#include "shared/softmax_grad.h"
#include "include/grid.glsl"
#include "include/row.glsl"

layout(set = 0, binding = VKF_BINDING_PARAMS, std140) uniform params_block { vkf_softmax_grad_params p; };
layout(push_constant) uniform offsets_block { uint y_offset, dx_offset, dout_offset; };

READ(TYPE_X, VKF_SOFTMAX_GRAD_BINDING_Y, y)
WRITE(TYPE_X, VKF_SOFTMAX_GRAD_BINDING_DX, dx)
READ(TYPE_X, VKF_SOFTMAX_GRAD_BINDING_DOUT, dout)

const uint UNROLL = 8; // columns per iteration: long rows stay below lavapipe's limit of 65,535 iterations

// Read once, ahead of any branch: lavapipe would gather parameters anew in each.
uint cols;
float scale;
uint lane;
uint lanes;

#define ROW_VALUE float
#include "include/row_sum.glsl"

// y * (dout - mean), without dout where y is 0.
float weighted(uint at, float mean)
{
    float y = y_load(at);
    return y != 0.0 ? y * (dout_load(at) - mean) : 0.0;
}

float sum_weighted(uint row_first)
{
    float sum = 0.0;
    for (uint first = lane; first < cols; first += UNROLL * lanes) {
        float part = 0.0; // summed apart, which rounds a long row's sum less often
        [[unroll]] for (uint i = 0; i < UNROLL; ++i) {
            uint col = first + i * lanes;
            float term = weighted(row_first + min(col, cols - 1), 0.0);
            part += col < cols ? term : 0.0;
        }
        sum += part;
    }
    return sum;
}

void take_row(uint row)
{
    uint row_first = row * cols;
    float mean = row_sum(sum_weighted(row_first));
    for (uint first = lane; first < cols; first += UNROLL * lanes) {
        [[unroll]] for (uint i = 0; i < UNROLL; ++i) {
            uint col = first + i * lanes;
            if (col < cols)
                dx_store(row_first + col, scale * weighted(row_first + col, mean));
        }
    }
}

void main()
{
    cols = p.cols;
    scale = p.scale;
    lane = row_lane();
    lanes = row_lanes();
    FOR_ROWS(row, p.rows)
        take_row(row);
}
