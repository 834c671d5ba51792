// Matrix product where b is a weight in blocks (shared/blocks.h), read straight from memory: for few rows, and on
// processors for many. Semantics as in shared/gemm.h, except that a is not transposed. A workgroup computes TILE_M rows
// by TILE_N columns of d. Its lanes lie along n first, with four neighbouring columns each, then along k, where they
// take turns of TILE_K steps, or of a block each and several turns at once where TILE_K is more; their sums are then
// added through shared memory. A word of b is read and taken apart once for all TILE_M rows.
//
// If rows are few, scale and minimum are not applied to each element: once in a turn the scale is multiplied by the sum
// of a * q, and the minimum by the sum of a.
//
// With one part all lanes of a workgroup are at the same k, and a is read uniformly. That suits compilers that keep the
// lanes in a vector register (lavapipe): see gemm_direct.comp, which also says why loops are do-while.
//
// Invariants (the registry checks them): TILE_K is 8, 16 or a multiple of 32, THREAD_M == TILE_M, THREAD_N is 4, TILE_N
// is a multiple of 32, and the local size is TILE_N / 4 times a power of two, the parts; rows of a begin at multiples
// of four elements.
// Shared memory: 4 * parts * TILE_M * TILE_N bytes, and almost none for one part.
// Grid: x over tiles of n (fewer workgroups take several), y over tiles of m, z over the batch.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require

#include "include/storage.glsl"
#include "shared/blocks.h"
#include "include/grid.glsl"
#include "include/math.glsl"

layout(constant_id = VKF_GEMM_SPEC_TILE_M) const uint TILE_M = 1;
layout(constant_id = VKF_GEMM_SPEC_TILE_N) const uint TILE_N = 32;
layout(constant_id = VKF_GEMM_SPEC_TILE_K) const uint TILE_K = 32;
layout(constant_id = VKF_GEMM_SPEC_THREAD_M) const uint THREAD_M = 1;
layout(constant_id = VKF_GEMM_SPEC_THREAD_N) const uint THREAD_N = 4;
layout(constant_id = VKF_GEMM_SPEC_TRANSPOSE_A) const uint TRANSPOSE_A = 0;
layout(constant_id = VKF_GEMM_SPEC_B_LAYOUT) const uint B_LAYOUT = VKF_GEMM_B_Q8;
layout(constant_id = VKF_GEMM_SPEC_ACTIVATION) const uint ACTIVATION = 0;
layout(constant_id = VKF_GEMM_SPEC_HAS_BIAS) const uint HAS_BIAS = 0;
layout(constant_id = VKF_GEMM_SPEC_ADD_AFTER) const uint ADD_AFTER = 0;
layout(constant_id = VKF_GEMM_SPEC_GATE) const uint GATE = 0;
layout(constant_id = VKF_GEMM_SPEC_NORM) const uint NORM = VKF_GEMM_NORM_NONE;

layout(set = 0, binding = VKF_BINDING_PARAMS, std140) uniform params_block { vkf_gemm_params p; };
layout(push_constant) uniform offsets_block { uint a_offset, b_offset, d_offset, vectors_offset; };

READ_WRITE(TYPE_D, VKF_GEMM_BINDING_D, d)

#include "include/blocks.glsl"
BLOCKS_BIAS(VKF_GEMM_BINDING_BIAS, vectors_offset + p.bias_first)

const uint PANEL = VKF_GEMM_PANEL;
const bool SCALED = THREAD_M > 2;
const uint CHAINS = THREAD_M == 1 ? 2 : 1; // in which a sum is taken: short ones overlap

READ_QUADS(TYPE_A, VKF_GEMM_BINDING_A, a)
layout(set = 0, binding = VKF_GEMM_BINDING_B, std430) readonly buffer b_buffer { uvec4 b_data[]; };

uvec4 b_quad(uint place, uint i)
{
    return b_data[place + i];
}

