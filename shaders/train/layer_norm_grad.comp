// The gradient of layer normalisation over rows; semantics in shared/layer_norm_grad.h. include/row.glsl says which
// invocations share a row.
//
// Mean and variance are found as layer_norm.comp finds them. The pass that takes the variance about the mean takes the
// two sums of the gradient, too. An element is read again only by the invocation that then writes it, so dx may alias
// dout or x.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require

#include "include/storage.glsl"
#include "shared/layer_norm_grad.h"
#include "include/grid.glsl"
#include "include/row.glsl"

layout(constant_id = VKF_LAYER_NORM_GRAD_SPEC_RMS) const uint RMS = 0;

layout(set = 0, binding = VKF_BINDING_PARAMS, std140) uniform params_block { vkf_layer_norm_grad_params p; };

#ifdef NORM_STATS
layout(push_constant) uniform offsets_block { uint x_offset, stats_offset; };
WRITE(f32, VKF_NORM_STATS_BINDING_STATS, stats)
#else
layout(constant_id = VKF_LAYER_NORM_GRAD_SPEC_HAS_WEIGHT) const uint HAS_WEIGHT = 0;
layout(push_constant) uniform offsets_block { uint x_offset, dx_offset, weight_offset, dout_offset; };
READ_WRITE(TYPE_X, VKF_LAYER_NORM_GRAD_BINDING_DX, dx)
READ(TYPE_X, VKF_LAYER_NORM_GRAD_BINDING_WEIGHT, weight)
READ(TYPE_X, VKF_LAYER_NORM_GRAD_BINDING_DOUT, dout)
#endif
READ(TYPE_X, VKF_LAYER_NORM_GRAD_BINDING_X, x)

const uint UNROLL = 8; // columns per iteration: long rows stay below lavapipe's limit of 65,535 iterations

// Read once, ahead of any branch: lavapipe would gather parameters anew in each.
uint dim;
uint lane;
uint lanes;

#define ROW_VALUE vec4
#include "include/row_sum.glsl"
#include "include/norm_gradient.glsl"

// The gradient with regard to the normalised value.
float load_gradient(uint row_first, uint col)
{
#ifdef NORM_STATS
    return 0.0;
#else
    float gradient = dout_load(row_first + col);
    return HAS_WEIGHT != 0 ? gradient * weight_load(col) : gradient;
#endif
}

// Sums of norm_terms() over the invocation's columns.
vec4 sum_about(uint row_first, float centre)
{
    vec4 sum = vec4(0.0);
    for (uint first = lane; first < dim; first += UNROLL * lanes) {
        vec4 part = vec4(0.0); // summed apart, which rounds a long row's sum less often
        [[unroll]] for (uint i = 0; i < UNROLL; ++i) {
            uint col = first + i * lanes, near = min(col, dim - 1);
            float distance = x_load(row_first + near) - centre;
            part += col < dim ? norm_terms(distance, load_gradient(row_first, near)) : vec4(0.0);
        }
        sum += part;
    }
    return sum;
}

// The sum of a row alone, ahead of its centre.
float sum_values(uint row_first)
{
    float sum = 0.0;
    for (uint first = lane; first < dim; first += UNROLL * lanes) {
        float part = 0.0;
        [[unroll]] for (uint i = 0; i < UNROLL; ++i) {
            uint col = first + i * lanes;
            float value = x_load(row_first + min(col, dim - 1));
            part += col < dim ? value : 0.0;
        }
        sum += part;
    }
    return sum;
}

#ifdef NORM_STATS
void write_row(uint row, float centre, norm_row of_row)
{
    if (lane == 0) {
        stats_store(2 * row, centre + of_row.shift);
        stats_store(2 * row + 1, of_row.inverse_deviation);
    }
}
#else
void write_row(uint row, float centre, norm_row of_row)
{
    uint row_first = row * dim;
    for (uint first = lane; first < dim; first += UNROLL * lanes) {
        [[unroll]] for (uint i = 0; i < UNROLL; ++i) {
            uint col = first + i * lanes, at = row_first + col;
            if (col >= dim)
                continue;
            float value = norm_gradient(of_row, x_load(at) - centre, load_gradient(row_first, col));
            dx_store(at, p.accumulate != 0 ? dx_load(at) + value : value);
        }
    }
}
#endif

void take_row(uint row)
{
    uint row_first = row * dim;
    float centre = RMS != 0 ? 0.0 : row_sum(vec4(sum_values(row_first))).x / float(dim);
    write_row(row, centre, norm_row_of(row_sum(sum_about(row_first, centre)) / float(dim), p.eps));
}

void main()
{
    dim = p.dim;
    lane = row_lane();
    lanes = row_lanes();
    FOR_ROWS(row, p.rows)
        take_row(row);
}
