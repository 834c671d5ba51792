// Rows of activations in blocks of signed bytes; layout and semantics in shared/quantize_rows.h.
//
// The invocations of a block divide its elements among them, and combine what they find through shared memory.
// With NORM a workgroup first finds the moments of each row in which some of its elements lie.
// Invariant: the local size is a power of two, and a multiple of 8.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require

#include "include/storage.glsl"
#include "shared/gemm.h"
#include "shared/quantize_rows.h"
#include "include/grid.glsl"
#include "include/local_size.glsl"
#include "include/math.glsl"

layout(constant_id = VKF_QUANTIZE_ROWS_SPEC_EVEN_ODD) const uint EVEN_ODD = 0;
layout(constant_id = VKF_QUANTIZE_ROWS_SPEC_NORM) const uint NORM = VKF_GEMM_NORM_NONE;
layout(constant_id = VKF_QUANTIZE_ROWS_SPEC_GATE) const uint GATE = 0;
layout(constant_id = VKF_QUANTIZE_ROWS_SPEC_ACTIVATION) const uint ACTIVATION = VKF_SHADER_ACTIVATION_NONE;

layout(set = 0, binding = VKF_BINDING_PARAMS, std140) uniform params_block { vkf_quantize_rows_params p; };
layout(push_constant) uniform offsets_block { uint x_offset, out_offset, norm_offset; };

READ_QUADS(TYPE_X, VKF_QUANTIZE_ROWS_BINDING_X, x)
layout(set = 0, binding = VKF_QUANTIZE_ROWS_BINDING_OUT, std430) writeonly buffer out_buffer { uint out_data[]; };

#include "include/block_rounding.glsl"
#include "include/norm_weight.glsl"
NORM_WEIGHT(VKF_QUANTIZE_ROWS_BINDING_NORM, norm_offset)

const uint LANES = VKF_QUANTIZE_ROWS_DEPTH / VKF_QUANTIZE_ROWS_RUN; // of a block

shared uint magnitudes[LOCAL_SIZE]; // as bits
shared int sums[LOCAL_SIZE];
shared float moment_parts[2 * LOCAL_SIZE];

uint row_first(uint row)
{
    uint entry = row / p.m;
    uint outer = entry / p.batch_inner;
    return p.x_first + outer * p.x_outer + (entry - outer * p.batch_inner) * p.x_inner + (row - entry * p.m) * p.x_row;
}

bool rows_are_quads()
{
    return ((x_offset | p.x_first | p.x_outer | p.x_inner | p.x_row) & 3u) == 0u;
}

// Four elements from `first` on, each `step` behind the one before.
vec4 fetch(uint first, uint step)
{
    return vec4(x_load(first), x_load(first + step), x_load(first + 2 * step), x_load(first + 3 * step));
}

// The elements of a lane's word.
vec4 fetch_word(uint first, uint lane)
{
    bool quads = rows_are_quads();
    if (EVEN_ODD == 0) {
        first += lane * VKF_QUANTIZE_ROWS_RUN;
        return quads ? x_load4(first) : fetch(first, 1);
    }
    first += lane / 2 * 8;
    if (!quads)
        return fetch(first + lane % 2, 2);
    return even_odd_word(x_load4(first), x_load4(first + 4), lane % 2);
}

// The same of the row that is gated, where one is.
vec4 fetch_gated(uint first, uint lane)
{
    vec4 x = fetch_word(first, lane);
    if (GATE == 0)
        return x;
    [[unroll]] for (uint i = 0; i < 4; ++i)
        x[i] = activate(ACTIVATION, x[i]);
    return x * fetch_word(first + p.k, lane);
}

// The norm's weights or biases, from i on in their operand, for the elements of a lane's word.
vec4 load_norm_word(uint i, uint lane)
{
    if (EVEN_ODD == 0)
        return norm_load4(i + lane * VKF_QUANTIZE_ROWS_RUN);
    i += lane / 2 * 8;
    return even_odd_word(norm_load4(i), norm_load4(i + 4), lane % 2);
}

const uint MOMENT_ROWS = 1;

float row_load(uint at)
{
    return x_load(at);
}

vec4 row_load4(uint at)
{
    return x_load4(at);
}

float moment_load(uint i)
{
    return moment_parts[i];
}

void moment_store(uint i, float value)
{
    moment_parts[i] = value;
}

#include "include/row_moments.glsl"

// Moments of the row `own`, one of those that the workgroup's blocks lie in.
vec3 own_moments(uint own, uint row_blocks)
{
    uint group = flat_index() - gl_LocalInvocationID.x, last = min(group + LOCAL_SIZE, p.count) - 1;
    uint end_row = group < p.count ? last / LANES / row_blocks + 1 : 0;
    vec3 found = vec3(0.0);
    for (uint row = group / LANES / row_blocks; row < end_row; ++row) {
        find_moments(uint[1](row_first(row)), p.k, rows_are_quads(), p.norm_eps);
        found = row == own ? moments[0] : found;
    }
    return found;
}

void main()
{
    uint i = flat_index(), local = gl_LocalInvocationID.x;
    uint block = i / LANES, lane = i % LANES, neighbours = local - lane;
    bool inside = i < p.count;
    uint row_blocks = p.k / VKF_QUANTIZE_ROWS_DEPTH;
    uint row = block / row_blocks;
    vec4 x = vec4(0.0);
    uint k = (block - row * row_blocks) * VKF_QUANTIZE_ROWS_DEPTH;
    if (inside)
        x = fetch_gated(row_first(row) + k, lane);
    if (NORM != 0)
        x = normalised(own_moments(row, row_blocks), x) * load_norm_word(p.norm_weight_first + k, lane);
    if (NORM_LAYER)
        x += load_norm_word(p.norm_bias_first + k, lane);
    magnitudes[local] = magnitude_of(x);
    barrier();

    uint largest = 0;
    [[unroll]] for (uint other = 0; other < LANES; ++other)
        largest = max(largest, magnitudes[neighbours + other]);
    ivec4 q = rounded(x, largest);
    sums[local] = sum_of(q);
    barrier();

    if (!inside)
        return;
    uint at = out_offset + block * VKF_QUANTIZE_ROWS_WORDS;
    out_data[at + lane] = bytes_of(q);
    if (lane == 0) {
        int sum = 0;
        [[unroll]] for (uint other = 0; other < LANES; ++other)
            sum += sums[neighbours + other];
        uvec2 head = floatBitsToUint(head_of(largest, sum));
        out_data[at + VKF_QUANTIZE_ROWS_SCALE] = head.x;
        out_data[at + VKF_QUANTIZE_ROWS_SUM] = head.y;
    }
}
