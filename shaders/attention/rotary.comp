// Rotary position embedding of queries and keys, with an optional RMSNorm of each head before it; semantics in
// shared/rotary.h.
// include/row.glsl says which invocations share a row. Without a weight they share nothing, and there is no barrier.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require

#include "include/storage.glsl"
#include "shared/rotary.h"
#include "include/grid.glsl"
#include "include/row.glsl"

layout(constant_id = VKF_ROTARY_SPEC_WEIGHT) const uint WEIGHT = VKF_ROTARY_WEIGHT_NONE;
layout(constant_id = VKF_ROTARY_SPEC_HAS_TABLE) const uint HAS_TABLE = 0;
layout(constant_id = VKF_ROTARY_SPEC_POSITIONS) const uint POSITIONS = VKF_ROTARY_POSITIONS_FIRST;
layout(constant_id = VKF_ROTARY_SPEC_INTERLEAVED) const uint INTERLEAVED = 0;

layout(set = 0, binding = VKF_BINDING_PARAMS, std140) uniform params_block { vkf_rotary_params p; };
layout(push_constant) uniform offsets_block { uint x_offset, out_offset, table_offset, weight_offset; };

READ_WRITE(TYPE_X, VKF_ROTARY_BINDING_X, x)
WRITE(TYPE_OUT, VKF_ROTARY_BINDING_OUT, out)
READ(f32, VKF_ROTARY_BINDING_TABLE, table)
layout(set = 0, binding = VKF_ROTARY_BINDING_WEIGHT, std430) readonly buffer weight_buffer { uint weight_data[]; };

const uint UNROLL = 4; // elements per iteration: long heads stay below lavapipe's limit of 65,535 iterations

// Read once, ahead of any branch: lavapipe would gather parameters anew in each.
uint dim;
uint lane;
uint lanes;

// A specialisation constant decides the type, so that one module serves them all.
float weight_load(uint i)
{
    uint at = weight_offset + i;
    if (WEIGHT == VKF_ROTARY_WEIGHT_F32)
        return uintBitsToFloat(weight_data[at]);
    uint bits = weight_data[at >> 1] >> ((at & 1u) << 4);
    return WEIGHT == VKF_ROTARY_WEIGHT_F16 ? unpackHalf2x16(bits).x : uintBitsToFloat(bits << 16);
}

// The sum over the row's invocations, in each of them.
#ifdef ROW_SUBGROUP
float row_sum(float own)
{
    return subgroupAdd(own);
}
#else
#include "include/local_size.glsl"
#include "include/workgroup_reduce.glsl"

shared float partial[LOCAL_SIZE];

float row_sum(float own)
{
    partial[lane] = own;
    WORKGROUP_REDUCE(partial, SUM_OF)
    return partial[0];
}
#endif

float inverse_rms(uint from)
{
    float sum = 0.0;
    for (uint first = lane; first < dim; first += UNROLL * lanes) {
        float part = 0.0;
        [[unroll]] for (uint i = 0; i < UNROLL; ++i) {
            uint col = first + i * lanes;
            float value = x_load(from + min(col, dim - 1));
            part += col < dim ? value * value : 0.0;
        }
        sum += part;
    }
    return inversesqrt(row_sum(sum) / float(dim) + p.eps);
}

// What becomes of a row.
struct turn {
    bool in_place; // rather than to out
    bool normalised;
    uint from, to;     // first elements
    uint weight_first; // of its norm
    uint half_dim;     // pairs that are rotated
    uint angles;       // their first, in the table
    uint position;     // the first section's, among the positions
};

turn view_row(uint row)
{
    uint token = row / p.heads, head = row % p.heads;
    uint b = token / p.len, t = token % p.len;
    uint before = b * p.out_batch + t * p.out_row;
    bool query = head < p.q_heads, value = head >= p.q_heads + p.k_heads;
    turn r;
    r.in_place = query;
    r.normalised = WEIGHT != VKF_ROTARY_WEIGHT_NONE && !value;
    r.from = p.x_first + b * p.x_batch + t * p.x_row + head * dim;
    r.to = query   ? r.from
           : value ? p.v_first + before + (head - p.q_heads - p.k_heads) * dim
                   : p.k_first + before + (head - p.q_heads) * dim;
    r.weight_first = query ? 0 : p.k_weight;
    r.half_dim = HAS_TABLE != 0 && !value ? p.rotary_dim / 2 : 0;
    r.angles = (p.first_position + t) * p.rotary_dim;
    r.position = POSITIONS != VKF_ROTARY_POSITIONS_FIRST ? b / p.position_share * p.len + t : 0;
    return r;
}

// Which of a pair's positions it reads.
uint section_of(uint pair)
{
    if (POSITIONS < VKF_ROTARY_POSITIONS_SECTIONS)
        return 0;
    uvec3 begins = uvec3(p.section_0, p.section_0 + p.section_1, p.section_0 + p.section_1 + p.section_2);
    uint j = pair % (begins.z + p.section_3);
    if (POSITIONS == VKF_ROTARY_POSITIONS_SECTIONS)
        return uint(j >= begins.x) + uint(j >= begins.y) + uint(j >= begins.z);
    uint taken = j % 3u;
    uint section = taken == 0u ? p.section_0 : taken == 1u ? p.section_1 : p.section_2;
    return j < 3u * section ? taken : p.section_rest;
}

// The cosine and the sine by which a pair is turned.
vec2 load_angle(turn r, uint pair)
{
    uint at = r.angles + pair;
    if (POSITIONS != VKF_ROTARY_POSITIONS_FIRST) {
        uint position = weight_data[weight_offset + r.position + section_of(pair) * p.section_stride];
        if (position >= p.table_rows)
            return vec2(0.0);
        at = position * p.rotary_dim + pair;
    }
    return vec2(table_load(at), table_load(at + r.half_dim) * p.sine_factor);
}

float load_input(turn r, uint col, float scale)
{
    float value = x_load(r.from + col);
    return r.normalised ? value * scale * weight_load(r.weight_first + col) : value;
}

void store_output(turn r, uint col, float value)
{
    if (r.in_place)
        x_store(r.to + col, value);
    else
        out_store(r.to + col, value);
}

void embed_row(uint row)
{
    turn r = view_row(row);
    float scale = 1.0;
    if (r.normalised)
        scale = inverse_rms(r.from);
    // One invocation reads and writes both elements of a pair, because out may be x. The elements that pass unchanged
    // come after the pairs.
    for (uint first = lane; first < dim - r.half_dim; first += UNROLL * lanes) {
        [[unroll]] for (uint i = 0; i < UNROLL; ++i) {
            uint col = first + i * lanes;
            if (col < r.half_dim) {
                uint low_col = INTERLEAVED != 0 ? 2 * col : col;
                uint high_col = INTERLEAVED != 0 ? 2 * col + 1 : col + r.half_dim;
                vec2 angle = load_angle(r, col);
                float low = load_input(r, low_col, scale), high = load_input(r, high_col, scale);
                store_output(r, low_col, low * angle.x - high * angle.y);
                store_output(r, high_col, high * angle.x + low * angle.y);
            } else if (col < dim - r.half_dim) {
                store_output(r, col + r.half_dim, load_input(r, col + r.half_dim, scale));
            }
        }
    }
}

void main()
{
    dim = p.head_dim;
    lane = row_lane();
    lanes = row_lanes();
    FOR_ROWS(row, p.rows)
        embed_row(row);
}
