// General matrix multiply with sums of short runs in f16, through tiles in shared memory; semantics in shared/gemm.h.
// It is for devices that multiply halves faster than floats, and for problems that VKF_PRECISION_F16_SUMS allows it to.
//
// a is rounded to halves on its way into shared memory, where four neighbours along k lie in a vector. An invocation
// sums the products of even k in one half of a vector and those of odd k in the other, and adds both to its float32
// sums once per tile: each is a run of TILE_K / 2 products. So what a run loses does not grow with k.
//
// With B_BLOCKS b is a weight in blocks (shared/blocks.h), which becomes halves on its way into shared memory. TILE_K
// then divides a block.
//
// An invocation's rows lie GROUP_M apart, and its columns GROUP_N, so that neighbours read neighbouring vectors.
// Otherwise workgroups, layouts, SPLIT and the grid are those of gemm_tile.comp.
// Invariants (the registry checks them): 4 divides TILE_M and TILE_N, 8 divides TILE_K, which is at most
// 2 * VKF_GEMM_HALF_RUN, THREAD_M divides TILE_M, THREAD_N divides TILE_N, the local size is
// (TILE_M / THREAD_M) * (TILE_N / THREAD_N), and 2 * TILE_K * (TILE_M + TILE_N + 4) bytes of shared memory exist.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require

#include "include/storage.glsl"
#include "shared/gemm.h"
#include "include/grid.glsl"
#include "include/math.glsl"

layout(constant_id = VKF_GEMM_SPEC_TILE_M) const uint TILE_M = 64;
layout(constant_id = VKF_GEMM_SPEC_TILE_N) const uint TILE_N = 64;
layout(constant_id = VKF_GEMM_SPEC_TILE_K) const uint TILE_K = 32;
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
const uint CHUNK = 8;
#include "include/blocks.glsl"
BLOCKS_BIAS(VKF_GEMM_BINDING_BIAS, bias_offset)
#include "include/block_chunks.glsl"
#else
READ_QUADS(TYPE_B, VKF_GEMM_BINDING_B, b)
READ(TYPE_B, VKF_GEMM_BINDING_BIAS, bias)
#endif

// name_quad(i): what name_load4(i) loads, as halves; those of f16 keep their bits.
#define QUAD f16vec4
#define QUAD_ELEMENT float16_t
#define HALF_QUADS(type, name) HALF_QUADS_EXPAND(type, name)
#define HALF_QUADS_EXPAND(type, name) HALF_QUADS_##type(name)
#define HALF_QUADS_f32(name) \
    f16vec4 name##_quad(uint i) { return f16vec4(name##_load4(i)); }
#define HALF_QUADS_f16(name)                                                         \
    f16vec4 name##_quad(uint i)                                                      \
    {                                                                                \
        uvec2 words = name##_data[(name##_offset + i) >> 2];                         \
        return f16vec4(unpackFloat2x16(words.x), unpackFloat2x16(words.y));          \
    }
HALF_QUADS(TYPE_A, a)
#ifndef B_BLOCKS
HALF_QUADS(TYPE_B, b)
#endif

const uint GROUP_M = TILE_M / THREAD_M; // invocations along m
const uint GROUP_N = TILE_N / THREAD_N;
const uint LOCAL_SIZE = GROUP_M * GROUP_N;
const uint QUADS = TILE_K / 4;    // of a row or column in a tile
const uint UNROLL_QUADS = 2;      // divides QUADS
const uint A_STRIDE = TILE_M + 2; // in quads, padded against bank conflicts
const uint B_STRIDE = TILE_N + 2;

shared f16vec4 a_tile[QUADS * A_STRIDE]; // (QUADS, TILE_M)
shared f16vec4 b_tile[QUADS * B_STRIDE]; // (QUADS, TILE_N)

#include "include/tile_quads.glsl"

