// General matrix multiply on cooperative matrices of KHR_cooperative_matrix; semantics in shared/gemm.h.
//
// A workgroup computes a TILE_M x TILE_N tile of d, and each of its subgroups a part of SUBGROUP_M x SUBGROUP_N, in
// fragments of FRAGMENT_M x FRAGMENT_N x FRAGMENT_K, a shape that the device lists for these types, subgroup scope and
// float32 results. a has b's type or is float32, which is rounded to b's type on its way into shared memory.
//
// Invariants (the registry checks them): 8 divides every FRAGMENT_*, FRAGMENT_M divides SUBGROUP_M divides TILE_M, the
// same for N, FRAGMENT_K divides TILE_K, 32 divides TILE_N where b lies in panels, the local size is
// (TILE_M / SUBGROUP_M) * (TILE_N / SUBGROUP_N) whole subgroups, and the pool below fits shared memory.
// With HALF_SUMS the products of a tile are summed in matrices of f16, of a shape that the device lists with such
// results, and then added to the float32 sums: TILE_K products at most.
// With B_BLOCKS b is a weight in blocks (shared/blocks.h), which becomes halves on its way into shared memory, where it
// lies as (n, k). TILE_K then divides a block, and a is not transposed.
//
// Grid: x over tiles of n, y over tiles of m, z over the batch. With SPLIT, which kernels with a d in f32 have, z is
// over batch * splits, k is cut into parts of split_k, which TILE_K divides, and d is a compact (splits, batch, m, n)
// of plain sums for gemm_reduce.comp.
//
// Tiles reach shared memory in chunks of eight elements. The next tile's chunks are fetched into registers while this
// tile is multiplied, and shared memory holds two tiles, so that each step of k needs one barrier. A chunk that is
// aligned and inside the matrix is one load of 16 bytes; any other is put together element by element, with clamped
// addresses and zeros outside.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_cooperative_matrix : require
#pragma use_vulkan_memory_model

#ifdef B_BLOCKS
#define TYPE_B f16
#endif

#include "include/storage.glsl"
#include "shared/gemm_coopmat.h"
#include "include/grid.glsl"
#include "include/math.glsl"
#include "include/matrix.glsl"
#include "include/near_tile.glsl"

layout(constant_id = VKF_GEMM_SPEC_TILE_M) const uint TILE_M = 128;
layout(constant_id = VKF_GEMM_SPEC_TILE_N) const uint TILE_N = 128;
layout(constant_id = VKF_GEMM_SPEC_TILE_K) const uint TILE_K = 32;
layout(constant_id = VKF_GEMM_SPEC_THREAD_M) const uint SUBGROUP_M = 64; // a subgroup's rows and columns
layout(constant_id = VKF_GEMM_SPEC_THREAD_N) const uint SUBGROUP_N = 64;
layout(constant_id = VKF_GEMM_SPEC_TRANSPOSE_A) const uint TRANSPOSE_A = 0;
layout(constant_id = VKF_GEMM_SPEC_B_LAYOUT) const uint B_LAYOUT = 0;
layout(constant_id = VKF_GEMM_SPEC_ACTIVATION) const uint ACTIVATION = 0;
layout(constant_id = VKF_GEMM_SPEC_HAS_BIAS) const uint HAS_BIAS = 0;
layout(constant_id = VKF_GEMM_SPEC_ADD_AFTER) const uint ADD_AFTER = 0;
#if SAME_TYPE(TYPE_D, f32)
layout(constant_id = VKF_GEMM_SPEC_SPLIT) const uint SPLIT = 0;
#else
const uint SPLIT = 0;
#endif
layout(constant_id = VKF_GEMM_SPEC_FRAGMENT_M) const uint FRAGMENT_M = 16;
layout(constant_id = VKF_GEMM_SPEC_FRAGMENT_N) const uint FRAGMENT_N = 16;
layout(constant_id = VKF_GEMM_SPEC_FRAGMENT_K) const uint FRAGMENT_K = 16;

layout(set = 0, binding = VKF_BINDING_PARAMS, std140) uniform params_block { vkf_gemm_params p; };
layout(push_constant) uniform offsets_block { uint a_offset, b_offset, d_offset, bias_offset; };

