// A few rows times a matrix: d (m, n) = a (m, k) b for m up to a handful, where reading b is the whole cost; semantics
// in shared/gemm.h. A workgroup computes TILE_M rows by TILE_N columns of d and cuts k among its invocations, whose
// sums are then added.
//
// Without GEMV_COLUMNS b is (n, k): lanes lie along k, and every invocation sums all TILE_M x TILE_N elements over its
// part of k. With GEMV_COLUMNS b is (k, n) or panels: lanes lie along n first, four columns each, then along k.
// GEMV_SUBGROUP adds within subgroups by subgroup operations before sums go through shared memory; of a subgroup's size
// it assumes only that it is at least 4. TILE_K is how much of k an invocation takes in one step. Rows of a and b that
// begin at multiples of four elements are read in quads, all others element by element.
//
// Invariants (the registry checks them): all tile parameters and the local size are powers of two, 4 <= TILE_K,
// THREAD_M == TILE_M; without GEMV_COLUMNS THREAD_N == TILE_N, with it THREAD_N == 4, and 4 <= TILE_N <= local size.
// Shared memory: 4 * parts * ((TILE_M * TILE_N) | 1) bytes, parts being the local size; a quarter of it and 1 with
// GEMV_SUBGROUP; 4 * local size / TILE_N with GEMV_COLUMNS.
// Grid: x over blocks of TILE_N columns (fewer workgroups take several), y over blocks of TILE_M rows, z over the
// batch.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#ifdef GEMV_SUBGROUP
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#endif

#include "include/storage.glsl"
#include "shared/gemm.h"
#include "include/grid.glsl"
#include "include/local_size.glsl"
#include "include/math.glsl"

layout(constant_id = VKF_GEMM_SPEC_TILE_M) const uint TILE_M = 1;
layout(constant_id = VKF_GEMM_SPEC_TILE_N) const uint TILE_N = 4;
layout(constant_id = VKF_GEMM_SPEC_TILE_K) const uint TILE_K = 8;
layout(constant_id = VKF_GEMM_SPEC_THREAD_M) const uint THREAD_M = 1;
layout(constant_id = VKF_GEMM_SPEC_THREAD_N) const uint THREAD_N = 4;
layout(constant_id = VKF_GEMM_SPEC_TRANSPOSE_A) const uint TRANSPOSE_A = 0;
layout(constant_id = VKF_GEMM_SPEC_B_LAYOUT) const uint B_LAYOUT = VKF_GEMM_B_NK;
layout(constant_id = VKF_GEMM_SPEC_ACTIVATION) const uint ACTIVATION = 0;
layout(constant_id = VKF_GEMM_SPEC_HAS_BIAS) const uint HAS_BIAS = 0;
layout(constant_id = VKF_GEMM_SPEC_ADD_AFTER) const uint ADD_AFTER = 0;

layout(set = 0, binding = VKF_BINDING_PARAMS, std140) uniform params_block { vkf_gemm_params p; };
layout(push_constant) uniform offsets_block { uint a_offset, b_offset, d_offset, bias_offset; };

READ_QUADS(TYPE_A, VKF_GEMM_BINDING_A, a)
READ_QUADS(TYPE_B, VKF_GEMM_BINDING_B, b)
READ_WRITE(TYPE_D, VKF_GEMM_BINDING_D, d)
READ(TYPE_B, VKF_GEMM_BINDING_BIAS, bias)

const uint QUADS = TILE_K / 4; // that an invocation takes in one step
const uint OUTPUTS = TILE_M * TILE_N;
const uint STRIDE = OUTPUTS | 1; // of the parts in shared memory, against bank conflicts
#ifdef GEMV_COLUMNS
const uint LANES = TILE_N / THREAD_N; // along n
const uint PARTS = LOCAL_SIZE / LANES;
#elif defined(GEMV_SUBGROUP)
const uint PARTS = LOCAL_SIZE / 4 + 1; // at most
#else
const uint PARTS = LOCAL_SIZE;
#endif
const uint SEGMENTS = LOCAL_SIZE > OUTPUTS ? LOCAL_SIZE / OUTPUTS : 1;

shared float partial[PARTS * STRIDE]; // (parts, TILE_M, TILE_N)

// The matrices of one entry of the batch. k goes by quads up to quads_end, and one by one from there; quads_end is 0 if
// quads of a or b are not aligned.
struct problem {
    uint a, b, d; // first elements
    uint quads_end, k_end;
    bool b_quads;
};

