// Layer normalisation over rows; semantics in shared/layer_norm.h. include/row.glsl says which invocations share a row.
//
// The corrected two-pass algorithm (Chan, Golub, LeVeque 1983): the variance is taken about the mean of the first
// pass, and the mean of those differences, which is only rounding, corrects both. E[x^2] - E[x]^2 would cancel. The
// correction is subtracted on its own, because it would be rounded away if it were added to a large mean. RMS needs
// only the sum of squares, and one pass.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require

#include "include/storage.glsl"
#include "shared/layer_norm.h"
#include "include/grid.glsl"
#include "include/row.glsl"

layout(constant_id = VKF_LAYER_NORM_SPEC_HAS_WEIGHT) const uint HAS_WEIGHT = 0;
layout(constant_id = VKF_LAYER_NORM_SPEC_HAS_BIAS) const uint HAS_BIAS = 0;
layout(constant_id = VKF_LAYER_NORM_SPEC_RMS) const uint RMS = 0;

layout(set = 0, binding = VKF_BINDING_PARAMS, std140) uniform params_block { vkf_layer_norm_params p; };

#ifdef LAYER_NORM_RESIDUAL
layout(constant_id = VKF_LAYER_NORM_SPEC_RESIDUAL_AFTER) const uint RESIDUAL_AFTER = 0;
layout(push_constant) uniform offsets_block { uint x_offset, out_offset, weight_offset, bias_offset, residual_offset; };
READ(TYPE_X, VKF_LAYER_NORM_BINDING_RESIDUAL, residual)
#else
layout(push_constant) uniform offsets_block { uint x_offset, out_offset, weight_offset, bias_offset; };
#endif

READ(TYPE_X, VKF_LAYER_NORM_BINDING_X, x)
WRITE(TYPE_X, VKF_LAYER_NORM_BINDING_OUT, out)
READ(TYPE_W, VKF_LAYER_NORM_BINDING_WEIGHT, weight)
READ(TYPE_W, VKF_LAYER_NORM_BINDING_BIAS, bias)

const uint UNROLL = 8; // columns per iteration: long rows stay below lavapipe's limit of 65,535 iterations

// Read once, ahead of any branch: lavapipe would gather parameters anew in each.
uint dim;
uint lane;
uint lanes;

// The sum over the row's invocations, in each of them.
#ifdef ROW_SUBGROUP
vec2 row_sum(vec2 own)
{
    return vec2(subgroupAdd(own.x), subgroupAdd(own.y));
}
#else
#include "include/local_size.glsl"
#include "include/workgroup_reduce.glsl"

shared vec2 partial[LOCAL_SIZE];

vec2 row_sum(vec2 own)
{
    partial[lane] = own;
    WORKGROUP_REDUCE(partial, SUM_OF)
    vec2 total = partial[0];
    barrier(); // partial may be written again
    return total;
}
#endif

// The value that is normalised.
float load_input(uint at)
{
    float value = x_load(at);
#ifdef LAYER_NORM_RESIDUAL
    if (RESIDUAL_AFTER == 0)
        value += residual_load(at);
#endif
    return value;
}

// Sums of (x - centre) and of its square over the invocation's columns.
vec2 sum_about(uint row_first, float centre)
{
    vec2 sum = vec2(0.0);
    for (uint first = lane; first < dim; first += UNROLL * lanes) {
        vec2 part = vec2(0.0); // summed apart, which rounds a long row's sum less often
        [[unroll]] for (uint i = 0; i < UNROLL; ++i) {
            uint col = first + i * lanes;
            float difference = load_input(row_first + min(col, dim - 1)) - centre;
            part += col < dim ? vec2(difference, difference * difference) : vec2(0.0);
        }
        sum += part;
    }
    return sum;
}

void write_element(uint row, uint col, float centre, float shift, float inverse_deviation)
{
    uint at = row * dim + col;
    float value = (load_input(at) - centre - shift) * inverse_deviation;
    if (HAS_WEIGHT != 0)
        value *= weight_load(col);
    if (HAS_BIAS != 0)
        value += bias_load(col);
#ifdef LAYER_NORM_RESIDUAL
    if (RESIDUAL_AFTER != 0)
        value += residual_load(at);
#endif
    out_store(row * p.out_row + col, value);
}

void normalise_row(uint row)
{
    uint row_first = row * dim;
    float centre = RMS != 0 ? 0.0 : row_sum(sum_about(row_first, 0.0)).x / float(dim);
    vec2 moments = row_sum(sum_about(row_first, centre)) / float(dim);
    float shift = RMS != 0 ? 0.0 : moments.x;
    // max() may lose a NaN. LayerNorm carries it on in the mean; RMS has no mean, and therefore no max().
    float variance = RMS != 0 ? moments.y : max(moments.y - shift * shift, 0.0);
    float inverse_deviation = inversesqrt(variance + p.eps);
    for (uint first = lane; first < dim; first += UNROLL * lanes) {
        [[unroll]] for (uint i = 0; i < UNROLL; ++i) {
            uint col = first + i * lanes;
            if (col < dim)
                write_element(row, col, centre, shift, inverse_deviation);
        }
    }
}

void main()
{
    dim = p.dim;
    lane = row_lane();
    lanes = row_lanes();
    FOR_ROWS(row, p.rows)
        normalise_row(row);
}