READ_WIDE(VKF_GEMM_BINDING_A, a)
READ_WRITE(TYPE_D, VKF_GEMM_BINDING_D, d)
CHUNKS_OF(TYPE_D, VKF_GEMM_BINDING_D, d)
#ifdef B_BLOCKS
#include "include/blocks.glsl"
#include "include/block_chunks.glsl"
BLOCKS_BIAS(VKF_GEMM_BINDING_BIAS, bias_offset)
octet bias_load8(uint i)
{
    return octet(vec4(bias_load(i), bias_load(i + 1), bias_load(i + 2), bias_load(i + 3)),
                 vec4(bias_load(i + 4), bias_load(i + 5), bias_load(i + 6), bias_load(i + 7)));
}
#define B_CHUNK packed_chunk
#define UNPACK(chunk) unpack_chunk(chunk)
#else
READ_CHUNKS(VKF_GEMM_BINDING_B, b)
READ_CHUNKS(VKF_GEMM_BINDING_BIAS, bias)
octet bias_load8(uint i)
{
    return widen_chunk(bias_fetch(0, 0, 0, i, 1, p.n));
}
#define B_CHUNK uvec4
#define UNPACK(chunk) (chunk)
#endif

const uint FRAGMENTS_M = SUBGROUP_M / FRAGMENT_M;
const uint FRAGMENTS_N = SUBGROUP_N / FRAGMENT_N;
const uint SUBGROUPS_N = TILE_N / SUBGROUP_N;
const uint SUBGROUPS = (TILE_M / SUBGROUP_M) * SUBGROUPS_N;
const uint LANES = gl_WorkGroupSize.x / SUBGROUPS;

// In shared memory, too, a tile's lines run along the dimension that is contiguous in memory. They consist of chunks,
// with one chunk more per line against bank conflicts.
const uint A_LINES = SELECTED(TRANSPOSE_A, TILE_K, TILE_M);
const uint A_LINE_CHUNKS = SELECTED(TRANSPOSE_A, TILE_M, TILE_K) / CHUNK;
const uint A_STRIDE = A_LINE_CHUNKS + 1;
const uint A_CHUNKS = A_LINES * A_LINE_CHUNKS;
#ifdef B_BLOCKS
const uint B_IS_NK = 1;
#else
const uint B_IS_NK = B_LAYOUT * (2 - B_LAYOUT); // 1 for VKF_GEMM_B_NK, 0 for the two others
#endif
const uint B_LINES = SELECTED(B_IS_NK, TILE_N, TILE_K);
const uint B_LINE_CHUNKS = SELECTED(B_IS_NK, TILE_K, TILE_N) / CHUNK;
const uint B_STRIDE = B_LINE_CHUNKS + 1;
const uint B_CHUNKS = B_LINES * B_LINE_CHUNKS;

const uint A_STEPS = (A_CHUNKS + gl_WorkGroupSize.x - 1) / gl_WorkGroupSize.x;
const uint B_STEPS = (B_CHUNKS + gl_WorkGroupSize.x - 1) / gl_WorkGroupSize.x;

// Holds two tiles of a and two of b; after the last of them, FRAGMENT_M x SUBGROUP_N sums for every subgroup.
const uint B_FIRST = A_LINES * A_STRIDE;
const uint STAGE = B_FIRST + B_LINES * B_STRIDE;
const uint SUM_CHUNKS = SUBGROUP_N / CHUNK; // of a line
const uint SUMS_STRIDE = 2 * SUM_CHUNKS + 1;
const uint SUMS = FRAGMENT_M * SUMS_STRIDE;
const uint POOL = LARGER(2 * STAGE, SUBGROUPS * SUMS);
shared uvec4 pool[POOL];

// Where the tiles of a workgroup lie.
struct tile_place {
    uint row; // of d
    uint col;
    uint a_first;
    uint b_first;
    uint d_first;
    uint d_stride; // between rows of d
    uint k_begin;
    uint k_end;
};

// Chunk i of a's tile that begins at depth k.
WIDE_CHUNK fetch_a(tile_place place, uint i, uint k)
{
    uint line = i / A_LINE_CHUNKS;
    uint at = i % A_LINE_CHUNKS * CHUNK;
    if (TRANSPOSE_A != 0)
        return a_fetch(place.a_first, p.lda, k + line, place.row + at, p.k, p.m);
    return a_fetch(place.a_first, p.lda, place.row + line, k + at, p.m, p.k);
}

