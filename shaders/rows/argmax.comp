// Index of the largest element of a row; semantics in shared/argmax.h. One workgroup per row; the local size is a power
// of two (the registry checks it).
//
// Values are compared as integers that order like the floats, so that the result does not depend on how a device
// compares subnormals or NaN: NaN is largest, as in PyTorch, and -0 equals +0.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require

#include "include/storage.glsl"
#include "shared/argmax.h"
#include "include/grid.glsl"
#include "include/local_size.glsl"
#include "include/order_key.glsl"
#include "include/workgroup_reduce.glsl"

layout(set = 0, binding = VKF_BINDING_PARAMS, std140) uniform params_block { vkf_argmax_params p; };
layout(push_constant) uniform offsets_block { uint x_offset, out_offset; };

READ(TYPE_X, VKF_ARGMAX_BINDING_X, x)
WRITE(i32, VKF_ARGMAX_BINDING_OUT, out)

const uint UNROLL = 8; // columns per iteration: long rows stay below lavapipe's limit of 65,535 iterations

shared uvec2 partial[LOCAL_SIZE]; // (key, index), or all bits of the index turned where the highest is wanted

void main()
{
    uint row = group_index();
    if (row >= p.rows)
        return;
    uint lane = gl_LocalInvocationID.x;
    uint turn = p.last != 0 ? 0xffffffffu : 0u;
    uvec2 best = NOTHING;
    for (uint first = lane; first < p.cols; first += UNROLL * gl_WorkGroupSize.x) {
        [[unroll]] for (uint i = 0; i < UNROLL; ++i) {
            // A column past the end repeats the last one, which changes nothing.
            uint col = min(first + i * gl_WorkGroupSize.x, p.cols - 1);
            best = better(best, uvec2(order_key(x_load(row * p.cols + col)), col ^ turn));
        }
    }
    partial[lane] = best;
    WORKGROUP_REDUCE(partial, better)
    if (lane == 0)
        out_store(row * p.out_stride + p.out_first, int(partial[0].y ^ turn));
}