// A step fetches a quad of halves along k, or else four lines at each of four depths, which are four quads.
const uint A_LINES = A_ALONG_K ? 1 : 4;
const uint A_PARTS = TILE_M * QUADS / A_LINES;
const uint A_STEPS = STEPS_OF(A_PARTS);
f16vec4 a_lines[A_STEPS * A_LINES]; // what an invocation fetched of a

// The place of a step in the tile: x across k, y along k.
uvec2 step_place(bool along_k, uint step, uint tile)
{
    uint i = step_number(step);
    if (along_k)
        return uvec2(i / QUADS, i % QUADS * 4);
    return uvec2(i % (tile / 4) * 4, i / (tile / 4) * 4);
}

void fetch_a_tile(uint reading, uint first, uint row_first, uint k_first, uint k_end)
{
    [[unroll]] for (uint step = 0; step < A_STEPS; ++step) {
        uvec2 place = step_place(A_ALONG_K, step, TILE_M);
        [[unroll]] for (uint c = 0; c < A_LINES && has_step(step, A_PARTS); ++c)
            a_lines[step * A_LINES + c] = fetch_a(reading, first, row_first + place.x, k_first + place.y + c, k_end);
    }
}

void store_a_tile()
{
    [[unroll]] for (uint step = 0; step < A_STEPS; ++step) {
        uvec2 place = step_place(A_ALONG_K, step, TILE_M);
        uint at = place.y / 4 * A_STRIDE + place.x, line = step * A_LINES;
        [[unroll]] for (uint c = 0; c < A_LINES && has_step(step, A_PARTS); ++c)
            a_tile[at + c] = A_ALONG_K ? a_lines[line]
                                       : f16vec4(a_lines[line][c], a_lines[line + 1][c], a_lines[line + 2][c],
                                                 a_lines[line + 3][c]);
    }
}

#ifdef B_BLOCKS
// A step takes eight elements of a column; neighbouring invocations take neighbouring columns.
const uint B_LINES = CHUNK / 4;
const uint B_PARTS = TILE_N * QUADS / B_LINES;
const uint B_STEPS = STEPS_OF(B_PARTS);
packed_chunk b_chunks[B_STEPS];

uvec2 chunk_place(uint step)
{
    return uvec2(step_number(step) % TILE_N, step_number(step) / TILE_N * CHUNK);
}

void fetch_b_tile(uint col_first, uint k_first)
{
    [[unroll]] for (uint step = 0; step < B_STEPS; ++step) {
        uvec2 place = chunk_place(step);
        if (has_step(step, B_PARTS))
            b_chunks[step] = fetch_packed(col_first + place.x, k_first + place.y);
    }
}

f16vec4 quad_of(uvec2 words)
{
    return f16vec4(unpackFloat2x16(words.x), unpackFloat2x16(words.y));
}

void store_b_tile()
{
    [[unroll]] for (uint step = 0; step < B_STEPS; ++step) {
        uvec2 place = chunk_place(step);
        uint at = place.y / 4 * B_STRIDE + place.x;
        if (has_step(step, B_PARTS)) {
            uvec4 halves = unpack_chunk(b_chunks[step]);
            b_tile[at] = quad_of(halves.xy);
            b_tile[at + B_STRIDE] = quad_of(halves.zw);
        }
    }
}
#else
const uint B_LINES = B_ALONG_K ? 1 : 4;
const uint B_PARTS = TILE_N * QUADS / B_LINES;
const uint B_STEPS = STEPS_OF(B_PARTS);
f16vec4 b_lines[B_STEPS * B_LINES];

void fetch_b_tile(uint reading, uint first, uint col_first, uint k_first, uint k_end)
{
    [[unroll]] for (uint step = 0; step < B_STEPS; ++step) {
        uvec2 place = step_place(B_ALONG_K, step, TILE_N);
        [[unroll]] for (uint c = 0; c < B_LINES && has_step(step, B_PARTS); ++c)
            b_lines[step * B_LINES + c] = fetch_b(reading, first, col_first + place.x, k_first + place.y + c, k_end);
    }
}