#ifdef B_BLOCKS
// Neighbouring invocations take neighbouring columns.
uint b_place(uint i)
{
    return i % TILE_N * B_STRIDE + i / TILE_N;
}

packed_chunk fetch_b(tile_place place, uint i, uint k)
{
    return fetch_packed(place.col + i % TILE_N, k + i / TILE_N * CHUNK);
}
#else
uint b_place(uint i)
{
    return i / B_LINE_CHUNKS * B_STRIDE + i % B_LINE_CHUNKS;
}

uvec4 fetch_b(tile_place place, uint i, uint k)
{
    uint line = i / B_LINE_CHUNKS;
    uint at = i % B_LINE_CHUNKS * CHUNK;
    if (B_LAYOUT == VKF_GEMM_B_NK)
        return b_fetch(place.b_first, p.ldb, place.col + line, k + at, p.n, p.k);
    if (B_LAYOUT == VKF_GEMM_B_KN)
        return b_fetch(place.b_first, p.ldb, k + line, place.col + at, p.k, p.n);
    // The panels of b: rows of PANEL elements, whose columns beyond n are zeros.
    uint col = place.col + at;
    if (col >= p.n || k + line >= p.k)
        return uvec4(0);
    uint panel = col / VKF_GEMM_PANEL * p.k;
    return b_fetch(place.b_first, VKF_GEMM_PANEL, panel + k + line, col % VKF_GEMM_PANEL, panel + p.k, VKF_GEMM_PANEL);
}
#endif

void fetch_tiles(tile_place place, uint k, out WIDE_CHUNK a_chunks[A_STEPS], out B_CHUNK b_chunks[B_STEPS])
{
    [[unroll]] for (uint step = 0; step < A_STEPS; ++step) {
        uint i = step * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
        if (A_CHUNKS % gl_WorkGroupSize.x == 0 || i < A_CHUNKS)
            a_chunks[step] = fetch_a(place, i, k);
    }
    [[unroll]] for (uint step = 0; step < B_STEPS; ++step) {
        uint i = step * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
        if (B_CHUNKS % gl_WorkGroupSize.x == 0 || i < B_CHUNKS)
            b_chunks[step] = fetch_b(place, i, k);
    }
}

void keep_tiles(uint stage, WIDE_CHUNK a_chunks[A_STEPS], B_CHUNK b_chunks[B_STEPS])
{
    [[unroll]] for (uint step = 0; step < A_STEPS; ++step) {
        uint i = step * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
        if (A_CHUNKS % gl_WorkGroupSize.x == 0 || i < A_CHUNKS)
            pool[stage + i / A_LINE_CHUNKS * A_STRIDE + i % A_LINE_CHUNKS] = NARROW(a_chunks[step]);
    }
    [[unroll]] for (uint step = 0; step < B_STEPS; ++step) {
        uint i = step * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
        if (B_CHUNKS % gl_WorkGroupSize.x == 0 || i < B_CHUNKS)
            pool[stage + B_FIRST + b_place(i)] = UNPACK(b_chunks[step]);
    }
}

#define A_MATRIX coopmat<ELEMENT, gl_ScopeSubgroup, FRAGMENT_M, FRAGMENT_K, gl_MatrixUseA>
#define B_MATRIX coopmat<ELEMENT, gl_ScopeSubgroup, FRAGMENT_K, FRAGMENT_N, gl_MatrixUseB>
#define SUM_MATRIX coopmat<float, gl_ScopeSubgroup, FRAGMENT_M, FRAGMENT_N, gl_MatrixUseAccumulator>

SUM_MATRIX sums[FRAGMENTS_M * FRAGMENTS_N];

#ifdef HALF_SUMS
#define TILE_SUMS tile_sums
#define TILE_MATRIX coopmat<float16_t, gl_ScopeSubgroup, FRAGMENT_M, FRAGMENT_N, gl_MatrixUseAccumulator>
#else
#define TILE_SUMS sums
#endif

