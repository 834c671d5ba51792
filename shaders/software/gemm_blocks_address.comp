// Matrix product where b is a weight in blocks (shared/blocks.h), for processors: a and b are read by device address.
// Semantics as in shared/gemm.h, except that a is not transposed. A workgroup is one subgroup and computes TILE_M rows
// by TILE_N columns of d. Its invocations lie along n, and the columns of each are a subgroup's size apart, so that
// words of neighbouring columns are one load of a vector register (include/software_lanes.glsl). All invocations are at
// the same row and step of k, and read a uniformly. Elements are taken apart once for all rows, and keep the factor, a
// power of two, with which they come out of their words.
//
// If rows are few, elements are multiplied without scale and minimum: once in TILE_K steps the sum of products is
// multiplied by the scale, and the sum of a by the minimum.
//
// Made for compilers that keep an invocation's lanes in a vector register (lavapipe). gemm_direct.comp says
// why loops are do-while for them. They hoist nothing out of a loop, so the places of rows and panels are found before
// it.
//
// Invariants (the registry checks them): TILE_K is 8, 16 or 32, THREAD_M == TILE_M, TILE_N is the local size * THREAD_N
// and a multiple of 32, which is a multiple of the local size; rows of a begin at multiples of four elements.
// Grid: x over tiles of n (fewer workgroups take several), y over tiles of m, z over the batch.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference_uvec2 : require
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
#extension GL_KHR_shader_subgroup_basic : require

#include "include/storage.glsl"
#include "shared/blocks.h"
#include "include/grid.glsl"
#include "include/math.glsl"
#include "include/software_lanes.glsl"

layout(constant_id = VKF_GEMM_SPEC_TILE_M) const uint TILE_M = 1;
layout(constant_id = VKF_GEMM_SPEC_TILE_N) const uint TILE_N = 32;
layout(constant_id = VKF_GEMM_SPEC_TILE_K) const uint TILE_K = 32; // steps of k between two tests of the loop
layout(constant_id = VKF_GEMM_SPEC_THREAD_M) const uint THREAD_M = 1;
layout(constant_id = VKF_GEMM_SPEC_THREAD_N) const uint THREAD_N = 4;
layout(constant_id = VKF_GEMM_SPEC_TRANSPOSE_A) const uint TRANSPOSE_A = 0;
layout(constant_id = VKF_GEMM_SPEC_B_LAYOUT) const uint B_LAYOUT = VKF_GEMM_B_Q8;
layout(constant_id = VKF_GEMM_SPEC_ACTIVATION) const uint ACTIVATION = 0;
layout(constant_id = VKF_GEMM_SPEC_HAS_BIAS) const uint HAS_BIAS = 0;
layout(constant_id = VKF_GEMM_SPEC_ADD_AFTER) const uint ADD_AFTER = 0;

layout(set = 0, binding = VKF_BINDING_PARAMS, std140) uniform params_block { vkf_gemm_params p; };
layout(push_constant) uniform offsets_block
{
    uint a_offset, b_offset, d_offset, bias_offset;
    uvec2 a_address, b_address;
};

READ_WRITE(TYPE_D, VKF_GEMM_BINDING_D, d)

#include "include/blocks.glsl"
BLOCKS_BIAS(VKF_GEMM_BINDING_BIAS, bias_offset)
#include "include/product_store.glsl"

layout(buffer_reference, buffer_reference_align = 16, std430) readonly buffer b_words { uint words[]; };
#if SAME_TYPE(TYPE_A, f32)
#define A_SHIFT 2u // log2 of an element's bytes
layout(buffer_reference, buffer_reference_align = 4, std430) readonly buffer a_words { float words[]; };
#else
#define A_SHIFT 1u
layout(buffer_reference, buffer_reference_align = 4, std430) readonly buffer a_words { uint words[]; };
#endif

const uint PANEL = VKF_GEMM_PANEL;
const uint LANES = gl_WorkGroupSize.x;
const uint PANELS = TILE_N / PANEL;           // of a workgroup
const uint PANEL_COLUMNS = THREAD_N / PANELS; // of an invocation in each
// Whether elements get their scale and minimum before they are multiplied. Otherwise minimums need sums of a, which pay
// only for few rows.
const bool SCALED = THREAD_M > (BLOCKS_Q8 ? 4 : 2);

