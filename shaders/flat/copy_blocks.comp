// Strided copy to rows of blocks of q8 (include/q8_rows.glsl), rounded as base/blocks.h says; semantics in
// shared/copy.h, with alpha 1 and beta 0, and all that concerns out in whole blocks. One invocation per block.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require

#include "include/storage.glsl"
#include "shared/copy.h"
#include "include/grid.glsl"

layout(set = 0, binding = VKF_BINDING_PARAMS, std140) uniform params_block { vkf_copy_params p; };
layout(push_constant) uniform offsets_block { uint x_offset, out_offset; };

READ(TYPE_X, VKF_COPY_BINDING_X, x)
layout(set = 0, binding = VKF_COPY_BINDING_OUT, std430) buffer out_buffer { uint out_data[]; };

const uint BLOCK = 32;

// The bits of the scale: none of a finite block is infinite, or less than a normal number unless it is 0.
uint scale_bits(uint first)
{
    uint largest = 0;
    for (uint i = 0; i < BLOCK; ++i)
        largest = max(largest, floatBitsToUint(x_load(first + i)) & 0x7fffffffu);
    if (largest >= 0x7f800000u)
        return 0x7e00u; // NaN
    float step = uintBitsToFloat(largest) / 127.0;
    return step > 0.0 ? half_bits(clamp(step, 1.0 / 16384.0, 65504.0)) : 0u;
}

uint rounded_word(uint first, float inverse)
{
    uint word = 0;
    [[unroll]] for (uint i = 0; i < 4; ++i) {
        float steps = clamp(x_load(first + i) * inverse, -127.0, 127.0);
        word |= (uint(int(steps + (steps < 0.0 ? -0.5 : 0.5))) & 0xffu) << 8 * i;
    }
    return word;
}

void main()
{
    uint i = flat_index();
    if (i >= p.count)
        return;
    uint blocks = p.cols / BLOCK;
    uint c = i % blocks * BLOCK, r = i / blocks % p.rows, o = i / blocks / p.rows;
    uint from = p.x_first + o * p.x_outer + r * p.x_row + c;
    uint block = (p.out_first + o * p.out_outer + r * p.out_row + c) / BLOCK;
    uint head = scale_bits(from);
    float scale = unpackHalf2x16(head).x;
    float inverse = scale > 0.0 ? 1.0 / scale : 0.0;
    // An odd block begins with the upper half of a word, and an even one ends with the lower half of another, whose
    // other halves are those of its neighbours.
    bool odd = block % 2 != 0;
    uint at = out_offset + (block * 17 >> 1), lower = head;
    for (uint word = 0; word < BLOCK / 4; ++word) {
        uint four = rounded_word(from + 4 * word, inverse);
        out_data[at + word + (odd ? 1 : 0)] = odd ? four : lower | four << 16;
        lower = four >> 16;
    }
    uint half_word = at + (odd ? 0 : BLOCK / 4);
    atomicAnd(out_data[half_word], odd ? 0x0000ffffu : 0xffff0000u);
    atomicOr(out_data[half_word], odd ? head << 16 : lower);
}
