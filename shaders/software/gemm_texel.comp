// General matrix multiply with both operands read through texel buffers, no shared memory and no barriers; semantics in
// shared/gemm.h. For devices whose storage buffers are slow to read and whose texel fetches bring four values at once.
//
// b is packed (pack.comp), VKF_GEMM_B_PANELS, with ldb elements from panel to panel. a is row-major, and a texel holds
// four neighbours along k: lda, a_first and the batch strides of a and b are multiples of 4. Views are RGBA32F,
// RGBA16F over half tensors, and RGBA16UI over bfloat16, which has no format of its own. A row's last texel is read
// whole: where 4 does not divide k, the view of a covers round_up(k, 4) elements of its last row. What lies beyond k is
// read but never used.
//
// With B_BLOCKS b is a weight in blocks (shared/blocks.h) behind a view of RGBA32UI, whose texels are its quads
// (include/block_quads.glsl). Elements are taken apart once for all rows of an invocation; the multiplication is the
// same as without B_BLOCKS.
//
// A workgroup computes TILE_M x TILE_N of d, an invocation THREAD_M rows by THREAD_N neighbouring columns; neighbouring
// invocations lie along n, so they fetch the same texels of a. With GEMM_TEXEL_SHUFFLE each lane fetches another row
// instead, and the subgroup exchanges them: this is for devices on which a fetch costs far more than a shuffle.
// Invariants (the registry checks them): 4 divides TILE_K and THREAD_N, THREAD_N divides VKF_GEMM_PANEL, THREAD_M
// divides TILE_M, THREAD_N divides TILE_N, the local size is (TILE_M / THREAD_M) * (TILE_N / THREAD_N). With
// GEMM_TEXEL_SHUFFLE also: the subgroup size is TILE_N / THREAD_N and divides THREAD_M. With B_BLOCKS also: TILE_K is
// 8, 16 or 32.
// Grid: x over tiles of n, y over tiles of m, z over the batch.
//
// TILE_K steps are unrolled, because lavapipe masks each of the sums at each turn of the loop over k. That also keeps
// any k the op lets through below 65,535 turns, after which Mesa 22.3's lavapipe ends a loop.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#ifdef GEMM_TEXEL_SHUFFLE
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#endif

#include "include/storage.glsl"
#include "shared/blocks.h"
#include "include/grid.glsl"
#include "include/math.glsl"

layout(constant_id = VKF_GEMM_SPEC_TILE_M) const uint TILE_M = 16;
layout(constant_id = VKF_GEMM_SPEC_TILE_N) const uint TILE_N = 64;
layout(constant_id = VKF_GEMM_SPEC_TILE_K) const uint TILE_K = 8;
layout(constant_id = VKF_GEMM_SPEC_THREAD_M) const uint THREAD_M = 16;
layout(constant_id = VKF_GEMM_SPEC_THREAD_N) const uint THREAD_N = 8;
layout(constant_id = VKF_GEMM_SPEC_TRANSPOSE_A) const uint TRANSPOSE_A = 0; // 0 only
layout(constant_id = VKF_GEMM_SPEC_B_LAYOUT) const uint B_LAYOUT = VKF_GEMM_B_PANELS; // panels only
layout(constant_id = VKF_GEMM_SPEC_ACTIVATION) const uint ACTIVATION = 0;
layout(constant_id = VKF_GEMM_SPEC_HAS_BIAS) const uint HAS_BIAS = 0;
layout(constant_id = VKF_GEMM_SPEC_ADD_AFTER) const uint ADD_AFTER = 0;

layout(set = 0, binding = VKF_BINDING_PARAMS, std140) uniform params_block { vkf_gemm_params p; };
layout(push_constant) uniform offsets_block { uint a_offset, b_offset, d_offset, bias_offset; };

layout(set = 0, binding = VKF_GEMM_BINDING_A) uniform textureBuffer a_texels;
#ifdef B_BLOCKS
layout(set = 0, binding = VKF_GEMM_BINDING_B) uniform utextureBuffer b_texels;
uvec4 b_quad(uint place, uint i) { return texelFetch(b_texels, int(place + i)); }
#include "include/blocks.glsl"
#include "include/block_quads.glsl"
BLOCKS_BIAS(VKF_GEMM_BINDING_BIAS, bias_offset)
#else
#if SAME_TYPE(TYPE_B, bf16p)
layout(set = 0, binding = VKF_GEMM_BINDING_B) uniform utextureBuffer b_texels;
vec4 b_fetch(uint i) { return uintBitsToFloat(texelFetch(b_texels, int(i)) << 16); }
#else
layout(set = 0, binding = VKF_GEMM_BINDING_B) uniform textureBuffer b_texels;
vec4 b_fetch(uint i) { return texelFetch(b_texels, int(i)); }
#endif
READ(TYPE_B, VKF_GEMM_BINDING_BIAS, bias)
#endif
READ_WRITE(TYPE_D, VKF_GEMM_BINDING_D, d)