problem entry_problem(uint entry)
{
    problem e;
    uint outer = entry / p.batch_inner;
    uint inner = entry % p.batch_inner;
    e.a = p.a_first + outer * p.a_outer + inner * p.a_inner;
    e.b = outer * p.b_outer + inner * p.b_inner;
    e.d = p.d_first + outer * p.d_outer + inner * p.d_inner;
    e.k_end = p.alpha != 0.0 ? p.k : 0; // alpha 0 gives 0, whatever a and b hold
    uint b_end = B_LAYOUT == VKF_GEMM_B_KN ? p.n : 0;
    e.b_quads = ((b_offset | e.b | p.ldb | b_end) & 3u) == 0u;
    bool a_quads = TRANSPOSE_A == 0 && ((a_offset | e.a | p.lda) & 3u) == 0u;
    e.quads_end = a_quads && e.b_quads ? e.k_end - e.k_end % 4 : 0;
    return e;
}

float load_a(problem e, uint row, uint k)
{
    uint m = min(row, p.m - 1);
    return a_load(e.a + (TRANSPOSE_A != 0 ? k * p.lda + m : m * p.lda + k));
}

// a[row, k .. k + 3]
vec4 load_a4(problem e, uint row, uint k)
{
    return a_load4(e.a + min(row, p.m - 1) * p.lda + k);
}

#ifndef GEMV_COLUMNS
float sum[OUTPUTS];

void add_quads(problem e, uint row, uint col, uint k)
{
    vec4 b_values[THREAD_N];
    [[unroll]] for (uint j = 0; j < THREAD_N; ++j)
        b_values[j] = b_load4(e.b + min(col + j, p.n - 1) * p.ldb + k);
    [[unroll]] for (uint i = 0; i < THREAD_M; ++i) {
        vec4 a_value = load_a4(e, row + i, k);
        [[unroll]] for (uint j = 0; j < THREAD_N; ++j) {
            [[unroll]] for (uint c = 0; c < 4; ++c)
                sum[i * THREAD_N + j] += a_value[c] * b_values[j][c];
        }
    }
}

void add_single(problem e, uint row, uint col, uint k)
{
    float b_values[THREAD_N];
    [[unroll]] for (uint j = 0; j < THREAD_N; ++j)
        b_values[j] = b_load(e.b + min(col + j, p.n - 1) * p.ldb + k);
    [[unroll]] for (uint i = 0; i < THREAD_M; ++i) {
        float a_value = load_a(e, row + i, k);
        [[unroll]] for (uint j = 0; j < THREAD_N; ++j)
            sum[i * THREAD_N + j] += a_value * b_values[j];
    }
}

// Neighbouring lanes read neighbouring quads, or elements where quads are not aligned; the loops end where k does, so
// that nothing beyond it is read.
void multiply(problem e, uint row, uint col)
{
    [[unroll]] for (uint i = 0; i < OUTPUTS; ++i)
        sum[i] = 0.0;
    const uint step = 4 * gl_WorkGroupSize.x;
    uint k = 4 * gl_LocalInvocationID.x;
    for (; k + (QUADS - 1) * step < e.quads_end; k += QUADS * step) {
        [[unroll]] for (uint q = 0; q < QUADS; ++q)
            add_quads(e, row, col, k + q * step);
    }
    for (; QUADS > 1 && k < e.quads_end; k += step)
        add_quads(e, row, col, k);
    for (k = e.quads_end + gl_LocalInvocationID.x; k < e.k_end; k += gl_WorkGroupSize.x)
        add_single(e, row, col, k);

#ifdef GEMV_SUBGROUP
    [[unroll]] for (uint i = 0; i < OUTPUTS; ++i) {
        float total = subgroupAdd(sum[i]);
        if (subgroupElect())
            partial[gl_SubgroupID * STRIDE + i] = total;
    }
#else
    [[unroll]] for (uint i = 0; i < OUTPUTS; ++i)
        partial[gl_LocalInvocationID.x * STRIDE + i] = sum[i];
#endif
}
#else
vec4 sum[THREAD_M];

uint b_index(uint col, uint k)
{
    if (B_LAYOUT == VKF_GEMM_B_PANELS)
        return col / VKF_GEMM_PANEL * p.ldb + k * VKF_GEMM_PANEL + col % VKF_GEMM_PANEL;
    return B_LAYOUT == VKF_GEMM_B_NK ? col * p.ldb + k : k * p.ldb + col;
}