float sums[THREAD_M * THREAD_N];

float a_load(uint64_t row, uint i)
{
#if SAME_TYPE(TYPE_A, f32)
    return a_words(row).words[i];
#else
    vec2 pair = unpackHalf2x16(a_words(row).words[i / 2]);
    return i % 2 == 0 ? pair.x : pair.y;
#endif
}

// Scale and minimum of the invocation's column among those from `column` on, a constant for the caller.
vec2 read_head(uint64_t tile, uint column)
{
    b_words head = b_words(tile);
    uint pair = head.words[column / 2]; // as LANE_ELEMENT() reads it, but that two invocations share a word
    [[unroll]] for (uint i = 1; i < LANES; ++i) {
        uint other = head.words[(column + i) / 2];
        pair = gl_SubgroupInvocationID == i ? other : pair;
    }
    return blocks_head(pair >> 16 * (gl_SubgroupInvocationID % 2), 0);
}

// The word of the same column, `steps` steps of k after the words at `place`.
uint read_word(uint64_t place, uint steps, uint column)
{
    b_words word_rows = b_words(place);
    LANE_ELEMENT(uint, word, word_rows.words, steps / WORD_ELEMENTS * PANEL + column);
    return word;
}

// Element i of a word, times a power of two; lowering() is the factor to undo this. Bytes keep their sign, as they are
// at the upper end of a word.
float raised(uint word, uint i)
{
    return BLOCKS_Q8 ? float(int(word << 24u - 8u * i & 0xff000000u)) : blocks_raised(word, i);
}

float lowering(uint i)
{
    return BLOCKS_Q8 ? 1.0 / 16777216.0 : blocks_lowering(i);
}

float sum_steps(uint64_t row)
{
    float total = 0.0;
    [[unroll]] for (uint s = 0; s < TILE_K; s += 4)
        total += (a_load(row, s) + a_load(row, s + 1)) + (a_load(row, s + 2) + a_load(row, s + 3));
    return total;
}

// Adds TILE_K steps for few rows. Each panel has its tile, and the place in it where the words begin.
void add_raised(uint64_t a_rows[THREAD_M], uint64_t tiles[PANELS], uint64_t places[PANELS])
{
    float a_sums[THREAD_M];
    [[unroll]] for (uint i = 0; i < THREAD_M; ++i)
        a_sums[i] = BLOCKS_Q8 ? 0.0 : sum_steps(a_rows[i]);
    [[unroll]] for (uint j = 0; j < THREAD_N; ++j) {
        uint column = j % PANEL_COLUMNS * LANES;
        float chains[THREAD_M * WORD_ELEMENTS]; // of a word's first elements, of its second ones, ...
        [[unroll]] for (uint s = 0; s < TILE_K; s += WORD_ELEMENTS) {
            uint word = read_word(places[j / PANEL_COLUMNS], s, column);
            [[unroll]] for (uint e = 0; e < WORD_ELEMENTS; ++e) {
                float value = raised(word, e);
                [[unroll]] for (uint i = 0; i < THREAD_M; ++i) {
                    uint at = i * WORD_ELEMENTS + e;
                    chains[at] = fma(a_load(a_rows[i], s + e), value, s == 0 ? 0.0 : chains[at]);
                }
            }
        }
        vec2 head = read_head(tiles[j / PANEL_COLUMNS], column);
        [[unroll]] for (uint i = 0; i < THREAD_M; ++i) {
            uint at = i * THREAD_N + j;
            float total = 0.0;
            [[unroll]] for (uint e = 0; e < WORD_ELEMENTS; ++e)
                total = fma(chains[i * WORD_ELEMENTS + e], lowering(e), total);
            sums[at] = fma(head.x, total, sums[at]);
            if (!BLOCKS_Q8)
                sums[at] = fma(head.y, a_sums[i], sums[at]);
        }
    }
}

