// A few rows times a matrix: d (m, n) = a (m, k) b for m up to a handful, where reading b is the whole cost; semantics
// in shared/gemm.h. A workgroup computes TILE_M rows by TILE_N columns of d and cuts k among its invocations, whose
// sums are then added.
//
// Without GEMV_COLUMNS b is (n, k): lanes lie along k, and every invocation sums all TILE_M x TILE_N elements over its
// part of k. With GEMV_COLUMNS b is (k, n) or panels: lanes lie along n first, four columns each, then along k.
// GEMV_SUBGROUP adds within subgroups by subgroup operations before sums go through shared memory; of a subgroup's size
// it assumes only that it is at least 4. TILE_K is how much of k an invocation takes in one step, but no less than a
// load brings. (n, k) is read 16 bytes at a time where rows of a and b begin at such multiples. Other rows that begin
// at multiples of four elements are read in quads, as those of the other layouts are, and all others element by
// element.
//
// Invariants (the registry checks them): all tile parameters and the local size are powers of two, 4 <= TILE_K,
// THREAD_M == TILE_M; without GEMV_COLUMNS 2 <= THREAD_N == TILE_N, with it THREAD_N == 4, and 4 <= TILE_N <= local
// size.
// GATE and NORM (shared/gemm.h) are for (n, k).
// Shared memory: 4 * parts * (SUMS | 1) bytes, parts being the local size; a quarter of it and 1 with GEMV_SUBGROUP;
// 4 * local size / TILE_N with GEMV_COLUMNS.
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
#include "include/vectors.glsl"

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
layout(constant_id = VKF_GEMM_SPEC_GATE) const uint GATE = 0;
layout(constant_id = VKF_GEMM_SPEC_NORM) const uint NORM = VKF_GEMM_NORM_NONE;

layout(set = 0, binding = VKF_BINDING_PARAMS, std140) uniform params_block { vkf_gemm_params p; };
layout(push_constant) uniform offsets_block { uint a_offset, b_offset, d_offset, vectors_offset; };

#ifdef GEMV_COLUMNS
READ_QUADS(TYPE_A, VKF_GEMM_BINDING_A, a)
READ_QUADS(TYPE_B, VKF_GEMM_BINDING_B, b)
#else
READ_ANY_ROWS(TYPE_A, VKF_GEMM_BINDING_A, a)
READ_ANY_ROWS(TYPE_B, VKF_GEMM_BINDING_B, b)
#endif
READ_WRITE(TYPE_D, VKF_GEMM_BINDING_D, d)
READ_ANY_ROWS(TYPE_B, VKF_GEMM_BINDING_BIAS, vectors) // the bias, and the norm's weight and bias

float bias_load(uint col)
{
    return vectors_load(p.bias_first + col);
}

#include "include/few_rows.glsl"

#ifdef GEMV_COLUMNS
const uint STEP = 4; // of k, that an invocation takes at once
#else
const uint STEP = VECTOR_ELEMENTS(TYPE_B);
const uint A_STEP = VECTOR_ELEMENTS(TYPE_A); // STEP, or less
#endif
const uint STEPS = TILE_K > STEP ? TILE_K / STEP : 1; // that are under way together
const uint STRIDE = SUMS | 1; // of the parts in shared memory, against bank conflicts
#ifdef GEMV_COLUMNS
const uint LANES = TILE_N / THREAD_N; // along n
const uint PARTS = LOCAL_SIZE / LANES;
#elif defined(GEMV_SUBGROUP)
const uint PARTS = LOCAL_SIZE / 4 + 1; // at most
#else
const uint PARTS = LOCAL_SIZE;
#endif

// (parts, SUMS): (TILE_M, TILE_N), and (TILE_M) squares with RMS. Before the product what becomes moments of rows.
shared float partial[PARTS * STRIDE];

