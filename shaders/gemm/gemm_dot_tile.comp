// Matrix product by integer dot products, for many rows: a is in the blocks that quantize_rows.comp writes, and b is a
// weight in blocks (shared/blocks.h). Semantics as in shared/gemm.h, except that a is not transposed; its strides count
// the elements that the blocks stand for. A workgroup computes a TILE_M x TILE_N tile of d from tiles in shared memory,
// which are TILE_K elements deep; in them, a row's or column's bytes of a block are two quads. An invocation computes
// THREAD_M x THREAD_N elements of the tile.
//
// Sums within a block are integers, and exact; sums over blocks are in float32. For SPLIT see gemm_tile.comp.
//
// Invariants (the registry checks them): TILE_K is a multiple of 32, (TILE_M / THREAD_M) * (TILE_N / THREAD_N) is the
// local size; k and strides of a are multiples of 32.
// Shared memory: 5 / 4 * TILE_K * (TILE_M + TILE_N) + 2 * TILE_K bytes.
// Grid: x over tiles of n, y over tiles of m, z over the batch, with SPLIT times the parts; fewer workgroups take
// several each.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_spirv_intrinsics : require

#include "include/storage.glsl"
#include "shared/blocks.h"
#include "shared/quantize_rows.h"
#include "include/grid.glsl"
#include "include/math.glsl"
#include "include/integer_dot.glsl"

layout(constant_id = VKF_GEMM_SPEC_TILE_M) const uint TILE_M = 32;
layout(constant_id = VKF_GEMM_SPEC_TILE_N) const uint TILE_N = 32;
layout(constant_id = VKF_GEMM_SPEC_TILE_K) const uint TILE_K = 32;
layout(constant_id = VKF_GEMM_SPEC_THREAD_M) const uint THREAD_M = 4;
layout(constant_id = VKF_GEMM_SPEC_THREAD_N) const uint THREAD_N = 4;
layout(constant_id = VKF_GEMM_SPEC_TRANSPOSE_A) const uint TRANSPOSE_A = 0;
layout(constant_id = VKF_GEMM_SPEC_B_LAYOUT) const uint B_LAYOUT = VKF_GEMM_B_Q8;
layout(constant_id = VKF_GEMM_SPEC_ACTIVATION) const uint ACTIVATION = 0;
layout(constant_id = VKF_GEMM_SPEC_HAS_BIAS) const uint HAS_BIAS = 0;
layout(constant_id = VKF_GEMM_SPEC_ADD_AFTER) const uint ADD_AFTER = 0;
layout(constant_id = VKF_GEMM_SPEC_SPLIT) const uint SPLIT = 0;

layout(set = 0, binding = VKF_BINDING_PARAMS, std140) uniform params_block { vkf_gemm_params p; };
layout(push_constant) uniform offsets_block { uint a_offset, b_offset, d_offset, bias_offset; };

layout(set = 0, binding = VKF_GEMM_BINDING_A, std430) readonly buffer a_buffer { uvec4 a_data[]; };
layout(set = 0, binding = VKF_GEMM_BINDING_B, std430) readonly buffer b_buffer { uint b_data[]; };
READ_WRITE(TYPE_D, VKF_GEMM_BINDING_D, d)

#include "include/blocks.glsl"
BLOCKS_BIAS(VKF_GEMM_BINDING_BIAS, bias_offset)

const uint PANEL = VKF_GEMM_PANEL;
const uint DEPTH = VKF_BLOCKS_DEPTH;
const uint A_BLOCK_QUADS = VKF_QUANTIZE_ROWS_WORDS / 4;
const uint HEAD_QUAD = VKF_QUANTIZE_ROWS_SCALE / 4; // of a block of a
const uint BLOCKS = TILE_K / DEPTH;                 // of a row or column in a tile
const uint GROUP_M = TILE_M / THREAD_M;             // invocations along m
const uint GROUP_N = TILE_N / THREAD_N;
const uint LOCAL_SIZE = GROUP_M * GROUP_N;
const uint A_STRIDE = TILE_M + 1; // in quads, padded against bank conflicts
const uint B_STRIDE = TILE_N + 1;