void store_b_tile()
{
    [[unroll]] for (uint step = 0; step < B_STEPS; ++step) {
        uvec2 place = step_place(B_ALONG_K, step, TILE_N);
        uint at = place.y / 4 * B_STRIDE + place.x, line = step * B_LINES;
        [[unroll]] for (uint c = 0; c < B_LINES && has_step(step, B_PARTS); ++c)
            b_tile[at + c] = B_ALONG_K ? b_lines[line]
                                       : f16vec4(b_lines[line][c], b_lines[line + 1][c], b_lines[line + 2][c],
                                                 b_lines[line + 3][c]);
    }
}

#endif

uint tile_row(uint i)
{
    return i * GROUP_M + gl_LocalInvocationID.x / GROUP_N;
}

uint tile_col(uint j)
{
    return j * GROUP_N + gl_LocalInvocationID.x % GROUP_N;
}

#include "include/product_store.glsl"

float sum[THREAD_M * THREAD_N];

// Adds the products of the tiles in shared memory to the sums.
void multiply_tiles()
{
    f16vec2 part[THREAD_M * THREAD_N]; // of even k, of odd k
    [[unroll]] for (uint i = 0; i < THREAD_M * THREAD_N; ++i)
        part[i] = f16vec2(0.0);
    [[dont_unroll]] for (uint block = 0; block < QUADS; block += UNROLL_QUADS) {
        [[unroll]] for (uint step = 0; step < UNROLL_QUADS; ++step) {
            uint quad = block + step;
            f16vec4 b_quads[THREAD_N];
            [[unroll]] for (uint j = 0; j < THREAD_N; ++j)
                b_quads[j] = b_tile[quad * B_STRIDE + tile_col(j)];
            [[unroll]] for (uint i = 0; i < THREAD_M; ++i) {
                f16vec4 a_quad = a_tile[quad * A_STRIDE + tile_row(i)];
                [[unroll]] for (uint j = 0; j < THREAD_N; ++j) {
                    part[i * THREAD_N + j] += a_quad.xy * b_quads[j].xy;
                    part[i * THREAD_N + j] += a_quad.zw * b_quads[j].zw;
                }
            }
        }
    }
    [[unroll]] for (uint i = 0; i < THREAD_M * THREAD_N; ++i)
        sum[i] += float(part[i].x) + float(part[i].y);
}

void multiply_entry(uint entry, uint split)
{
    uint outer = entry / p.batch_inner;
    uint inner = entry % p.batch_inner;
    uint a_first = p.a_first + outer * p.a_outer + inner * p.a_inner;
    uint d_first = p.d_first + outer * p.d_outer + inner * p.d_inner;
    uint row_first = gl_WorkGroupID.y * TILE_M;
    uint col_first = gl_WorkGroupID.x * TILE_N;

    [[unroll]] for (uint i = 0; i < THREAD_M * THREAD_N; ++i)
        sum[i] = 0.0;

    uint k_begin = SPLIT != 0 ? split * p.split_k : 0;
    uint k_end = SPLIT != 0 ? min(p.k, k_begin + p.split_k) : p.k;
    if (p.alpha == 0.0)
        k_end = 0; // gives 0, whatever a and b hold
    bool a_quads = can_read_quads(a_offset, a_first, p.lda, TRANSPOSE_A != 0 ? p.m : k_end, k_begin);
#ifndef B_BLOCKS
    uint b_first = outer * p.b_outer + inner * p.b_inner;
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
#else
        if (a_quads && b_quads && inside) {
            fetch_a_tile(READ_QUADS_INSIDE, a_first, row_first, k_first, k_end);
            fetch_b_tile(READ_QUADS_INSIDE, b_first, col_first, k_first, k_end);
        } else {
            fetch_a_tile(reading_of(a_quads), a_first, row_first, k_first, k_end);
            fetch_b_tile(reading_of(b_quads), b_first, col_first, k_first, k_end);
        }
#endif
        store_a_tile();
        store_b_tile();
        barrier();
        multiply_tiles();
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