void multiply_tiles(uint stage, uint subgroup_row, uint subgroup_col)
{
#ifdef HALF_SUMS
    TILE_MATRIX tile_sums[FRAGMENTS_M * FRAGMENTS_N];
    [[unroll]] for (uint i = 0; i < FRAGMENTS_M * FRAGMENTS_N; ++i)
        tile_sums[i] = TILE_MATRIX(0.0);
#endif
    [[unroll]] for (uint k = 0; k < TILE_K; k += FRAGMENT_K) {
        A_MATRIX a_matrix[FRAGMENTS_M];
        [[unroll]] for (uint i = 0; i < FRAGMENTS_M; ++i) {
            uint row = subgroup_row + i * FRAGMENT_M;
            if (TRANSPOSE_A != 0)
                coopMatLoad(a_matrix[i], pool, stage + k * A_STRIDE + row / CHUNK, A_STRIDE,
                            gl_CooperativeMatrixLayoutColumnMajor);
            else
                coopMatLoad(a_matrix[i], pool, stage + row * A_STRIDE + k / CHUNK, A_STRIDE,
                            gl_CooperativeMatrixLayoutRowMajor);
        }
        [[unroll]] for (uint j = 0; j < FRAGMENTS_N; ++j) {
            uint col = subgroup_col + j * FRAGMENT_N;
            B_MATRIX b_matrix;
            if (B_IS_NK != 0)
                coopMatLoad(b_matrix, pool, stage + B_FIRST + col * B_STRIDE + k / CHUNK, B_STRIDE,
                            gl_CooperativeMatrixLayoutColumnMajor);
            else
                coopMatLoad(b_matrix, pool, stage + B_FIRST + k * B_STRIDE + col / CHUNK, B_STRIDE,
                            gl_CooperativeMatrixLayoutRowMajor);
            [[unroll]] for (uint i = 0; i < FRAGMENTS_M; ++i)
                TILE_SUMS[i * FRAGMENTS_N + j] = coopMatMulAdd(a_matrix[i], b_matrix, TILE_SUMS[i * FRAGMENTS_N + j]);
        }
    }
#ifdef HALF_SUMS
    [[unroll]] for (uint i = 0; i < FRAGMENTS_M * FRAGMENTS_N; ++i)
        sums[i] += SUM_MATRIX(tile_sums[i]);
#endif
}

#include "include/product_store.glsl"

vec4 finished4(vec4 sums, vec4 held, vec4 bias)
{
    return vec4(finished(sums.x, held.x, bias.x), finished(sums.y, held.y, bias.y),
                finished(sums.z, held.z, bias.z), finished(sums.w, held.w, bias.w));
}

// Stores eight elements of a row, those of columns that d has, from their sums in the pool.
void store_chunk(uint at, uint col, uint from)
{
    if (col + CHUNK <= p.n && d_is_chunk(at)) {
        const octet none = octet(vec4(0.0), vec4(0.0));
        octet held = none, bias = none;
        if (p.beta != 0.0)
            held = d_load8(at);
        if (HAS_BIAS != 0)
            bias = bias_load8(col);
        d_store8(at, octet(finished4(uintBitsToFloat(pool[from]), held.low, bias.low),
                           finished4(uintBitsToFloat(pool[from + 1]), held.high, bias.high)));
        return;
    }
    [[dont_unroll]] for (uint i = 0; i < CHUNK && col + i < p.n; ++i) {
        float sum = uintBitsToFloat(pool[from + i / 4][i % 4]);
        store_element(at + i, col + i, sum);
    }
}

// Stores a row of fragments at a time, through shared memory that belongs to the subgroup alone. The compiler must know
// which of the sums each step stores, or all of them end in memory; and only loops without a loop inside are sure to be
// unrolled.
void store_sums(tile_place place, uint subgroup_row, uint subgroup_col)
{
    uint first = gl_SubgroupID * SUMS;
    [[dont_unroll]] for (uint i = 0; i < FRAGMENTS_M; ++i) {
        [[unroll]] for (uint f = 0; f < FRAGMENTS_M * FRAGMENTS_N; ++f) {
            if (f / FRAGMENTS_N == i)
                coopMatStore(sums[f], pool, first + f % FRAGMENTS_N * FRAGMENT_N / 4, SUMS_STRIDE,
                             gl_CooperativeMatrixLayoutRowMajor);
        }
        subgroupBarrier();
        for (uint c = LANE; c < FRAGMENT_M * SUM_CHUNKS; c += LANES) {
            uint line = c / SUM_CHUNKS;
            uint at = c % SUM_CHUNKS;
            uint row = place.row + subgroup_row + i * FRAGMENT_M + line;
            uint col = place.col + subgroup_col + at * CHUNK;
            if (row < p.m)
                store_chunk(place.d_first + row * place.d_stride + col, col, first + line * SUMS_STRIDE + 2 * at);
        }
        subgroupBarrier();
    }
}

