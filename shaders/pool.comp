// Pooling over the positions of a sequence; semantics in shared/pool.h. A workgroup takes a sequence, and an invocation
// columns that are the local size apart; this is a power of two (the registry checks it).
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require

#include "include/storage.glsl"
#include "shared/pool.h"
#include "include/grid.glsl"
#include "include/local_size.glsl"
#include "include/workgroup_reduce.glsl"
#include "include/math.glsl"

layout(constant_id = VKF_POOL_SPEC_MODE) const uint MODE = VKF_POOL_MEAN;
layout(constant_id = VKF_POOL_SPEC_NORMALISE) const uint NORMALISE = 0;

layout(set = 0, binding = VKF_BINDING_PARAMS, std140) uniform params_block { vkf_pool_params p; };
layout(push_constant) uniform offsets_block { uint x_offset, lengths_offset, out_offset; };

READ(TYPE_X, VKF_POOL_BINDING_X, x)
READ(i32, VKF_POOL_BINDING_LENGTHS, lengths)
READ_WRITE(f32, VKF_POOL_BINDING_OUT, out)

const uint UNROLL = 8; // positions per iteration: long sequences stay below lavapipe's limit of 65,535 iterations
const float LOWEST = -3.402823466e38;

shared float partial[LOCAL_SIZE];

// Tests the bits, for the reason that is_nan() gives.
bool is_finite(float value)
{
    return (floatBitsToUint(value) & 0x7f800000u) != 0x7f800000u;
}

// Keeps NaN, as PyTorch does; max() may drop it.
float combine(float a, float b)
{
    if (MODE == VKF_POOL_MAX)
        return is_nan(a) || is_nan(b) ? nan_value() : max(a, b);
    return a + b;
}

float weight(uint position)
{
    return MODE == VKF_POOL_WEIGHTED_MEAN ? float(position + 1) : 1.0;
}

// Over the positions p.first .. end of one column.
float reduce(uint at, uint end)
{
    float neutral = MODE == VKF_POOL_MAX ? LOWEST : 0.0;
    float total = neutral;
    for (uint first = p.first; first < end; first += UNROLL) {
        float part = neutral;
        [[unroll]] for (uint i = 0; i < UNROLL; ++i) {
            uint position = min(first + i, end - 1);
            float value = x_load(at + position * p.dim) * weight(position);
            part = combine(part, first + i < end ? value : neutral);
        }
        total = combine(total, part);
    }
    return total;
}

// The sum of all weights up to a position.
float weights_before(uint position)
{
    return 0.5 * float(position) * float(position + 1);
}

float pooled(uint at, uint length)
{
    if (length == 0)
        return 0.0;
    if (MODE == VKF_POOL_FIRST)
        return x_load(at + (p.first < length ? p.first * p.dim : 0));
    if (length <= p.first)
        return 0.0;
    if (MODE == VKF_POOL_LAST)
        return x_load(at + (length - 1) * p.dim);
    float total = reduce(at, length), count = float(length - p.first);
    if (MODE == VKF_POOL_MEAN)
        return total / count;
    if (MODE == VKF_POOL_WEIGHTED_MEAN)
        return total / (weights_before(length) - weights_before(p.first));
    return MODE == VKF_POOL_MEAN_SQRT ? total / sqrt(count) : total;
}

// The sum over the workgroup, in each invocation.
float workgroup_sum(float own)
{
    partial[gl_LocalInvocationID.x] = own;
    WORKGROUP_REDUCE(partial, SUM_OF)
    return partial[0];
}

void main()
{
    uint b = group_index();
    if (b >= p.batch)
        return;
    uint length = uint(clamp(lengths_load(b), 0, int(p.len)));
    uint x_first = b * p.len * p.dim, out_first = b * p.out_stride;
    float squares = 0.0;
    for (uint col = gl_LocalInvocationID.x; col < p.dim; col += gl_WorkGroupSize.x) {
        float value = pooled(x_first + col, length);
        squares += value * value;
        out_store(out_first + col, value);
    }
    if (NORMALISE == 0)
        return;
    float sum = workgroup_sum(squares), norm = max(sqrt(sum), 1e-12);
    bool known = is_finite(sum); // where it overflowed, everything over it would be 0
    for (uint col = gl_LocalInvocationID.x; col < p.dim; col += gl_WorkGroupSize.x)
        out_store(out_first + col, known ? out_load(out_first + col) / norm : nan_value());
}
