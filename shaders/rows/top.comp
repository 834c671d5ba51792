// The k most probable tokens of rows of logits; semantics in shared/top.h. One workgroup per row; the local size is a
// power of two (the registry checks it).
//
// Each invocation knows the best of its own columns. The best of all is taken k times; each time only the invocation
// that had it searches its columns again.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require

#include "include/storage.glsl"
#include "shared/top.h"
#include "include/grid.glsl"
#include "include/local_size.glsl"
#include "include/order_key.glsl"
#include "include/workgroup_reduce.glsl"

layout(set = 0, binding = VKF_BINDING_PARAMS, std140) uniform params_block { vkf_top_params p; };
layout(push_constant) uniform offsets_block { uint x_offset, seen_offset, out_offset; };

READ(TYPE_X, VKF_TOP_BINDING_X, x)
layout(set = 0, binding = VKF_TOP_BINDING_SEEN, std430) readonly buffer seen_buffer { uint seen_data[]; };
WRITE(f32, VKF_TOP_BINDING_OUT, out)

const uint UNROLL = 8; // columns per iteration: long rows stay below lavapipe's limit of 65,535 iterations

shared uvec2 best[LOCAL_SIZE]; // (key, index)
shared float partial[LOCAL_SIZE];

// Read once, ahead of any branch: lavapipe would gather parameters anew in each.
uint cols;
uint lane;
float penalty;
uint row_first;  // of the row's logits
uint seen_first; // of its words

float peak;      // the row's largest logit
bool finite;     // whether the largest logit is
float log_sum;   // log of the sum of exp(logit - peak)

float key_value(uint key)
{
    return uintBitsToFloat(key == KEY_NAN ? 0x7fc00000u : key >= 0x80000000u ? key & 0x7fffffffu : ~key);
}

float log_probability(uint col)
{
    float value = x_load(row_first + col) - peak - log_sum;
    if (penalty != 1.0 && (seen_data[seen_first + col / 32] >> (col % 32) & 1u) != 0u)
        value = value < 0.0 ? value * penalty : value / penalty;
    return value;
}

// The best of the invocation's columns that do not come before `place`; both are (key, index).
uvec2 best_from(uvec2 place)
{
    uvec2 own = NOTHING;
    for (uint first = lane; first < cols; first += UNROLL * gl_WorkGroupSize.x) {
        [[unroll]] for (uint i = 0; i < UNROLL; ++i) {
            uint col = min(first + i * gl_WorkGroupSize.x, cols - 1);
            // In a row without probabilities all are NaN, whatever exp() of a NaN is on the device.
            uvec2 candidate = uvec2(finite ? order_key(log_probability(col)) : KEY_NAN, col);
            // A column past the end repeats the last one, which another invocation may have given.
            bool counts = first + i * gl_WorkGroupSize.x < cols &&
                (candidate.x < place.x || (candidate.x == place.x && candidate.y >= place.y));
            own = counts ? better(own, candidate) : own;
        }
    }
    return own;
}

uvec2 best_of_all(uvec2 own)
{
    barrier(); // all have read the last one
    best[lane] = own;
    WORKGROUP_REDUCE(best, better)
    return best[0];
}

void find_peak()
{
    uvec2 own = NOTHING;
    for (uint first = lane; first < cols; first += UNROLL * gl_WorkGroupSize.x) {
        [[unroll]] for (uint i = 0; i < UNROLL; ++i) {
            uint col = min(first + i * gl_WorkGroupSize.x, cols - 1);
            own = better(own, uvec2(order_key(x_load(row_first + col)), col));
        }
    }
    uint key = best_of_all(own).x;
    peak = key_value(key);
    finite = key > KEY_LOWEST && key < KEY_HIGHEST;
}

void find_log_sum()
{
    float sum = 0.0;
    for (uint first = lane; first < cols; first += UNROLL * gl_WorkGroupSize.x) {
        [[unroll]] for (uint i = 0; i < UNROLL; ++i) {
            uint col = first + i * gl_WorkGroupSize.x;
            float weight = exp(x_load(row_first + min(col, cols - 1)) - peak);
            sum += col < cols ? weight : 0.0;
        }
    }
    partial[lane] = sum;
    WORKGROUP_REDUCE(partial, SUM_OF)
    log_sum = log(partial[0]);
}

void main()
{
    uint row = group_index();
    if (row >= p.rows)
        return;
    cols = p.cols;
    lane = gl_LocalInvocationID.x;
    penalty = p.repetition_penalty;
    row_first = row * cols;
    seen_first = seen_offset + row * ((cols + 31) / 32);
    uint count = p.k;
    find_peak();
    find_log_sum();
    uvec2 own = best_from(uvec2(0xffffffffu, 0u));
    for (uint i = 0; i < count; ++i) {
        uvec2 top = best_of_all(own);
        if (lane == 0) {
            out_store((row * count + i) * 2, float(top.y));
            out_store((row * count + i) * 2 + 1, key_value(top.x));
        }
        if (own == top)
            own = best_from(uvec2(top.x, top.y + 1));
    }
}