shared uvec4 a_tile[2 * BLOCKS * A_STRIDE]; // (BLOCKS, halves, TILE_M)
shared uvec4 b_tile[2 * BLOCKS * B_STRIDE]; // (BLOCKS, halves, TILE_N)
shared vec2 a_heads[BLOCKS * TILE_M];       // scales and sums
shared vec2 b_heads[BLOCKS * TILE_N];       // scales and minimums

#include "include/tile_steps.glsl"

const uint A_QUADS = TILE_M * BLOCKS * A_BLOCK_QUADS;
const uint A_STEPS = STEPS_OF(A_QUADS);
uvec4 a_fetched[A_STEPS]; // by this invocation

// Where a quad of the tile of a lies: its row, its block and its number in that. Steps that an invocation does not have
// are its last ones: they load what is there, but store nothing.
uvec3 a_place(uint step)
{
    uint i = A_QUADS % LOCAL_SIZE == 0 ? step_number(step) : min(step_number(step), A_QUADS - 1);
    return uvec3(i / (BLOCKS * A_BLOCK_QUADS), i / A_BLOCK_QUADS % BLOCKS, i % A_BLOCK_QUADS);
}

// Rows, columns and blocks are clamped into the matrices: rows and columns outside are never stored, and blocks beyond
// the end are never multiplied.
void fetch_a_tile(uint a_first, uint row_first, uint block_first, uint block_end)
{
    [[unroll]] for (uint step = 0; step < A_STEPS; ++step) {
        uvec3 place = a_place(step);
        uint row = min(row_first + place.x, p.m - 1), block = min(block_first + place.y, block_end - 1);
        uint at = a_first / DEPTH + row * (p.lda / DEPTH) + block;
        a_fetched[step] = a_data[a_offset / 4 + at * A_BLOCK_QUADS + place.z];
    }
}

void store_a_tile()
{
    [[unroll]] for (uint step = 0; step < A_STEPS; ++step) {
        uvec3 place = a_place(step);
        if (!has_step(step, A_QUADS))
            continue;
        if (place.z == HEAD_QUAD)
            a_heads[place.y * TILE_M + place.x] = uintBitsToFloat(a_fetched[step].xy);
        else
            a_tile[(2 * place.y + place.z) * A_STRIDE + place.x] = a_fetched[step];
    }
}

// Neighbouring invocations take neighbouring columns, half a block of each.
const uint B_HALVES = TILE_N * BLOCKS * 2;
const uint B_STEPS = STEPS_OF(B_HALVES);
uvec4 b_words[B_STEPS]; // of q4 two
uint b_head_words[B_STEPS];

// Where half a block lies: its column, its block and which half it is.
uvec3 b_place(uint step)
{
    uint i = B_HALVES % LOCAL_SIZE == 0 ? step_number(step) : min(step_number(step), B_HALVES - 1);
    return uvec3(i % TILE_N, i / (2 * TILE_N), i / TILE_N % 2);
}

void fetch_b_tile(uint col_first, uint block_first, uint block_end)
{
    const uint words = DEPTH / 2 / WORD_ELEMENTS;
    [[unroll]] for (uint step = 0; step < B_STEPS; ++step) {
        uvec3 place = b_place(step);
        uint column = blocks_column(col_first + place.x, p.n), lane = column % PANEL;
        uint block = min(block_first + place.y, block_end - 1);
        uint tile = b_offset + blocks_tile(column, block * DEPTH, p.ldb);
        [[unroll]] for (uint i = 0; i < words; ++i)
            b_words[step][i] = b_data[tile + HEAD_WORDS + (place.z * words + i) * PANEL + lane];
        b_head_words[step] = b_data[tile + lane / 2];
    }
}

// Half of a column's block as bytes in the order of the activations.
uvec4 bytes_of(uvec4 words)
{
    uvec2 even = words.xy & 0x0f0f0f0fu, odd = words.xy >> 4 & 0x0f0f0f0fu;
    return BLOCKS_Q8 ? words : uvec4(even.x, odd.x, even.y, odd.y);
}

void store_b_tile(uint col_first)
{
    [[unroll]] for (uint step = 0; step < B_STEPS; ++step) {
        uvec3 place = b_place(step);
        if (!has_step(step, B_HALVES))
            continue;
        b_tile[(2 * place.y + place.z) * B_STRIDE + place.x] = bytes_of(b_words[step]);
        if (place.z == 0)
            b_heads[place.y * TILE_N + place.x] =
                blocks_head(b_head_words[step], blocks_column(col_first + place.x, p.n));
    }
}