// b[k, col .. col + 3]; columns beyond n may hold anything.
vec4 load_b4(problem e, uint col, uint k)
{
    uint n_end = B_LAYOUT == VKF_GEMM_B_PANELS ? (p.n + VKF_GEMM_PANEL - 1) / VKF_GEMM_PANEL * VKF_GEMM_PANEL : p.n;
    return b_load4(e.b + b_index(min(col, n_end - 4), k));
}

void add_single(problem e, uint row, uint col, uint k)
{
    vec4 b_value;
    if (e.b_quads) {
        b_value = load_b4(e, col, k);
    } else {
        [[unroll]] for (uint c = 0; c < 4; ++c)
            b_value[c] = b_load(e.b + b_index(min(col + c, p.n - 1), k));
    }
    [[unroll]] for (uint i = 0; i < THREAD_M; ++i)
        sum[i] += load_a(e, row + i, k) * b_value;
}

void add_rows(problem e, uint row, uint col, uint k)
{
    vec4 b_values[4];
    [[unroll]] for (uint c = 0; c < 4; ++c)
        b_values[c] = load_b4(e, col, k + c);
    [[unroll]] for (uint i = 0; i < THREAD_M; ++i) {
        vec4 a_value = load_a4(e, row + i, k);
        [[unroll]] for (uint c = 0; c < 4; ++c)
            sum[i] += a_value[c] * b_values[c];
    }
}

void multiply(problem e, uint row, uint col)
{
    uint lane = gl_LocalInvocationID.x % LANES;
    uint part = gl_LocalInvocationID.x / LANES;
    uint col_first = col + THREAD_N * lane;
    [[unroll]] for (uint i = 0; i < THREAD_M; ++i)
        sum[i] = vec4(0.0);
    const uint step = 4 * PARTS;
    uint k = 4 * part;
    for (; k + (QUADS - 1) * step < e.quads_end; k += QUADS * step) {
        [[unroll]] for (uint q = 0; q < QUADS; ++q)
            add_rows(e, row, col_first, k + q * step);
    }
    for (; QUADS > 1 && k < e.quads_end; k += step)
        add_rows(e, row, col_first, k);
    for (k = e.quads_end + part; k < e.k_end; k += PARTS)
        add_single(e, row, col_first, k);
    [[unroll]] for (uint i = 0; i < THREAD_M; ++i) {
        [[unroll]] for (uint c = 0; c < THREAD_N; ++c)
            partial[part * STRIDE + i * TILE_N + THREAD_N * lane + c] = sum[i][c];
    }
}
#endif

#include "include/product_store.glsl"

// Adds the parts of each output: `segments` invocations per output each add every segments-th part, and one of them
// adds their results.
void finish(problem e, uint row_first, uint col_first)
{
#ifdef GEMV_SUBGROUP
    const uint segments = 1;
    uint parts = gl_NumSubgroups;
#else
    const uint segments = SEGMENTS;
    uint parts = PARTS;
#endif
    barrier();
    if (segments > 1) {
        // This invocation alone reads the place that it writes.
        uint first = gl_LocalInvocationID.x % segments * STRIDE + gl_LocalInvocationID.x / segments;
        float total = 0.0;
        for (uint part = gl_LocalInvocationID.x % segments; part < parts; part += segments)
            total += partial[part * STRIDE + gl_LocalInvocationID.x / segments];
        partial[first] = total;
        parts = segments;
        barrier();
    }
    for (uint i = gl_LocalInvocationID.x; i < OUTPUTS; i += gl_WorkGroupSize.x) {
        float total = 0.0;
        for (uint part = 0; part < parts; ++part)
            total += partial[part * STRIDE + i];
        uint row = row_first + i / TILE_N;
        uint col = col_first + i % TILE_N;
        if (row < p.m && col < p.n)
            store_element(e.d + row * p.ldd + col, col, total);
    }
    barrier();
}

void main()
{
    for (uint entry = gl_WorkGroupID.z; entry < p.batch; entry += gl_NumWorkGroups.z) {
        problem e = entry_problem(entry);
        uint row = gl_WorkGroupID.y * TILE_M;
        for (uint col = gl_WorkGroupID.x * TILE_N; col < p.n; col += gl_NumWorkGroups.x * TILE_N) {
            multiply(e, row, col);
            finish(e, row, col);
        }
    }
}