const uint GROUP_N = TILE_N / THREAD_N;       // invocations along n
const uint PANEL_TEXELS = VKF_GEMM_PANEL / 4; // of a panel's row
const uint B_TEXELS = THREAD_N / 4;           // of a row, an invocation's
const uint K_TEXELS = TILE_K / 4;
const uint B_VALUES = TILE_K * B_TEXELS; // texels of an invocation in TILE_K steps
const uint STORE_ROWS = THREAD_M % 4 == 0 ? 4 : THREAD_M;

#ifdef GEMM_TEXEL_SHUFFLE
const uint LANES = GROUP_N; // invocations that fetch a row each
vec4 share(vec4 value, uint lane) { return subgroupShuffle(value, lane); }
float share(float value, uint lane) { return subgroupShuffle(value, lane); }
uint tile_row() { return gl_SubgroupID; }
uint tile_col() { return gl_SubgroupInvocationID; }
uint fetched_row() { return gl_SubgroupInvocationID; }
#else
const uint LANES = 1;
vec4 share(vec4 value, uint lane) { return value; }
float share(float value, uint lane) { return value; }
uint tile_row() { return gl_LocalInvocationID.x / GROUP_N; }
uint tile_col() { return gl_LocalInvocationID.x % GROUP_N; }
uint fetched_row() { return 0; }
#endif
const uint A_FETCHES = THREAD_M / LANES; // texels per four steps of depth

uint a_at[A_FETCHES]; // texel where each fetched row begins
float sum[THREAD_M * THREAD_N];

// Reads TILE_K steps from k on of the invocation's columns, four columns to an element of b_values. b_at is the texel
// where the panel begins, and b_part the number of the invocation's first texel in a row of texels.
#ifdef B_BLOCKS
void read_b(uint k, uint b_at, uint b_part, out vec4 b_values[B_VALUES])
{
    uint tile = b_at + k / VKF_BLOCKS_DEPTH * (TILE_WORDS / 4);
    [[unroll]] for (uint j = 0; j < B_TEXELS; ++j) {
        vec4 scale, minimum;
        read_head(tile, b_part + j, scale, minimum);
        [[unroll]] for (uint first = 0; first < TILE_K; first += QUAD_STEPS) {
            vec4 values[QUAD_STEPS];
            read_quads(tile, b_part + j, k % VKF_BLOCKS_DEPTH + first, true, scale, minimum, values);
            [[unroll]] for (uint u = 0; u < QUAD_STEPS; ++u)
                b_values[(first + u) * B_TEXELS + j] = values[u];
        }
    }
}
#else
void read_b(uint k, uint b_at, uint b_part, out vec4 b_values[B_VALUES])
{
    uint at = b_at + k * PANEL_TEXELS + b_part;
    [[unroll]] for (uint u = 0; u < TILE_K; ++u) {
        [[unroll]] for (uint j = 0; j < B_TEXELS; ++j)
            b_values[u * B_TEXELS + j] = b_fetch(at + u * PANEL_TEXELS + j);
    }
}
#endif

void add_products(uint k, uint b_at, uint b_part)
{
    vec4 a_values[A_FETCHES * K_TEXELS];
    [[unroll]] for (uint i = 0; i < A_FETCHES; ++i) {
        [[unroll]] for (uint q = 0; q < K_TEXELS; ++q)
            a_values[i * K_TEXELS + q] = texelFetch(a_texels, int(a_at[i] + k / 4 + q));
    }
    vec4 b_values[B_VALUES];
    read_b(k, b_at, b_part, b_values);
    [[unroll]] for (uint i = 0; i < THREAD_M; ++i) {
        vec4 a_row[K_TEXELS];
        [[unroll]] for (uint q = 0; q < K_TEXELS; ++q)
            a_row[q] = share(a_values[i / LANES * K_TEXELS + q], i % LANES);
        [[unroll]] for (uint j = 0; j < THREAD_N; ++j) {
            [[unroll]] for (uint u = 0; u < TILE_K; ++u)
                sum[i * THREAD_N + j] += a_row[u / 4][u % 4] * b_values[u * B_TEXELS + j / 4][j % 4];
        }
    }
}

#ifndef B_BLOCKS
// Adds one step of k, for what TILE_K leaves over. b_at is the texel of this step and the invocation's first column.
void add_product(uint k, uint b_at)
{
    float a_values[A_FETCHES];
    [[unroll]] for (uint i = 0; i < A_FETCHES; ++i) {
        vec4 texel = texelFetch(a_texels, int(a_at[i] + k / 4));
        uint part = k % 4;
        a_values[i] = part == 0 ? texel.x : part == 1 ? texel.y : part == 2 ? texel.z : texel.w;
    }
    vec4 b_values[B_TEXELS];
    [[unroll]] for (uint j = 0; j < B_TEXELS; ++j)
        b_values[j] = b_fetch(b_at + j);
    [[unroll]] for (uint i = 0; i < THREAD_M; ++i) {
        float a_value = share(a_values[i / LANES], i % LANES);
        [[unroll]] for (uint j = 0; j < THREAD_N; ++j)
            sum[i * THREAD_N + j] += a_value * b_values[j / 4][j % 4];
    }
}
#endif