#include "include/few_rows.glsl"
#include "include/norm_weight.glsl"
#include "include/product_store.glsl"
#include "include/block_quads.glsl"
#include "include/block_columns.glsl"

NORM_WEIGHT(VKF_GEMM_BINDING_BIAS, vectors_offset)

const uint MOMENT_ROWS = THREAD_M;

float row_load(uint at)
{
    return a_load(at);
}

vec4 row_load4(uint at)
{
    return a_load4(at);
}

float moment_load(uint i)
{
    return partial[i / 4][i % 4];
}

void moment_store(uint i, float value)
{
    partial[i / 4][i % 4] = value;
}

#include "include/row_moments.glsl"

// The matrices of one entry of the batch.
struct problem {
    uint a, d; // first elements
    uint k_end;
};

problem entry_problem(uint entry)
{
    problem e;
    uint outer = entry / p.batch_inner;
    uint inner = entry % p.batch_inner;
    e.a = p.a_first + outer * p.a_outer + inner * p.a_inner;
    e.d = p.d_first + outer * p.d_outer + inner * p.d_inner;
    e.k_end = p.alpha != 0.0 ? p.k : 0; // alpha 0 gives 0, whatever a and b hold
    return e;
}

// Elements k .. k + 3 of row i on their way into the product.
vec4 take_normed(uint i, vec4 value, uint k)
{
    vec4 weight = NORM != 0 ? norm_load4(p.norm_weight_first + k) : vec4(1.0);
    if (NORM_LAYER)
        return fma(normalised(moments[i], value), weight, norm_load4(p.norm_bias_first + k));
    if (RMS != 0)
        squares[i] += dot(value, value);
    return RMS != 0 ? value * weight : value;
}

void find_row_moments(problem e, uint row)
{
    uint first[THREAD_M];
    [[unroll]] for (uint i = 0; i < THREAD_M; ++i)
        first[i] = e.a + min(row + i, p.m - 1) * p.lda;
    find_moments(first, p.k, true, p.norm_eps);
}

const uint STEPS = TILE_K / BLOCKS; // of a turn
// One row leaves registers for all words of a step, and more rows give time to wait for one load after the other.
const bool AHEAD = THREAD_M == 1;

uvec4 heads[BLOCKS];
uvec4 packed[TILE_K / QUAD_STEPS][QUAD_WORDS];

uint tile_at(uint panel, uint k)
{
    uint tile_index = panel * (p.ldb / (PANEL * VKF_BLOCKS_DEPTH)) + k / VKF_BLOCKS_DEPTH;
    return b_offset / 4 + tile_index * (TILE_WORDS / 4);
}

// Fills in what belongs to `step` of a turn from k on. The turn is the one of this number in heads and packed.
void fetch(uint panel, uint k, uint lane, uint turn, uint step)
{
    load_quads(tile_at(panel, k), lane, k % VKF_BLOCKS_DEPTH + step, packed[(turn * STEPS + step) / QUAD_STEPS]);
}