// The same for many rows.
void add_scaled(uint64_t a_rows[THREAD_M], uint64_t tiles[PANELS], uint64_t places[PANELS])
{
    float values[TILE_K * THREAD_N];
    [[unroll]] for (uint j = 0; j < THREAD_N; ++j) {
        uint column = j % PANEL_COLUMNS * LANES;
        vec2 head = read_head(tiles[j / PANEL_COLUMNS], column);
        [[unroll]] for (uint s = 0; s < TILE_K; s += WORD_ELEMENTS) {
            uint word = read_word(places[j / PANEL_COLUMNS], s, column);
            [[unroll]] for (uint e = 0; e < WORD_ELEMENTS; ++e)
                values[(s + e) * THREAD_N + j] = fma(raised(word, e), head.x * lowering(e), head.y);
        }
    }
    [[unroll]] for (uint i = 0; i < THREAD_M; ++i) {
        [[unroll]] for (uint s = 0; s < TILE_K; ++s) {
            float a_value = a_load(a_rows[i], s);
            [[unroll]] for (uint j = 0; j < THREAD_N; ++j)
                sums[i * THREAD_N + j] = fma(values[s * THREAD_N + j], a_value, sums[i * THREAD_N + j]);
        }
    }
}

// Adds TILE_K steps from k on. row_places and panel_places are where the rows and panels begin.
void add_steps(uint64_t row_places[THREAD_M], uint64_t panel_places[PANELS], uint k)
{
    uint64_t a_rows[THREAD_M];
    [[unroll]] for (uint i = 0; i < THREAD_M; ++i)
        a_rows[i] = row_places[i] + (k << A_SHIFT);
    uint64_t tiles[PANELS], places[PANELS];
    [[unroll]] for (uint i = 0; i < PANELS; ++i) {
        tiles[i] = panel_places[i] + (uint64_t(k / VKF_BLOCKS_DEPTH * TILE_WORDS) << 2);
        places[i] = tiles[i] + 4 * (HEAD_WORDS + k % VKF_BLOCKS_DEPTH * (PANEL / WORD_ELEMENTS));
    }
    if (SCALED)
        add_scaled(a_rows, tiles, places);
    else
        add_raised(a_rows, tiles, places);
}

void store_sums(uint d_first, uint row_first, uint col_first)
{
    [[unroll]] for (uint i = 0; i < THREAD_M; ++i) {
        uint row = row_first + i;
        [[unroll]] for (uint j = 0; j < THREAD_N; ++j) {
            uint col = col_first + j * LANES + gl_SubgroupInvocationID;
            if (row < p.m && col < p.n)
                store_element(d_first + row * p.ldd + col, col, sums[i * THREAD_N + j]);
        }
    }
}

// Rows and panels outside are clamped, and their results are not stored. A panel's columns beyond n are zeros.
void multiply(uint a_first, uint d_first, uint row, uint col)
{
    uint64_t row_places[THREAD_M], panel_places[PANELS];
    [[unroll]] for (uint i = 0; i < THREAD_M; ++i)
        row_places[i] = packUint2x32(a_address) + (uint64_t(a_first + min(row + i, p.m - 1) * p.lda) << A_SHIFT);
    [[unroll]] for (uint i = 0; i < PANELS; ++i) {
        uint panel = min(col / PANEL + i, (p.n - 1) / PANEL);
        uint tile = panel * (p.ldb / (PANEL * VKF_BLOCKS_DEPTH));
        panel_places[i] = packUint2x32(b_address) + (uint64_t(tile * TILE_WORDS) << 2);
    }
    [[unroll]] for (uint i = 0; i < THREAD_M * THREAD_N; ++i)
        sums[i] = 0.0;
    uint k_end = p.alpha != 0.0 ? p.k : 0; // alpha 0 gives 0, whatever a and b hold
    uint k = 0;
    if (k < k_end) {
        do {
            add_steps(row_places, panel_places, k);
            k += TILE_K;
        } while (k < k_end);
    }
    store_sums(d_first, row, col);
}

void multiply_entry(uint entry)
{
    uint outer = entry / p.batch_inner;
    uint inner = entry % p.batch_inner;
    uint col = gl_WorkGroupID.x * TILE_N;
    if (col < p.n) {
        do {
            multiply(p.a_first + outer * p.a_outer + inner * p.a_inner,
                     p.d_first + outer * p.d_outer + inner * p.d_inner, gl_WorkGroupID.y * TILE_M, col);
            col += gl_NumWorkGroups.x * TILE_N;
        } while (col < p.n);
    }
}

void main()
{
    uint entry = gl_WorkGroupID.z;
    if (entry < p.batch) {
        do {
            multiply_entry(entry);
            entry += gl_NumWorkGroups.z;
        } while (entry < p.batch);
    }
}
