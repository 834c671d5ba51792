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
layout(constant_id = VKF_LAYER_NORM_SPEC_EACH) const uint EACH = 0;

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
const uint RUN = EACH != 0 ? EACH : UNROLL;

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

// The invocation's columns are lane + i * lanes, in runs of RUN, of which `first` is the first one's i.
#define FOR_RUNS(first) for (uint first = 0; EACH != 0 ? first == 0 : lane + first * lanes < dim; first += RUN)

// With EACH what is read once: a row, and for all rows the weight and the bias.
float held[VKF_LAYER_NORM_MOST_EACH];
float held_weight[VKF_LAYER_NORM_MOST_EACH];
float held_bias[VKF_LAYER_NORM_MOST_EACH];

void hold_parameters()
{
    [[unroll]] for (uint i = 0; i < EACH; ++i) {
        uint col = min(lane + i * lanes, dim - 1);
        held_weight[i] = HAS_WEIGHT != 0 ? weight_load(col) : 1.0;
        held_bias[i] = HAS_BIAS != 0 ? bias_load(col) : 0.0;
    }
}

void hold_row(uint row_first)
{
    [[unroll]] for (uint i = 0; i < EACH; ++i)
        held[i] = load_input(row_first + min(lane + i * lanes, dim - 1));
}

float input_at(uint row_first, uint i)
{
    return EACH != 0 ? held[i] : load_input(row_first + min(lane + i * lanes, dim - 1));
}

// Sums of (x - centre) and of its square over the invocation's columns.
vec2 sum_about(uint row_first, float centre)
{
    vec2 sum = vec2(0.0);
    FOR_RUNS(first) {
        vec2 part = vec2(0.0); // summed apart, which rounds a long row's sum less often
        [[unroll]] for (uint i = 0; i < RUN; ++i) {
            float difference = input_at(row_first, first + i) - centre;
            part += lane + (first + i) * lanes < dim ? vec2(difference, difference * difference) : vec2(0.0);
        }
        sum += part;
    }
    return sum;
}

void write_element(uint row, uint i, float centre, float shift, float inverse_deviation)
{
    uint col = lane + i * lanes, at = row * dim + col;
    float value = (input_at(row * dim, i) - centre - shift) * inverse_deviation;
    if (HAS_WEIGHT != 0)
        value *= EACH != 0 ? held_weight[i] : weight_load(col);
    if (HAS_BIAS != 0)
        value += EACH != 0 ? held_bias[i] : bias_load(col);
#ifdef LAYER_NORM_RESIDUAL
    if (RESIDUAL_AFTER != 0)
        value += residual_load(at);
#endif
    out_store(row * p.out_row + col, value);
}

void normalise_row(uint row)
{
    uint row_first = row * dim;
    hold_row(row_first);
    float centre = RMS != 0 ? 0.0 : row_sum(sum_about(row_first, 0.0)).x / float(dim);
    vec2 moments = row_sum(sum_about(row_first, centre)) / float(dim);
    float shift = RMS != 0 ? 0.0 : moments.x;
    // max() may lose a NaN. LayerNorm carries it on in the mean; RMS has no mean, and therefore no max().
    float variance = RMS != 0 ? moments.y : max(moments.y - shift * shift, 0.0);
    float inverse_deviation = inversesqrt(variance + p.eps);
    FOR_RUNS(first) {
        [[unroll]] for (uint i = 0; i < RUN; ++i) {
            if (lane + (first + i) * lanes < dim)
                write_element(row, first + i, centre, shift, inverse_deviation);
        }
    }
}

void main()
{
    dim = p.dim;
    lane = row_lane();
    lanes = row_lanes();
    hold_parameters();
    FOR_ROWS(row, p.rows)
        normalise_row(row);
}