void add_turn(problem e, uint row, uint k, uint panel, uint lane, uint turn)
{
    vec4 scale, minimum;
    unpack_head(heads[turn], lane, scale, minimum);
    uint a_rows[THREAD_M];
    vec4 products[CHAINS * THREAD_M];
    float a_sums[THREAD_M];
    [[unroll]] for (uint i = 0; i < THREAD_M; ++i) {
        a_rows[i] = e.a + min(row + i, p.m - 1) * p.lda + k;
        [[unroll]] for (uint chain = 0; chain < CHAINS; ++chain)
            products[chain * THREAD_M + i] = SCALED && chain == 0 ? sum[i] : vec4(0.0);
        a_sums[i] = 0.0;
    }
    [[unroll]] for (uint step = 0; step < STEPS; step += QUAD_STEPS) {
        vec4 values[QUAD_STEPS];
        if (!AHEAD)
            fetch(panel, k, lane, turn, step);
        unpack_quads(packed[(turn * STEPS + step) / QUAD_STEPS], SCALED, scale, minimum, values);
        [[unroll]] for (uint i = 0; i < THREAD_M; ++i) {
            [[unroll]] for (uint quad = 0; quad < QUAD_STEPS; quad += 4) {
                vec4 a_value = a_load4(a_rows[i] + step + quad);
                a_value = take_normed(i, a_value, k + step + quad);
                [[unroll]] for (uint c = 0; c < 4; ++c) {
                    uint at = c % CHAINS * THREAD_M + i;
                    float factor = SCALED ? a_value[c] : a_value[c] * blocks_lowering((quad + c) % WORD_ELEMENTS);
                    products[at] = fma(vec4(factor), values[quad + c], products[at]);
                }
                if (!BLOCKS_Q8 && !SCALED)
                    a_sums[i] += (a_value.x + a_value.y) + (a_value.z + a_value.w);
            }
        }
    }
    [[unroll]] for (uint i = 0; i < THREAD_M; ++i) {
        [[unroll]] for (uint chain = 1; chain < CHAINS; ++chain)
            products[i] += products[chain * THREAD_M + i];
        sum[i] = SCALED ? products[i] : fma(products[i], scale, sum[i]);
        if (!BLOCKS_Q8 && !SCALED)
            sum[i] = fma(minimum, vec4(a_sums[i]), sum[i]);
    }
}

// Adds `count` turns, PARTS apart, from k on.
void add_turns(uint count, problem e, uint row, uint k, uint panel, uint lane)
{
    [[unroll]] for (uint turn = 0; turn < count; ++turn) {
        uint first = k + turn * PARTS * STEPS;
        heads[turn] = load_head(tile_at(panel, first), lane);
        [[unroll]] for (uint step = 0; AHEAD && step < STEPS; step += QUAD_STEPS)
            fetch(panel, first, lane, turn, step);
    }
    [[unroll]] for (uint turn = 0; turn < count; ++turn)
        add_turn(e, row, k + turn * PARTS * STEPS, panel, lane, turn);
}

void multiply(problem e, uint row, uint col)
{
    // With one part compilers have to see that all lanes have the same one.
    uint lane = PARTS > 1 ? gl_LocalInvocationID.x % LANES : gl_LocalInvocationID.x;
    uint part = PARTS > 1 ? gl_LocalInvocationID.x / LANES : 0;
    panel_place b = place_of(col, lane);
    [[unroll]] for (uint i = 0; i < THREAD_M; ++i) {
        sum[i] = vec4(0.0);
        squares[i] = 0.0;
    }
    uint k = part * STEPS;
    const uint last = (BLOCKS - 1) * PARTS * STEPS; // turn of a step, from the first
    if (k + last < e.k_end) {
        do {
            add_turns(BLOCKS, e, row, k, b.panel, b.quad);
            k += PARTS * TILE_K;
        } while (k + last < e.k_end);
    }
    if (BLOCKS > 1 && k < e.k_end) {
        do {
            add_turns(1, e, row, k, b.panel, b.quad);
            k += PARTS * STEPS;
        } while (k < e.k_end);
    }
    store_sums(part, lane, e.d, row, col);
}

void main()
{
    uint entry = gl_WorkGroupID.z;
    if (entry < p.batch) {
        do {
            problem e = entry_problem(entry);
            if (NORM_LAYER)
                find_row_moments(e, gl_WorkGroupID.y * TILE_M);
            uint col = gl_WorkGroupID.x * TILE_N;
            if (col < p.n) {
                do {
                    multiply(e, gl_WorkGroupID.y * TILE_M, col);
                    col += gl_NumWorkGroups.x * TILE_N;
                } while (col < p.n);
            }
            entry += gl_NumWorkGroups.z;
        } while (entry < p.batch);
    }
}
