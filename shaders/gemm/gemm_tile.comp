// General matrix multiply through tiles in shared memory; semantics in shared/gemm.h.
//
// A workgroup computes a TILE_M x TILE_N tile of d, and an invocation THREAD_M x THREAD_N elements of it. An
// invocation's rows are runs of RUN_M that lie GROUP_M runs apart, and its columns likewise runs of RUN_N. Runs of four
// are read from shared memory as one vector, and neighbouring invocations touch neighbouring columns.
// Invariants (the registry checks them): 4 divides TILE_M, TILE_N and TILE_K, THREAD_M divides TILE_M, THREAD_N divides
// TILE_N, the local size is (TILE_M / THREAD_M) * (TILE_N / THREAD_N), and 4 * TILE_K * (TILE_M + TILE_N + 8) bytes of
// shared memory exist.
// Grid: x over tiles of n, y over tiles of m, z over the batch. With SPLIT, z is over batch * splits, k is cut into
// parts of split_k, a multiple of 4, and d is a compact f32 (splits, batch, m, n) of plain sums for gemm_reduce.comp.
//
// With B_BLOCKS b is a weight in blocks (shared/blocks.h), which becomes floats on its way into shared memory. TILE_K
// then divides a block or is whole blocks, split_k is whole blocks, and a is not transposed.
//
// K advances TILE_K at a time and everything inside is unrolled: Mesa 22.3's lavapipe ends an invocation's loops after
// 65,535 iterations in all.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require

#include "include/storage.glsl"
#include "shared/gemm.h"
#include "include/grid.glsl"
#include "include/math.glsl"

layout(constant_id = VKF_GEMM_SPEC_TILE_M) const uint TILE_M = 64;
layout(constant_id = VKF_GEMM_SPEC_TILE_N) const uint TILE_N = 64;
layout(constant_id = VKF_GEMM_SPEC_TILE_K) const uint TILE_K = 16;
layout(constant_id = VKF_GEMM_SPEC_THREAD_M) const uint THREAD_M = 8;
layout(constant_id = VKF_GEMM_SPEC_THREAD_N) const uint THREAD_N = 8;
layout(constant_id = VKF_GEMM_SPEC_TRANSPOSE_A) const uint TRANSPOSE_A = 0;
layout(constant_id = VKF_GEMM_SPEC_B_LAYOUT) const uint B_LAYOUT = VKF_GEMM_B_KN;
layout(constant_id = VKF_GEMM_SPEC_ACTIVATION) const uint ACTIVATION = 0;
layout(constant_id = VKF_GEMM_SPEC_HAS_BIAS) const uint HAS_BIAS = 0;
layout(constant_id = VKF_GEMM_SPEC_ADD_AFTER) const uint ADD_AFTER = 0;
layout(constant_id = VKF_GEMM_SPEC_SPLIT) const uint SPLIT = 0;

layout(set = 0, binding = VKF_BINDING_PARAMS, std140) uniform params_block { vkf_gemm_params p; };
layout(push_constant) uniform offsets_block { uint a_offset, b_offset, d_offset, bias_offset; };

READ_QUADS(TYPE_A, VKF_GEMM_BINDING_A, a)
READ_WRITE(TYPE_D, VKF_GEMM_BINDING_D, d)
#ifdef B_BLOCKS
#include "include/blocks.glsl"
layout(set = 0, binding = VKF_GEMM_BINDING_B, std430) readonly buffer b_buffer { uint b_data[]; };
BLOCKS_BIAS(VKF_GEMM_BINDING_BIAS, bias_offset)
#else
READ_QUADS(TYPE_B, VKF_GEMM_BINDING_B, b)
READ(TYPE_B, VKF_GEMM_BINDING_BIAS, bias)
#endif

const uint RUN_M = THREAD_M % 4 == 0 ? 4 : 1;
const uint RUN_N = THREAD_N % 4 == 0 ? 4 : 1;
const uint GROUP_M = TILE_M / THREAD_M; // invocations along m
const uint GROUP_N = TILE_N / THREAD_N;
const uint LOCAL_SIZE = GROUP_M * GROUP_N;
const uint A_QUADS = TILE_M * TILE_K / 4; // quads of a tile
const uint B_QUADS = TILE_N * TILE_K / 4;
const uint UNROLL_K = 4;               // divides TILE_K
const uint A_STRIDE = TILE_M / 4 + 1; // in quads, padded against bank conflicts
const uint B_STRIDE = TILE_N / 4 + 1;

shared vec4 a_tile[TILE_K * A_STRIDE]; // (TILE_K, TILE_M)
shared vec4 b_tile[TILE_K * B_STRIDE]; // (TILE_K, TILE_N)

#define QUAD vec4
#define QUAD_ELEMENT float
#define a_quad a_load4
#define b_quad b_load4
#include "include/tile_quads.glsl"