// The matrices of one entry of the batch. k goes by steps up to steps_end, by quads up to quads_end, and one by one
// from there. The ends are 0 if rows of a or b are not aligned for that.
struct problem {
    uint a, b, d; // first elements
    uint steps_end, quads_end, k_end;
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
    uint a_begins = a_offset | e.a | p.lda, b_begins = b_offset | e.b | p.ldb | b_end;
    if (NORM != 0)
        b_begins |= (vectors_offset + p.norm_weight_first) | (vectors_offset + p.norm_bias_first);
    e.b_quads = b_begins % 4 == 0;
    bool quads = TRANSPOSE_A == 0 && a_begins % 4 == 0 && e.b_quads;
    bool steps = quads && (a_begins | b_begins) % STEP == 0;
    e.quads_end = quads ? e.k_end - e.k_end % 4 : 0;
    e.steps_end = steps ? e.k_end - e.k_end % STEP : 0;
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
    return partial[i];
}

void moment_store(uint i, float value)
{
    partial[i] = value;
}

#include "include/row_moments.glsl"

float sum[OUTPUTS];
float squares[THREAD_M]; // with RMS: the sums of a's

// Four elements of row i on their way into the product; weight and bias are the norm's.
vec4 take_normed(uint i, vec4 value, vec4 weight, vec4 bias)
{
    if (NORM_LAYER)
        return fma(normalised(moments[i], value), weight, bias);
    if (RMS != 0)
        squares[i] += dot(value, value);
    return RMS != 0 ? value * weight : value;
}

void find_row_moments(problem e, uint row)
{
    uint first[THREAD_M];
    [[unroll]] for (uint i = 0; i < THREAD_M; ++i)
        first[i] = e.a + min(row + i, p.m - 1) * p.lda;
    find_moments(first, p.k, ((a_offset | e.a | p.lda) & 3u) == 0u, p.norm_eps);
}

void add_step(problem e, uint row, uint col, uint k)
{
    uvec4 b_vectors[THREAD_N];
    [[unroll]] for (uint j = 0; j < THREAD_N; ++j)
        b_vectors[j] = b_load_vector(e.b + column_of_b(col, j) * p.ldb + k);
    uvec4 weights = NORM != 0 ? vectors_load_vector(p.norm_weight_first + k) : uvec4(0);
    uvec4 biases = NORM_LAYER ? vectors_load_vector(p.norm_bias_first + k) : uvec4(0);
    [[unroll]] for (uint i = 0; i < THREAD_M; ++i) {
        uvec4 a_vectors[STEP / A_STEP];
        [[unroll]] for (uint vector = 0; vector < STEP / A_STEP; ++vector)
            a_vectors[vector] = a_load_vector(e.a + min(row + i, p.m - 1) * p.lda + k + vector * A_STEP);
        [[unroll]] for (uint quad = 0; quad < STEP / 4; ++quad) {
            vec4 a_value = a_quad(a_vectors[4 * quad / A_STEP], quad % (A_STEP / 4));
            a_value = take_normed(i, a_value, vectors_quad(weights, quad), vectors_quad(biases, quad));
            [[unroll]] for (uint j = 0; j < THREAD_N; ++j) {
                vec4 b_value = b_quad(b_vectors[j], quad);
                [[unroll]] for (uint c = 0; c < 4; ++c)
                    sum[i * THREAD_N + j] += a_value[c] * b_value[c];
            }
        }
    }
}