#if SAME_TYPE(TYPE_D, f32)
// Whether a subgroup's part of d lies inside, and rows begin where matrices may be stored: at multiples of 16 bytes.
bool can_store_matrices(tile_place place, uint subgroup_row, uint subgroup_col)
{
    return place.row + subgroup_row + SUBGROUP_M <= p.m && place.col + subgroup_col + SUBGROUP_N <= p.n &&
           ((d_offset | place.d_first | place.d_stride) & 3u) == 0u;
}

// Plain sums need no epilogue.
void store_matrices(tile_place place, uint subgroup_row, uint subgroup_col)
{
    uint first = d_offset + place.d_first + (place.row + subgroup_row) * place.d_stride + place.col + subgroup_col;
    [[unroll]] for (uint f = 0; f < FRAGMENTS_M * FRAGMENTS_N; ++f)
        coopMatStore(sums[f], d_data,
                     first + f / FRAGMENTS_N * FRAGMENT_M * place.d_stride + f % FRAGMENTS_N * FRAGMENT_N,
                     place.d_stride, gl_CooperativeMatrixLayoutRowMajor);
}
#endif

void store_tile(tile_place place, uint subgroup_row, uint subgroup_col)
{
#if SAME_TYPE(TYPE_D, f32)
    if (SPLIT != 0 && can_store_matrices(place, subgroup_row, subgroup_col)) {
        store_matrices(place, subgroup_row, subgroup_col);
        return;
    }
#endif
    store_sums(place, subgroup_row, subgroup_col);
}

tile_place place_of(uint entry, uint split, uvec2 tile)
{
    uint outer = entry / p.batch_inner;
    uint inner = entry % p.batch_inner;
    tile_place place;
    place.row = tile.y * TILE_M;
    place.col = tile.x * TILE_N;
    place.a_first = p.a_first + outer * p.a_outer + inner * p.a_inner;
    place.b_first = outer * p.b_outer + inner * p.b_inner;
    place.d_first = SPLIT != 0 ? (split * p.batch + entry) * p.m * p.n
                               : p.d_first + outer * p.d_outer + inner * p.d_inner;
    place.d_stride = SPLIT != 0 ? p.n : p.ldd;
    place.k_begin = SPLIT != 0 ? split * p.split_k : 0;
    place.k_end = SPLIT != 0 ? min(p.k, place.k_begin + p.split_k) : p.k;
    if (p.alpha == 0.0)
        place.k_end = 0; // gives 0, whatever a and b hold
    return place;
}

void multiply_place(tile_place place)
{
    uint subgroup_row = gl_SubgroupID / SUBGROUPS_N * SUBGROUP_M;
    uint subgroup_col = gl_SubgroupID % SUBGROUPS_N * SUBGROUP_N;

    [[unroll]] for (uint i = 0; i < FRAGMENTS_M * FRAGMENTS_N; ++i)
        sums[i] = SUM_MATRIX(0.0);

    WIDE_CHUNK a_chunks[A_STEPS];
    B_CHUNK b_chunks[B_STEPS];
    uint stage = 0;
    if (place.k_begin < place.k_end) {
        fetch_tiles(place, place.k_begin, a_chunks, b_chunks);
        keep_tiles(stage, a_chunks, b_chunks);
    }
    barrier();
    for (uint k = place.k_begin; k < place.k_end; k += TILE_K) {
        bool more = k + TILE_K < place.k_end;
        if (more)
            fetch_tiles(place, k + TILE_K, a_chunks, b_chunks);
        multiply_tiles(stage, subgroup_row, subgroup_col);
        stage = STAGE - stage;
        if (more)
            keep_tiles(stage, a_chunks, b_chunks);
        barrier();
    }
    store_tile(place, subgroup_row, subgroup_col);
    barrier();
}

void main()
{
    uvec2 tile = near_tile();
    uint entries = SPLIT != 0 ? p.batch * p.splits : p.batch;
    for (uint z = gl_WorkGroupID.z; z < entries; z += gl_NumWorkGroups.z)
        multiply_place(place_of(SPLIT != 0 ? z % p.batch : z, SPLIT != 0 ? z / p.batch : 0, tile));
}