// An operand's tile is fetched in quads that lie along the dimension that is contiguous in memory. The place of the
// quad of step i in the tile: x across k, y along k.
uvec2 quad_place(bool along_k, uint i, uint tile)
{
    if (along_k)
        return uvec2(i / (TILE_K / 4), i % (TILE_K / 4) * 4);
    return uvec2(i % (tile / 4) * 4, i / (tile / 4));
}

const uint A_STEPS = STEPS_OF(A_QUADS);
vec4 a_fetched[A_STEPS]; // what an invocation fetched of a

void fetch_a_tile(uint reading, uint first, uint row_first, uint k_first, uint k_end)
{
    [[unroll]] for (uint step = 0; step < A_STEPS; ++step) {
        uvec2 place = quad_place(A_ALONG_K, step_number(step), TILE_M);
        if (has_step(step, A_QUADS))
            a_fetched[step] = fetch_a(reading, first, row_first + place.x, k_first + place.y, k_end);
    }
}

void store_a_tile()
{
    [[unroll]] for (uint step = 0; step < A_STEPS; ++step) {
        uvec2 place = quad_place(A_ALONG_K, step_number(step), TILE_M);
        if (!has_step(step, A_QUADS))
            continue;
        if (!A_ALONG_K)
            a_tile[place.y * A_STRIDE + place.x / 4] = a_fetched[step];
        [[unroll]] for (uint c = 0; A_ALONG_K && c < 4; ++c)
            a_tile[(place.y + c) * A_STRIDE + place.x / 4][place.x % 4] = a_fetched[step][c];
    }
}

#ifdef B_BLOCKS
// Neighbouring invocations take neighbouring columns, and a word of each. k is whole blocks, so nothing lies beyond it.
const uint B_WORDS = TILE_N * TILE_K / WORD_ELEMENTS;
const uint B_STEPS = STEPS_OF(B_WORDS);
uint b_words[B_STEPS], b_heads[B_STEPS]; // what an invocation fetched of b

// The place of a step in the tile: x across k, y along k.
uvec2 word_place(uint step)
{
    return uvec2(step_number(step) % TILE_N, step_number(step) / TILE_N * WORD_ELEMENTS);
}

void fetch_b_tile(uint col_first, uint k_first)
{
    [[unroll]] for (uint step = 0; step < B_STEPS; ++step) {
        uvec2 place = word_place(step);
        uint column = blocks_column(col_first + place.x, p.n), lane = column % VKF_GEMM_PANEL;
        uint k = k_first + place.y, tile = b_offset + blocks_tile(column, k, p.ldb);
        if (has_step(step, B_WORDS)) {
            b_words[step] = b_data[tile + HEAD_WORDS + k % VKF_BLOCKS_DEPTH / WORD_ELEMENTS * VKF_GEMM_PANEL + lane];
            b_heads[step] = b_data[tile + lane / 2];
        }
    }
}

void store_b_tile(uint col_first)
{
    [[unroll]] for (uint step = 0; step < B_STEPS; ++step) {
        uvec2 place = word_place(step);
        vec2 head = blocks_head(b_heads[step], blocks_column(col_first + place.x, p.n));
        [[unroll]] for (uint c = 0; c < WORD_ELEMENTS && has_step(step, B_WORDS); ++c) {
            float value = blocks_element(b_words[step], c);
            value = BLOCKS_Q8 ? value * head.x : fma(value, head.x, head.y);
            b_tile[(place.y + c) * B_STRIDE + place.x / 4][place.x % 4] = value;
        }
    }
}
#else
const uint B_STEPS = STEPS_OF(B_QUADS);
vec4 b_fetched[B_STEPS];

void fetch_b_tile(uint reading, uint first, uint col_first, uint k_first, uint k_end)
{
    [[unroll]] for (uint step = 0; step < B_STEPS; ++step) {
        uvec2 place = quad_place(B_ALONG_K, step_number(step), TILE_N);
        if (has_step(step, B_QUADS))
            b_fetched[step] = fetch_b(reading, first, col_first + place.x, k_first + place.y, k_end);
    }
}

void store_b_tile()
{
    [[unroll]] for (uint step = 0; step < B_STEPS; ++step) {
        uvec2 place = quad_place(B_ALONG_K, step_number(step), TILE_N);
        if (!has_step(step, B_QUADS))
            continue;
        if (!B_ALONG_K)
            b_tile[place.y * B_STRIDE + place.x / 4] = b_fetched[step];
        [[unroll]] for (uint c = 0; B_ALONG_K && c < 4; ++c)
            b_tile[(place.y + c) * B_STRIDE + place.x / 4][place.x % 4] = b_fetched[step][c];
    }
}
#endif

