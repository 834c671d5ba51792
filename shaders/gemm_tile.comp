// General matrix multiply through tiles in shared memory; semantics in shared/gemm.h.
//
// A workgroup computes a TILE_M x TILE_N tile of d, an invocation THREAD_M x THREAD_N elements of it that lie GROUP_M
// rows and GROUP_N columns apart, so that neighbouring invocations touch neighbouring columns.
// Invariants (the registry checks them): 4 divides TILE_K, THREAD_M divides TILE_M, THREAD_N divides TILE_N, the local size is
// (TILE_M / THREAD_M) * (TILE_N / THREAD_N), and 4 * TILE_K * (TILE_M + TILE_N + 2) bytes of shared memory exist.
// Grid: x over tiles of n, y over tiles of m, z over the batch.
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
layout(constant_id = VKF_GEMM_SPEC_TRANSPOSE_B) const uint TRANSPOSE_B = 0;
layout(constant_id = VKF_GEMM_SPEC_ACTIVATION) const uint ACTIVATION = 0;
layout(constant_id = VKF_GEMM_SPEC_HAS_BIAS) const uint HAS_BIAS = 0;
layout(constant_id = VKF_GEMM_SPEC_ADD_AFTER) const uint ADD_AFTER = 0;

layout(set = 0, binding = VKF_BINDING_PARAMS, std140) uniform params_block { vkf_gemm_params p; };
layout(push_constant) uniform offsets_block { uint a_offset, b_offset, d_offset, bias_offset; };

READ(TYPE_A, VKF_GEMM_BINDING_A, a)
READ(TYPE_B, VKF_GEMM_BINDING_B, b)
READ_WRITE(TYPE_D, VKF_GEMM_BINDING_D, d)
READ(TYPE_B, VKF_GEMM_BINDING_BIAS, bias)

const uint GROUP_M = TILE_M / THREAD_M; // invocations along m
const uint GROUP_N = TILE_N / THREAD_N;
const uint LOCAL_SIZE = GROUP_M * GROUP_N;
const uint A_COUNT = TILE_M * TILE_K; // elements of a tile
const uint B_COUNT = TILE_N * TILE_K;
const uint UNROLL_K = 4; // divides TILE_K
const uint A_STRIDE = TILE_M + 1; // padded against bank conflicts
const uint B_STRIDE = TILE_N + 1;

shared float a_tile[TILE_K * A_STRIDE]; // (TILE_K, TILE_M)
shared float b_tile[TILE_K * B_STRIDE]; // (TILE_K, TILE_N)

// Both loaders walk the tile along the dimension that is contiguous in memory. Addresses are clamped into the matrix,
// and what lies outside becomes zero by selection, never by multiplication: 0 * NaN is NaN.
void load_a_tile(uint first, uint row_first, uint k_first)
{
    [[unroll]] for (uint step = 0; step < (A_COUNT + LOCAL_SIZE - 1) / LOCAL_SIZE; ++step) {
        uint i = step * LOCAL_SIZE + gl_LocalInvocationID.x;
        uint row = TRANSPOSE_A != 0 ? i % TILE_M : i / TILE_K;
        uint depth = TRANSPOSE_A != 0 ? i / TILE_M : i % TILE_K;
        uint m = min(row_first + row, p.m - 1);
        uint k = min(k_first + depth, p.k - 1);
        float value = a_load(first + (TRANSPOSE_A != 0 ? k * p.lda + m : m * p.lda + k));
        bool inside = row_first + row < p.m && k_first + depth < p.k;
        if (A_COUNT % LOCAL_SIZE == 0 || i < A_COUNT)
            a_tile[depth * A_STRIDE + row] = inside ? value : 0.0;
    }
}

void load_b_tile(uint first, uint col_first, uint k_first)
{
    [[unroll]] for (uint step = 0; step < (B_COUNT + LOCAL_SIZE - 1) / LOCAL_SIZE; ++step) {
        uint i = step * LOCAL_SIZE + gl_LocalInvocationID.x;
        uint col = TRANSPOSE_B != 0 ? i / TILE_K : i % TILE_N;
        uint depth = TRANSPOSE_B != 0 ? i % TILE_K : i / TILE_N;
        uint n = min(col_first + col, p.n - 1);
        uint k = min(k_first + depth, p.k - 1);
        float value = b_load(first + (TRANSPOSE_B != 0 ? n * p.ldb + k : k * p.ldb + n));
        bool inside = col_first + col < p.n && k_first + depth < p.k;
        if (B_COUNT % LOCAL_SIZE == 0 || i < B_COUNT)
            b_tile[depth * B_STRIDE + col] = inside ? value : 0.0;
    }
}

void store_element(uint at, uint col, float sum)
{
    float value = p.alpha * sum;
    if (ADD_AFTER == 0 && p.beta != 0.0)
        value += p.beta * d_load(at);
    if (HAS_BIAS != 0)
        value += bias_load(col);
    value = activate(ACTIVATION, value);
    if (ADD_AFTER != 0 && p.beta != 0.0)
        value += p.beta * d_load(at);
    d_store(at, value);
}

void multiply_entry(uint entry)
{
    uint outer = entry / p.batch_inner;
    uint inner = entry % p.batch_inner;
    uint a_first = p.a_first + outer * p.a_outer + inner * p.a_inner;
    uint b_first = outer * p.b_outer + inner * p.b_inner;
    uint d_first = p.d_first + outer * p.d_outer + inner * p.d_inner;
    uint row_first = gl_WorkGroupID.y * TILE_M;
    uint col_first = gl_WorkGroupID.x * TILE_N;
    uint thread_row = gl_LocalInvocationID.x / GROUP_N;
    uint thread_col = gl_LocalInvocationID.x % GROUP_N;

    float sum[THREAD_M * THREAD_N];
    [[unroll]] for (uint i = 0; i < THREAD_M * THREAD_N; ++i)
        sum[i] = 0.0;

    uint k_end = p.alpha != 0.0 ? p.k : 0; // alpha 0 gives 0, whatever a and b hold
    for (uint k_first = 0; k_first < k_end; k_first += TILE_K) {
        load_a_tile(a_first, row_first, k_first);
        load_b_tile(b_first, col_first, k_first);
        barrier();
        [[dont_unroll]] for (uint k_block = 0; k_block < TILE_K; k_block += UNROLL_K) {
            [[unroll]] for (uint k_step = 0; k_step < UNROLL_K; ++k_step) {
                uint k = k_block + k_step;
                float b_values[THREAD_N];
                [[unroll]] for (uint j = 0; j < THREAD_N; ++j)
                    b_values[j] = b_tile[k * B_STRIDE + j * GROUP_N + thread_col];
                [[unroll]] for (uint i = 0; i < THREAD_M; ++i) {
                    float a_value = a_tile[k * A_STRIDE + i * GROUP_M + thread_row];
                    [[unroll]] for (uint j = 0; j < THREAD_N; ++j)
                        sum[i * THREAD_N + j] += a_value * b_values[j];
                }
            }
        }
        barrier();
    }

    [[unroll]] for (uint i = 0; i < THREAD_M; ++i) {
        uint row = row_first + i * GROUP_M + thread_row;
        [[unroll]] for (uint j = 0; j < THREAD_N; ++j) {
            uint col = col_first + j * GROUP_N + thread_col;
            if (row < p.m && col < p.n)
                store_element(d_first + row * p.ldd + col, col, sum[i * THREAD_N + j]);
        }
    }
}

void main()
{
    for (uint entry = gl_WorkGroupID.z; entry < p.batch; entry += gl_NumWorkGroups.z)
        multiply_entry(entry);
}