uint tile_row(uint i)
{
    return i * GROUP_M + gl_LocalInvocationID.x / GROUP_N;
}

uint tile_col(uint j)
{
    return j * GROUP_N + gl_LocalInvocationID.x % GROUP_N;
}

float sum[THREAD_M * THREAD_N];

// Adds a block of the tiles.
void multiply_block(uint block)
{
    int products[THREAD_M * THREAD_N];
    [[unroll]] for (uint i = 0; i < THREAD_M * THREAD_N; ++i)
        products[i] = 0;
    [[unroll]] for (uint half_block = 0; half_block < 2; ++half_block) {
        uvec4 b_bytes[THREAD_N];
        [[unroll]] for (uint j = 0; j < THREAD_N; ++j)
            b_bytes[j] = b_tile[(2 * block + half_block) * B_STRIDE + tile_col(j)];
        [[unroll]] for (uint i = 0; i < THREAD_M; ++i) {
            uvec4 a_bytes = a_tile[(2 * block + half_block) * A_STRIDE + tile_row(i)];
            [[unroll]] for (uint j = 0; j < THREAD_N; ++j)
                products[i * THREAD_N + j] += dot_bytes(a_bytes, b_bytes[j]);
        }
    }
    [[unroll]] for (uint i = 0; i < THREAD_M; ++i) {
        vec2 a_head = a_heads[block * TILE_M + tile_row(i)];
        [[unroll]] for (uint j = 0; j < THREAD_N; ++j) {
            vec2 b_head = b_heads[block * TILE_N + tile_col(j)];
            uint at = i * THREAD_N + j;
            sum[at] = fma(float(products[at]), a_head.x * b_head.x, sum[at]);
            if (!BLOCKS_Q8)
                sum[at] = fma(a_head.y, b_head.y, sum[at]);
        }
    }
}

#include "include/product_store.glsl"

void store_sums(uint d_first, uint row_first, uint col_first, uint entry, uint split)
{
    [[unroll]] for (uint i = 0; i < THREAD_M; ++i) {
        uint row = row_first + tile_row(i);
        [[unroll]] for (uint j = 0; j < THREAD_N; ++j) {
            uint col = col_first + tile_col(j);
            if (row < p.m && col < p.n) {
                if (SPLIT != 0)
                    d_store(((split * p.batch + entry) * p.m + row) * p.n + col, sum[i * THREAD_N + j]);
                else
                    store_element(d_first + row * p.ldd + col, col, sum[i * THREAD_N + j]);
            }
        }
    }
}

void multiply_entry(uint entry, uint split)
{
    uint outer = entry / p.batch_inner, inner = entry % p.batch_inner;
    uint a_first = p.a_first + outer * p.a_outer + inner * p.a_inner;
    uint row_first = gl_WorkGroupID.y * TILE_M, col_first = gl_WorkGroupID.x * TILE_N;
    uint block = SPLIT != 0 ? split * (p.split_k / DEPTH) : 0;
    uint block_end = SPLIT != 0 ? min(p.k / DEPTH, block + p.split_k / DEPTH) : p.k / DEPTH;
    if (p.alpha == 0.0)
        block_end = 0; // gives 0, whatever a and b hold
    [[unroll]] for (uint i = 0; i < THREAD_M * THREAD_N; ++i)
        sum[i] = 0.0;
    for (; block < block_end; block += BLOCKS) {
        fetch_a_tile(a_first, row_first, block, block_end);
        fetch_b_tile(col_first, block, block_end);
        store_a_tile();
        store_b_tile(col_first);
        barrier();
        uint count = min(BLOCKS, block_end - block);
        [[dont_unroll]] for (uint i = 0; i < count; ++i)
            multiply_block(i);
        barrier();
    }
    store_sums(p.d_first + outer * p.d_outer + inner * p.d_inner, row_first, col_first, entry, split);
}

void main()
{
    uint entries = SPLIT != 0 ? p.batch * p.splits : p.batch;
    for (uint z = gl_WorkGroupID.z; z < entries; z += gl_NumWorkGroups.z)
        multiply_entry(SPLIT != 0 ? z % p.batch : z, SPLIT != 0 ? z / p.batch : 0);
}
