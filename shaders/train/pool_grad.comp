// The backward pass of pooling; semantics in shared/pool_grad.h. The local size is a power of two (the registry checks
// it).
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require

#include "include/storage.glsl"
#include "shared/pool_grad.h"
#include "include/grid.glsl"
#include "include/local_size.glsl"
#include "include/workgroup_reduce.glsl"
#include "include/math.glsl"

layout(constant_id = VKF_POOL_GRAD_SPEC_MODE) const uint MODE = VKF_POOL_MEAN;
layout(constant_id = VKF_POOL_GRAD_SPEC_NORMALISE) const uint NORMALISE = 0;

layout(set = 0, binding = VKF_BINDING_PARAMS, std140) uniform params_block { vkf_pool_grad_params p; };
layout(push_constant) uniform offsets_block { uint x_offset, lengths_offset, dout_offset, dx_offset; };

READ(TYPE_X, VKF_POOL_GRAD_BINDING_X, x)
READ(i32, VKF_POOL_GRAD_BINDING_LENGTHS, lengths)
READ(f32, VKF_POOL_GRAD_BINDING_DOUT, dout)
READ_WRITE(f32, VKF_POOL_GRAD_BINDING_DX, dx)

#include "include/pooling.glsl"

shared vec2 partial[LOCAL_SIZE];

uint length_of(uint b)
{
    return uint(clamp(lengths_load(b), 0, int(p.len)));
}

// The position of the largest among p.first .. end of one column.
uint largest_position(uint at, uint end)
{
    uint best = p.first;
    float largest = LOWEST;
    for (uint first = p.first; first < end; first += UNROLL) {
        [[unroll]] for (uint i = 0; i < UNROLL; ++i) {
            uint position = min(first + i, end - 1); // the last one again is not larger
            float value = x_load(at + position * p.dim);
            if (!is_nan(largest) && (is_nan(value) || value > largest)) {
                largest = value;
                best = position;
            }
        }
    }
    return best;
}

// (sum of squares of what was pooled, its product with dout), over the workgroup.
vec2 workgroup_sum(vec2 own)
{
    partial[gl_LocalInvocationID.x] = own;
    WORKGROUP_REDUCE(partial, SUM_OF)
    return partial[0];
}

// Each invocation reads back only what it has written itself.
void prepare(uint b)
{
    uint length = length_of(b), x_first = b * p.len * p.dim, row = b * p.dim;
    vec2 sums = vec2(0.0);
    for (uint col = gl_LocalInvocationID.x; col < p.dim; col += gl_WorkGroupSize.x) {
        float incoming = dout_load(b * p.dout_stride + col), value = incoming;
        if (NORMALISE != 0) {
            value = pooled(x_first + col, length);
            sums += value * vec2(value, incoming);
        }
        dx_store(row + col, value);
        if (MODE == VKF_POOL_MAX)
            dx_store((p.batch + b) * p.dim + col, float(largest_position(x_first + col, length)));
    }
    if (NORMALISE == 0)
        return;
    vec2 total = workgroup_sum(sums);
    float root = sqrt(total.x), inverse = 1.0 / max(root, 1e-12);
    float along = root > 1e-12 ? total.y * inverse : 0.0; // a clamped length is a constant
    bool known = is_finite(total.x);
    for (uint col = gl_LocalInvocationID.x; col < p.dim; col += gl_WorkGroupSize.x) {
        float unit = dx_load(row + col) * inverse, incoming = dout_load(b * p.dout_stride + col);
        dx_store(row + col, known ? (incoming - unit * along) * inverse : nan_value());
    }
}

// What a position counts for, other than for MAX.
float share(uint position, uint length)
{
    if (MODE == VKF_POOL_FIRST)
        return position == (p.first < length ? p.first : 0) ? 1.0 : 0.0;
    if (MODE == VKF_POOL_LAST)
        return position + 1 == length ? 1.0 : 0.0;
    float count = float(length - p.first);
    if (MODE == VKF_POOL_WEIGHTED_MEAN)
        return weight(position) / (weights_before(length) - weights_before(p.first));
    return MODE == VKF_POOL_MEAN ? 1.0 / count : MODE == VKF_POOL_MEAN_SQRT ? inversesqrt(count) : 1.0;
}

void hand_out(uint row, uint col)
{
    uint b = row / p.len, position = row - b * p.len, length = length_of(b);
    bool counts = position < length && (MODE == VKF_POOL_FIRST || position >= p.first);
    float factor = counts ? share(position, length) : 0.0;
    [[unroll]] for (uint i = 0; i < VKF_PART_EACH; ++i, col += gl_WorkGroupSize.x) {
        if (col >= p.dim)
            return;
        bool gets = MODE == VKF_POOL_MAX ? counts && dout_load((p.batch + b) * p.dim + col) == float(position)
                                         : factor != 0.0;
        float value = gets ? dout_load(b * p.dout_stride + col) * factor : 0.0;
        if (p.accumulate != 0)
            value += dx_load(row * p.dim + col);
        dx_store(row * p.dim + col, value);
    }
}

void main()
{
    uint b = group_index();
    uvec2 at = row_and_column(p.dim);
    if (p.prepares != 0) {
        if (b < p.batch)
            prepare(b);
    } else if (at.x < p.batch * p.len) {
        hand_out(at.x, at.y);
    }
}