// Parameters are read once, ahead of any branch: lavapipe would gather them anew in each. The loop stores the first
// rows of `sum` and moves the others up. The reason is that the code of a store with its activation is long: unrolled
// for every element, it takes the driver seconds to compile. The bias is read at each turn: if it is read ahead of
// them, the loop over k that llvmpipe of Mesa 22.3 makes takes a quarter longer with weights in blocks of 8 bits.
void store_sums(uint d_first, uint row_first, uint col_first)
{
    uint cols = p.n - min(col_first, p.n);
    uint rows = p.m - min(row_first, p.m);
    uint stride = p.ldd;
    float alpha = p.alpha;
    float beta = p.beta;
    uint last = p.n - 1;
    uint row = 0;
    uint row_at = d_first + row_first * stride + col_first;
    [[dont_unroll]] do {
        float bias_values[THREAD_N];
        [[unroll]] for (uint j = 0; j < THREAD_N; ++j)
            bias_values[j] = HAS_BIAS != 0 ? bias_load(min(col_first + j, last)) : 0.0;
        [[unroll]] for (uint i = 0; i < STORE_ROWS; ++i) {
            [[unroll]] for (uint j = 0; j < THREAD_N; ++j) {
                if (row + i < rows && j < cols) {
                    uint at = row_at + i * stride + j;
                    float value = alpha * sum[i * THREAD_N + j] + bias_values[j];
                    if (ADD_AFTER == 0 && beta != 0.0)
                        value += beta * d_load(at);
                    value = activate(ACTIVATION, value);
                    if (ADD_AFTER != 0 && beta != 0.0)
                        value += beta * d_load(at);
                    d_store(at, value);
                }
            }
        }
        [[unroll]] for (uint i = 0; i < (THREAD_M - STORE_ROWS) * THREAD_N; ++i)
            sum[i] = sum[i + STORE_ROWS * THREAD_N];
        row += STORE_ROWS;
        row_at += STORE_ROWS * stride;
    } while (row < THREAD_M);
}

void multiply_entry(uint entry)
{
    uint outer = entry / p.batch_inner;
    uint inner = entry % p.batch_inner;
    uint a_first = p.a_first + outer * p.a_outer + inner * p.a_inner;
    uint d_first = p.d_first + outer * p.d_outer + inner * p.d_inner;
    uint row_first = gl_WorkGroupID.y * TILE_M + tile_row() * THREAD_M;
    uint col_first = gl_WorkGroupID.x * TILE_N + tile_col() * THREAD_N;

    // Rows and columns outside are clamped into the matrix; their sums are not stored.
    [[unroll]] for (uint i = 0; i < A_FETCHES; ++i) {
        uint row = min(row_first + i * LANES + fetched_row(), p.m - 1);
        a_at[i] = a_offset + (a_first + row * p.lda) / 4;
    }
    uint col = min(col_first, (p.n - 1) / THREAD_N * THREAD_N);
    uint panel = col / VKF_GEMM_PANEL;
    uint b_part = col % VKF_GEMM_PANEL / 4;
#ifdef B_BLOCKS
    uint b_at = b_offset + panel * (p.ldb / (VKF_GEMM_PANEL * VKF_BLOCKS_DEPTH)) * (TILE_WORDS / 4);
#else
    uint b_at = b_offset + (outer * p.b_outer + inner * p.b_inner) / 4 + panel * (p.ldb / 4);
#endif

    [[unroll]] for (uint i = 0; i < THREAD_M * THREAD_N; ++i)
        sum[i] = 0.0;
    uint k_end = p.alpha != 0.0 ? p.k : 0; // alpha 0 gives 0, whatever a and b hold
    uint k_unrolled = k_end / TILE_K * TILE_K;
    uint k = 0;
    if (k < k_unrolled) {
        [[dont_unroll]] do {
            add_products(k, b_at, b_part);
            k += TILE_K;
        } while (k < k_unrolled);
    }
#ifndef B_BLOCKS
    [[dont_unroll]] for (; k < k_end; ++k)
        add_product(k, b_at + k * PANEL_TEXELS + b_part);
#endif
    store_sums(d_first, row_first, col_first);
}

void main()
{
    for (uint entry = gl_WorkGroupID.z; entry < p.batch; entry += gl_NumWorkGroups.z)
        multiply_entry(entry);
}
