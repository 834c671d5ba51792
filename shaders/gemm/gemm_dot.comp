// Matrix product by integer dot products, for few rows: a is in the blocks that quantize_rows.comp writes, and b is a
// weight in blocks (shared/blocks.h). Semantics as in shared/gemm.h, except that a is not transposed; its strides count
// the elements that the blocks stand for. A workgroup computes TILE_M rows by TILE_N columns of d. Its lanes lie along
// n first, with four neighbouring columns each, then along k, where they take turns of one block, TILE_K / 32 turns in
// one step; their sums are then added through shared memory. A block of b is read and taken apart once for all TILE_M
// rows.
//
// With GEMM_DOT_ROUNDS a consists of activations as they are, and every workgroup rounds its rows to blocks: it reads a
// few KiB of a from a cache, beside ten times as much of b. The product is the same to the last bit, unless a norm's
// sums are added up in another order.
//
// Sums within a block are integers, and exact; sums over blocks are in float32.
//
// Invariants (the registry checks them): TILE_K is a multiple of 32, THREAD_M == TILE_M, THREAD_N is 4, TILE_N is a
// multiple of 32, and the local size is TILE_N / 4 times a power of two, the parts; k and strides of a are multiples of
// 32. With GEMM_DOT_ROUNDS rows of a begin at multiples of four elements instead, and k <= 32 * KEPT_BLOCKS.
// Shared memory: 4 * parts * TILE_M * TILE_N bytes, and with GEMM_DOT_ROUNDS 40 * TILE_M * KEPT_BLOCKS.
// Grid: x over tiles of n (fewer workgroups take several), y over tiles of m, z over the batch.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_spirv_intrinsics : require

#include "include/storage.glsl"
#include "shared/blocks.h"
#include "shared/gemm_rounds.h"
#include "shared/quantize_rows.h"
#include "include/grid.glsl"
#include "include/math.glsl"
#include "include/integer_dot.glsl"

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
#ifdef GEMM_DOT_ROUNDS
layout(constant_id = VKF_GEMM_SPEC_KEPT_BLOCKS) const uint KEPT_BLOCKS = 128;
#endif

layout(set = 0, binding = VKF_BINDING_PARAMS, std140) uniform params_block { vkf_gemm_params p; };
layout(push_constant) uniform offsets_block { uint a_offset, b_offset, d_offset, vectors_offset; };

#ifdef GEMM_DOT_ROUNDS
READ_QUADS(TYPE_A, VKF_GEMM_BINDING_A, a)
#else
layout(set = 0, binding = VKF_GEMM_BINDING_A, std430) readonly buffer a_buffer { uvec4 a_data[]; };
#endif
layout(set = 0, binding = VKF_GEMM_BINDING_B, std430) readonly buffer b_buffer { uvec4 b_data[]; };
READ_WRITE(TYPE_D, VKF_GEMM_BINDING_D, d)

#include "include/blocks.glsl"
BLOCKS_BIAS(VKF_GEMM_BINDING_BIAS, vectors_offset + p.bias_first)

const uint PANEL = VKF_GEMM_PANEL;
const uint DEPTH = VKF_BLOCKS_DEPTH;
const uint WORDS = DEPTH / 4; // of a block's bytes

uvec4 b_quad(uint place, uint i)
{
    return b_data[place + i];
}

#ifdef GEMM_DOT_ROUNDS
#define NORMALISED_AHEAD 1
#endif
#include "include/few_rows.glsl"
#include "include/norm_weight.glsl"
#include "include/product_store.glsl"
#include "include/block_quads.glsl"
#include "include/block_columns.glsl"

// A block of a.
struct a_block {
    uvec4 low, high; // bytes
    vec2 head;       // scale, and what a minimum is multiplied by
};

#ifdef GEMM_DOT_ROUNDS
NORM_WEIGHT(VKF_GEMM_BINDING_BIAS, vectors_offset)
#include "include/rounded_rows.glsl"

a_block load_a(uint number)
{
    return a_block(kept_words[number], kept_words[TILE_M * KEPT_BLOCKS + number], kept_heads[number]);
}
#else
a_block load_a(uint number)
{
    uint at = a_offset / 4 + number * (VKF_QUANTIZE_ROWS_WORDS / 4);
    return a_block(a_data[at], a_data[at + 1], uintBitsToFloat(a_data[at + VKF_QUANTIZE_ROWS_SCALE / 4].xy));
}
#endif

// Words of the lane's columns, as bytes in the order of the activations.
void unpack_bytes(uvec4 words[QUAD_WORDS], out uvec4 bytes[2])
{
    bytes[0] = BLOCKS_Q8 ? words[0] : words[0] & 0x0f0f0f0fu;
    bytes[1] = BLOCKS_Q8 ? words[1] : words[0] >> 4 & 0x0f0f0f0fu;
}

