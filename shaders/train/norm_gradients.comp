// The gradients of layer normalisation in one pass; semantics in shared/norm_gradients.h.
//
// Mean and variance are found as layer_norm.comp finds them, of a row in registers. An element is read only by the
// invocation that then writes it, so dx may alias dout or x.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require

#define ROW_SUBGROUP 1
#define ROW_VALUE vec4

#include "include/storage.glsl"
#include "shared/norm_gradients.h"
#include "include/grid.glsl"
#include "include/row.glsl"

layout(constant_id = VKF_NORM_GRADIENTS_SPEC_RMS) const uint RMS = 0;
layout(constant_id = VKF_NORM_GRADIENTS_SPEC_HAS_BIAS) const uint HAS_BIAS = 0;
layout(constant_id = VKF_NORM_GRADIENTS_SPEC_EACH) const uint EACH = 1;

layout(set = 0, binding = VKF_BINDING_PARAMS, std140) uniform params_block { vkf_norm_gradients_params p; };
layout(push_constant) uniform offsets_block { uint x_offset, dx_offset, weight_offset, dout_offset, sums_offset; };

READ(TYPE_X, VKF_NORM_GRADIENTS_BINDING_X, x)
READ_WRITE(TYPE_X, VKF_NORM_GRADIENTS_BINDING_DX, dx)
READ(TYPE_X, VKF_NORM_GRADIENTS_BINDING_WEIGHT, weight)
READ(TYPE_X, VKF_NORM_GRADIENTS_BINDING_DOUT, dout)
WRITE(f32, VKF_NORM_GRADIENTS_BINDING_SUMS, sums)

// Read once, ahead of any branch: lavapipe would gather parameters anew in each.
uint dim;
uint lane;
uint lanes;
bool accumulate;

#include "include/row_sum.glsl"
#include "include/norm_gradient.glsl"

#define FOR_OWN(i) [[unroll]] for (uint i = 0; i < EACH; ++i)

// The invocation's columns, with zeros beyond the row:
float weights[VKF_NORM_GRADIENTS_MOST_EACH];
float weight_sums[VKF_NORM_GRADIENTS_MOST_EACH];
float bias_sums[VKF_NORM_GRADIENTS_MOST_EACH];
float distances[VKF_NORM_GRADIENTS_MOST_EACH]; // of a row
float gradients[VKF_NORM_GRADIENTS_MOST_EACH];

uint column(uint i)
{
    return lane + i * lanes;
}

// With RMS the centre is 0.
void load_row(uint row_first)
{
    float sum = 0.0;
    FOR_OWN(i) {
        uint col = column(i), at = row_first + min(col, dim - 1);
        bool inside = col < dim;
        distances[i] = inside ? x_load(at) : 0.0;
        gradients[i] = inside ? dout_load(at) : 0.0;
        sum += distances[i];
    }
    if (RMS != 0)
        return;
    float centre = add_lanes(sum) / float(dim);
    FOR_OWN(i)
        distances[i] = column(i) < dim ? distances[i] - centre : 0.0;
}

void take_row(uint row_first, float eps)
{
    load_row(row_first);
    vec4 sum = vec4(0.0);
    FOR_OWN(i)
        sum += norm_terms(distances[i], gradients[i] * weights[i]);
    norm_row row = norm_row_of(row_sum(sum) / float(dim), eps);
    FOR_OWN(i) {
        uint col = column(i), at = row_first + col;
        float value = norm_gradient(row, distances[i], gradients[i] * weights[i]);
        float normed = (distances[i] - row.shift) * row.inverse_deviation;
        weight_sums[i] += gradients[i] != 0.0 ? gradients[i] * normed : 0.0;
        bias_sums[i] += gradients[i];
        if (col < dim)
            dx_store(at, accumulate ? dx_load(at) + value : value);
    }
}

void store_sums(uint group)
{
    uint first = group * (HAS_BIAS != 0 ? 2 * dim : dim);
    FOR_OWN(i) {
        uint col = column(i);
        if (col < dim) {
            sums_store(first + col, weight_sums[i]);
            if (HAS_BIAS != 0)
                sums_store(first + dim + col, bias_sums[i]);
        }
    }
}

void main()
{
    dim = p.dim;
    lane = row_lane();
    lanes = row_lanes();
    accumulate = p.accumulate != 0;
    uint rows = p.rows, group_rows = p.group_rows;
    float eps = p.eps;
    FOR_OWN(i)
        weights[i] = weight_load(min(column(i), dim - 1));
    FOR_ROWS(group, (rows + group_rows - 1) / group_rows) {
        uint end = min((group + 1) * group_rows, rows);
        FOR_OWN(i)
            weight_sums[i] = bias_sums[i] = 0.0;
        for (uint row = group * group_rows; row < end; ++row)
            take_row(row * dim, eps);
        store_sums(group);
    }
}