uint tile_row(uint i)
{
    return i / RUN_M * RUN_M * GROUP_M + gl_LocalInvocationID.x / GROUP_N * RUN_M + i % RUN_M;
}

uint tile_col(uint j)
{
    return j / RUN_N * RUN_N * GROUP_N + gl_LocalInvocationID.x % GROUP_N * RUN_N + j % RUN_N;
}

#include "include/product_store.glsl"

void multiply_entry(uint entry, uint split)
{
    uint outer = entry / p.batch_inner;
    uint inner = entry % p.batch_inner;
    uint a_first = p.a_first + outer * p.a_outer + inner * p.a_inner;
#ifndef B_BLOCKS
    uint b_first = outer * p.b_outer + inner * p.b_inner;
#endif
    uint d_first = p.d_first + outer * p.d_outer + inner * p.d_inner;
    uint row_first = gl_WorkGroupID.y * TILE_M;
    uint col_first = gl_WorkGroupID.x * TILE_N;

    float sum[THREAD_M * THREAD_N];
    [[unroll]] for (uint i = 0; i < THREAD_M * THREAD_N; ++i)
        sum[i] = 0.0;

    uint k_begin = SPLIT != 0 ? split * p.split_k : 0;
    uint k_end = SPLIT != 0 ? min(p.k, k_begin + p.split_k) : p.k;
    if (p.alpha == 0.0)
        k_end = 0; // gives 0, whatever a and b hold
    bool a_quads = can_read_quads(a_offset, a_first, p.lda, TRANSPOSE_A != 0 ? p.m : k_end, k_begin);
#ifndef B_BLOCKS
    uint b_extent = B_LAYOUT == VKF_GEMM_B_PANELS ? 0 : B_LAYOUT == VKF_GEMM_B_NK ? k_end : p.n;
    bool b_quads = can_read_quads(b_offset, b_first, p.ldb, b_extent, k_begin);
#endif
    // Whole tiles are fetched without a branch, so that all loads are under way before the first is waited for.
    for (uint k_first = k_begin; k_first < k_end; k_first += TILE_K) {
        bool inside = k_first + TILE_K <= k_end;
#ifdef B_BLOCKS
        fetch_b_tile(col_first, k_first);
        if (a_quads && inside)
            fetch_a_tile(READ_QUADS_INSIDE, a_first, row_first, k_first, k_end);
        else
            fetch_a_tile(reading_of(a_quads), a_first, row_first, k_first, k_end);
        store_a_tile();
        store_b_tile(col_first);
#else
        if (a_quads && b_quads && inside) {
            fetch_a_tile(READ_QUADS_INSIDE, a_first, row_first, k_first, k_end);
            fetch_b_tile(READ_QUADS_INSIDE, b_first, col_first, k_first, k_end);
        } else {
            fetch_a_tile(reading_of(a_quads), a_first, row_first, k_first, k_end);
            fetch_b_tile(reading_of(b_quads), b_first, col_first, k_first, k_end);
        }
        store_a_tile();
        store_b_tile();
#endif
        barrier();
        [[dont_unroll]] for (uint k_block = 0; k_block < TILE_K; k_block += UNROLL_K) {
            [[unroll]] for (uint k_step = 0; k_step < UNROLL_K; ++k_step) {
                uint k = k_block + k_step;
                vec4 b_values[(THREAD_N + 3) / 4];
                [[unroll]] for (uint j = 0; j < THREAD_N; j += RUN_N) {
                    if (RUN_N == 4)
                        b_values[j / 4] = b_tile[k * B_STRIDE + tile_col(j) / 4];
                    else
                        b_values[j / 4][j % 4] = b_tile[k * B_STRIDE + tile_col(j) / 4][tile_col(j) % 4];
                }
                [[unroll]] for (uint i = 0; i < THREAD_M; i += RUN_M) {
                    vec4 a_values;
                    if (RUN_M == 4)
                        a_values = a_tile[k * A_STRIDE + tile_row(i) / 4];
                    else
                        a_values.x = a_tile[k * A_STRIDE + tile_row(i) / 4][tile_row(i) % 4];
                    [[unroll]] for (uint run = 0; run < RUN_M; ++run) {
                        [[unroll]] for (uint j = 0; j < THREAD_N; ++j)
                            sum[(i + run) * THREAD_N + j] += a_values[run] * b_values[j / 4][j % 4];
                    }
                }
            }
        }
        barrier();
    }

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

void main()
{
    uint entries = SPLIT != 0 ? p.batch * p.splits : p.batch;
    for (uint z = gl_WorkGroupID.z; z < entries; z += gl_NumWorkGroups.z)
        multiply_entry(SPLIT != 0 ? z % p.batch : z, SPLIT != 0 ? z / p.batch : 0);
}