// Adds the products of one block of k for `rows` rows. The first row's block of a is a_first, and rows lie a_row blocks
// apart.
void add_products(uint a_first, uint a_row, uint rows, vec4 scale, vec4 minimum, uvec4 words[WORDS])
{
    [[unroll]] for (uint i = 0; i < THREAD_M; ++i) {
        a_block a = load_a(a_first + min(i, rows - 1) * a_row);
        ivec4 products = ivec4(0);
        [[unroll]] for (uint word = 0; word < WORDS; ++word) {
            uint a_word = word < 4 ? a.low[word % 4] : a.high[word % 4];
            [[unroll]] for (uint c = 0; c < 4; ++c)
                products[c] += dot_bytes(words[word][c], a_word);
        }
        sum[i] = fma(vec4(products), a.head.x * scale, sum[i]);
        if (!BLOCKS_Q8)
            sum[i] = fma(minimum, vec4(a.head.y), sum[i]);
    }
}

// Adds `count` blocks, PARTS apart, of which the first tile of b is `tile`; a_first and so on as above.
void add_blocks(uint count, uint a_first, uint a_row, uint rows, uint tile, uint lane)
{
    uvec4 heads[BLOCKS];
    uvec4 packed[BLOCKS * DEPTH / QUAD_STEPS][QUAD_WORDS];
    [[unroll]] for (uint block = 0; block < count; ++block) {
        uint from = tile + block * PARTS * (TILE_WORDS / 4);
        heads[block] = load_head(from, lane);
        [[unroll]] for (uint k = 0; k < DEPTH; k += QUAD_STEPS)
            load_quads(from, lane, k, packed[(block * DEPTH + k) / QUAD_STEPS]);
    }
    [[unroll]] for (uint block = 0; block < count; ++block) {
        vec4 scale, minimum;
        uvec4 words[WORDS];
        unpack_head(heads[block], lane, scale, minimum);
        [[unroll]] for (uint i = 0; i < WORDS; i += 2) {
            uvec4 bytes[2];
            unpack_bytes(packed[(block * WORDS + i) / 2], bytes);
            words[i] = bytes[0];
            words[i + 1] = bytes[1];
        }
        add_products(a_first + block * PARTS, a_row, rows, scale, minimum, words);
    }
}

// The blocks of k that are multiplied: none with alpha 0, which gives 0, whatever a and b hold.
uint block_count()
{
    return p.alpha != 0.0 ? p.k / DEPTH : 0;
}

// The first row's first block of a is a_first.
void multiply(uint a_first, uint a_row, uint d_first, uint col)
{
    uint lane = gl_LocalInvocationID.x % LANES, part = gl_LocalInvocationID.x / LANES;
    uint row = gl_WorkGroupID.y * TILE_M;
    panel_place b = place_of(col, lane);
    uint blocks = block_count();
    uint tile = b_offset / 4 + b.panel * (p.ldb / (PANEL * DEPTH)) * (TILE_WORDS / 4);
    uint rows = p.m - row;
    [[unroll]] for (uint i = 0; i < THREAD_M; ++i)
        sum[i] = vec4(0.0);
    uint block = part;
    for (; block + (BLOCKS - 1) * PARTS < blocks; block += BLOCKS * PARTS)
        add_blocks(BLOCKS, a_first + block, a_row, rows, tile + block * (TILE_WORDS / 4), b.quad);
    for (; BLOCKS > 1 && block < blocks; block += PARTS)
        add_blocks(1, a_first + block, a_row, rows, tile + block * (TILE_WORDS / 4), b.quad);
    store_sums(part, lane, d_first, row, col);
}

void main()
{
    for (uint entry = gl_WorkGroupID.z; entry < p.batch; entry += gl_NumWorkGroups.z) {
        uint outer = entry / p.batch_inner, inner = entry % p.batch_inner;
        uint a_first = p.a_first + outer * p.a_outer + inner * p.a_inner + gl_WorkGroupID.y * TILE_M * p.lda;
        uint d_first = p.d_first + outer * p.d_outer + inner * p.d_inner;
#ifdef GEMM_DOT_ROUNDS
        barrier(); // the rows of the entry before are multiplied
        round_rows(a_first, min(p.m - gl_WorkGroupID.y * TILE_M, TILE_M), block_count());
        a_first = 0;
        const uint a_row = KEPT_BLOCKS;
#else
        a_first /= DEPTH;
        const uint a_row = p.lda / DEPTH;
#endif
        for (uint col = gl_WorkGroupID.x * TILE_N; col < p.n; col += gl_NumWorkGroups.x * TILE_N)
            multiply(a_first, a_row, d_first, col);
    }
}