void add_quads(problem e, uint row, uint col, uint k)
{
    vec4 b_values[THREAD_N];
    [[unroll]] for (uint j = 0; j < THREAD_N; ++j)
        b_values[j] = b_load4(e.b + column_of_b(col, j) * p.ldb + k);
    vec4 weight = NORM != 0 ? vectors_load4(p.norm_weight_first + k) : vec4(0.0);
    vec4 bias = NORM_LAYER ? vectors_load4(p.norm_bias_first + k) : vec4(0.0);
    [[unroll]] for (uint i = 0; i < THREAD_M; ++i) {
        vec4 a_value = take_normed(i, load_a4(e, row + i, k), weight, bias);
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
        b_values[j] = b_load(e.b + column_of_b(col, j) * p.ldb + k);
    vec4 weight = vec4(NORM != 0 ? vectors_load(p.norm_weight_first + k) : 0.0);
    vec4 bias = vec4(NORM_LAYER ? vectors_load(p.norm_bias_first + k) : 0.0);
    [[unroll]] for (uint i = 0; i < THREAD_M; ++i) {
        float a_value = take_normed(i, vec4(load_a(e, row + i, k), 0.0, 0.0, 0.0), weight, bias).x;
        [[unroll]] for (uint j = 0; j < THREAD_N; ++j)
            sum[i * THREAD_N + j] += a_value * b_values[j];
    }
}

float own_sum(uint i)
{
    if (RMS != 0 && i >= OUTPUTS)
        return squares[i - OUTPUTS];
    return sum[i];
}

// Neighbouring lanes read neighbouring vectors, or what the alignment allows; the loops end where k does, so that
// nothing beyond it is read.
void multiply(problem e, uint row, uint col)
{
    [[unroll]] for (uint i = 0; i < OUTPUTS; ++i)
        sum[i] = 0.0;
    [[unroll]] for (uint i = 0; i < THREAD_M; ++i)
        squares[i] = 0.0;
    const uint stride = STEP * gl_WorkGroupSize.x;
    uint k = STEP * gl_LocalInvocationID.x;
    for (; k + (STEPS - 1) * stride < e.steps_end; k += STEPS * stride) {
        [[unroll]] for (uint step = 0; step < STEPS; ++step)
            add_step(e, row, col, k + step * stride);
    }
    for (; STEPS > 1 && k < e.steps_end; k += stride)
        add_step(e, row, col, k);
    for (k = e.steps_end + 4 * gl_LocalInvocationID.x; STEP > 4 && k < e.quads_end; k += 4 * gl_WorkGroupSize.x)
        add_quads(e, row, col, k);
    for (k = e.quads_end + gl_LocalInvocationID.x; k < e.k_end; k += gl_WorkGroupSize.x)
        add_single(e, row, col, k);

#ifdef GEMV_SUBGROUP
    [[unroll]] for (uint i = 0; i < SUMS; ++i) {
        float total = subgroupAdd(own_sum(i));
        if (subgroupElect())
            partial[gl_SubgroupID * STRIDE + i] = total;
    }
#else
    [[unroll]] for (uint i = 0; i < SUMS; ++i)
        partial[gl_LocalInvocationID.x * STRIDE + i] = own_sum(i);
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
    const uint stride = STEP * PARTS;
    uint k = STEP * part;
    for (; k + (STEPS - 1) * stride < e.steps_end; k += STEPS * stride) {
        [[unroll]] for (uint step = 0; step < STEPS; ++step)
            add_rows(e, row, col_first, k + step * stride);
    }
    for (; STEPS > 1 && k < e.steps_end; k += stride)
        add_rows(e, row, col_first, k);
    for (k = e.quads_end + part; k < e.k_end; k += PARTS)
        add_single(e, row, col_first, k);
    [[unroll]] for (uint i = 0; i < THREAD_M; ++i) {
        [[unroll]] for (uint c = 0; c < THREAD_N; ++c)
            partial[part * STRIDE + i * TILE_N + THREAD_N * lane + c] = sum[i][c];
    }
}
#endif

float partial_load(uint part, uint i)
{
    return partial[part * STRIDE + i];
}

void partial_store(uint part, uint i, float value)
{
    partial[part * STRIDE + i] = value;
}

#include "include/product_store.glsl"
#include "include/product_parts.glsl"

void main()
{
    for (uint entry = gl_WorkGroupID.z; entry < p.batch; entry += gl_NumWorkGroups.z) {
        problem e = entry_problem(entry);
        uint row = gl_WorkGroupID.y * TILE_M;
#ifndef GEMV_COLUMNS
        if (NORM_LAYER)
            find_row_moments(e, row);
#endif
        for (uint col = gl_WorkGroupID.x * TILE_N; col < p.n; col += gl_NumWorkGroups.x * TILE_N) {
            multiply(e, row, col);
#ifdef GEMV_SUBGROUP
            add_parts(gl_NumSubgroups, 1, e.d, row, col);
#else
            add_parts(PARTS, SEGMENTS, e.d, row, col);
#endif
        }
    }
}
