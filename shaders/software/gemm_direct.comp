// General matrix multiply without shared memory, barriers or subgroup operations; semantics in shared/gemm.h. b is
// packed (pack.comp): panels of 32 columns, (ceil(n / 32), k, 32), zeros beyond n; ldb is the distance between panels.
// Along m, b of f32 may also be (k, n) as it lies, with whole panels in rows that begin at multiples of 16 bytes. Its
// ldb is a constant then: in the addresses of loads it costs nothing.
//
// One operand is "gathered": neighbouring invocations have different elements of it. The other is "uniform": the whole
// workgroup reads the same element. An invocation multiplies GATHERED rows or columns of one by UNIFORM of the other.
//   SOURCE_B = address | storage: invocations lie along m, a is gathered, b is uniform and read by device address or
//     from a storage buffer.
//   SOURCE_A = address: invocations lie along n, neighbouring elements of b are loaded as one
//     (include/software_lanes.glsl), and many rows share what unpacking them costs. Both are read by device address
//     with 64-bit integers.
//
// Invariants (the registry checks them): TILE_K is 4, 8, 12 or a multiple of 16. Along m: TILE_M is local size *
// THREAD_M and TILE_N is THREAD_N, which is 8, 16 or a multiple of 32. Along n: TILE_M is THREAD_M, TILE_N is local
// size * THREAD_N, THREAD_N is even, twice the local size divides a panel, and a workgroup is one subgroup. Panels
// begin at a multiple of 16 bytes along m, and at a multiple of a word along n.
// Grid: x over tiles of n, y over tiles of m, z over the batch.
//
// Made for compilers that keep an invocation's lanes in a vector register (lavapipe). There a load from a uniform
// address is part of the multiply-add, and a gather costs as much as several of these. Such compilers put the steps of
// one sum after each other. So a sum takes BLOCK steps in CHAINS short dependent chains, which a processor overlaps
// with those of the next sums; all sums are merged under the loop's mask once in TILE_K steps. The number of unrolled
// multiply-adds, THREAD_M * THREAD_N * TILE_K, is at most 2048: more would not fit the instruction cache, and compilers
// on LLVM 15 take seconds from 512 on.
//
// Two hazards shape the loops. Mesa 22.3's lavapipe ends an invocation's loops after 65,535 iterations in all. Newer
// ones run the body of a top-tested loop once more with all lanes off, and do its uniform loads; so loops are do-while
// under an if.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require

#ifdef SOURCE_A
#define ALONG_N 1
#define BY_ADDRESS 1
#else
#define SOURCE_ID_storage 1
#define SOURCE_ID_address 2
#define SOURCE_ID(source) SOURCE_ID_EXPAND(source)
#define SOURCE_ID_EXPAND(source) (SOURCE_ID_##source)
#define ALONG_N 0
#if SOURCE_ID(SOURCE_B) == SOURCE_ID_address
#define BY_ADDRESS 1
#else
#define BY_ADDRESS 0
#endif
#endif
#if BY_ADDRESS
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference_uvec2 : require
#endif
#if ALONG_N
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : enable
#extension GL_KHR_shader_subgroup_basic : require
#endif

#include "include/storage.glsl"
#include "shared/gemm_rows.h"
#include "include/grid.glsl"
#include "include/math.glsl"
#if ALONG_N
#include "include/software_lanes.glsl"
#endif

layout(constant_id = VKF_GEMM_SPEC_TILE_M) const uint TILE_M = 64;
layout(constant_id = VKF_GEMM_SPEC_TILE_N) const uint TILE_N = 32;
layout(constant_id = VKF_GEMM_SPEC_TILE_K) const uint TILE_K = 16; // steps of k between two tests of the loop
layout(constant_id = VKF_GEMM_SPEC_THREAD_M) const uint THREAD_M = 1;
layout(constant_id = VKF_GEMM_SPEC_THREAD_N) const uint THREAD_N = 32;
layout(constant_id = VKF_GEMM_SPEC_TRANSPOSE_A) const uint TRANSPOSE_A = 0;
layout(constant_id = VKF_GEMM_SPEC_B_LAYOUT) const uint B_LAYOUT = VKF_GEMM_B_PANELS;
layout(constant_id = VKF_GEMM_SPEC_ACTIVATION) const uint ACTIVATION = 0;
layout(constant_id = VKF_GEMM_SPEC_HAS_BIAS) const uint HAS_BIAS = 0;
layout(constant_id = VKF_GEMM_SPEC_ADD_AFTER) const uint ADD_AFTER = 0;
#ifdef B_ROWS
layout(constant_id = VKF_GEMM_SPEC_B_ROW) const uint B_ROW = VKF_GEMM_PANEL;
#endif

layout(set = 0, binding = VKF_BINDING_PARAMS, std140) uniform params_block { vkf_gemm_params p; };
layout(push_constant) uniform offsets_block
{
    uint a_offset, b_offset, d_offset, bias_offset;
#if BY_ADDRESS
    uvec2 uniform_address;
#endif
#if ALONG_N
    uvec2 gathered_address;
#endif
};

READ_WRITE(TYPE_D, VKF_GEMM_BINDING_D, d)
READ(TYPE_B, VKF_GEMM_BINDING_BIAS, bias)

const uint PANEL = VKF_GEMM_PANEL;
// Elements from a step of k to the next.
#ifdef B_ROWS
const uint STEP = B_ROW;
#else
const uint STEP = PANEL;
#endif
#if ALONG_N
const uint GATHERED = THREAD_N;
const uint UNIFORM = THREAD_M;
// Few sums stay in registers all the time; then gathered elements are multiplied at once.
const uint BLOCK = THREAD_M * THREAD_N <= 32 ? 1 : TILE_K < 16 ? TILE_K : 16;
#else
const uint GATHERED = THREAD_M;
const uint UNIFORM = THREAD_N;
const uint BLOCK = TILE_K < 16 ? TILE_K : 16;
#endif
const uint CHAINS = GATHERED < 4 ? 2 : 1;

// Two neighbouring elements of a 16-bit b.
#if SAME_TYPE(TYPE_B, bf16p)
#define UNPACK unpack_bfloat
#else
#define UNPACK unpackHalf2x16
#endif

// The uniform operand. A place in it is an address, or an index into a storage buffer of words.
#if ALONG_N && SAME_TYPE(TYPE_A, f16)
#define WORD float16_t
#define WORD_BYTES 2
#define WORD_ELEMENTS 1u
#define ELEMENT_SHIFT 1u // log2 of an element's bytes
#elif ALONG_N
#define WORD float
#define WORD_BYTES 4
#define WORD_ELEMENTS 1u
#define ELEMENT_SHIFT 2u
#elif SAME_TYPE(TYPE_B, f32)
#define WORD vec4
#define WORD_BYTES 16
#define WORD_ELEMENTS 4u
#define ELEMENT_SHIFT 2u
#else
#define WORD uvec4
#define WORD_BYTES 16
#define WORD_ELEMENTS 8u
#define ELEMENT_SHIFT 1u
#endif

#if BY_ADDRESS
layout(buffer_reference, buffer_reference_align = WORD_BYTES, std430) readonly buffer uniform_words { WORD words[]; };
#define WORD_AT(place, i) uniform_words(place).words[i]
#if ALONG_N
// Every row's block of k needs a new address, which is cheap only in 64-bit arithmetic.
#define PLACE uint64_t

PLACE first_place()
{
    return packUint2x32(uniform_address);
}

PLACE advance(PLACE place, uint elements)
{
    return place + (uint64_t(elements) << ELEMENT_SHIFT);
}
#else
#define PLACE uvec2

PLACE first_place()
{
    return uniform_address;
}

PLACE advance(PLACE place, uint elements)
{
    uint carry;
    uint low = uaddCarry(place.x, elements << ELEMENT_SHIFT, carry);
    return uvec2(low, place.y + carry + (elements >> (32u - ELEMENT_SHIFT)));
}
#endif
#else
layout(set = 0, binding = VKF_GEMM_BINDING_B, std430) readonly buffer uniform_buffer { WORD uniform_data[]; };
#define PLACE uint
#define WORD_AT(place, i) uniform_data[(place) + (i)]

PLACE first_place()
{
    return b_offset / WORD_ELEMENTS;
}

PLACE advance(PLACE place, uint elements)
{
    return place + elements / WORD_ELEMENTS;
}
#endif

#if ALONG_N
// What an invocation reads in one load, and the neighbouring columns in it; elements of b have 16 bits.
const uint GATHERED_SHIFT = 1; // log2 of an element's bytes
#if SAME_TYPE(TYPE_B, f16)
#define GATHERED_WORD float16_t
#define GATHERED_BYTES 2
const uint PAIR = 1;
#else
#define GATHERED_WORD uint
#define GATHERED_BYTES 4
const uint PAIR = 2;
#endif
layout(buffer_reference, buffer_reference_align = GATHERED_BYTES, std430) readonly buffer gathered_words
{
    GATHERED_WORD data[];
};
const uint UNIFORM_PLACES = THREAD_M;
#else
READ(TYPE_A, VKF_GEMM_BINDING_A, a)
const uint PAIR = 1;
const uint UNIFORM_PLACES = (THREAD_N + PANEL - 1) / PANEL;
#endif

// What an invocation works on.
uint row_first; // of the invocation
uint col_first;
#if ALONG_N
uint64_t gathered_at[GATHERED / PAIR]; // addresses: row 0 of what the workgroup's invocations read as one
#else
uint gathered_at[GATHERED]; // first element of each gathered row
#endif
PLACE uniform_at[UNIFORM_PLACES]; // along m: each panel's row k; along n: each row's first element

// The invocation's rows i < THREAD_M and columns j < THREAD_N in d, and where their sum is kept.
uint row_of(uint i)
{
    return row_first + (ALONG_N != 0 ? i : i * (TILE_M / THREAD_M));
}

uint col_of(uint j)
{
    return col_first + (ALONG_N != 0 ? j / PAIR * (TILE_N / THREAD_N * PAIR) + j % PAIR : j);
}

uint sum_of(uint i, uint j)
{
    return ALONG_N != 0 ? i * THREAD_N + j : j * THREAD_M + i;
}

// Rows and panels outside are clamped, and their results are not stored. A panel's columns beyond n are zeros.
void find_operands(uint a_first, uint b_first)
{
    uint last_panel = (p.n - 1) / PANEL;
#if ALONG_N
    row_first = gl_WorkGroupID.y * TILE_M;
    col_first = gl_WorkGroupID.x * TILE_N + gl_SubgroupInvocationID * PAIR;
    [[unroll]] for (uint i = 0; i < UNIFORM_PLACES; ++i) {
        uint row = min(row_of(i), p.m - 1);
        uniform_at[i] = advance(first_place(), a_first + (TRANSPOSE_A != 0 ? row : row * p.lda));
    }
    [[unroll]] for (uint g = 0; g < GATHERED / PAIR; ++g) {
        uint col = gl_WorkGroupID.x * TILE_N + g * (gl_WorkGroupSize.x * PAIR);
        uint first = b_first + min(col / PANEL, last_panel) * p.ldb + col % PANEL;
        gathered_at[g] = packUint2x32(gathered_address) + (uint64_t(first) << GATHERED_SHIFT);
    }
#else
    row_first = gl_WorkGroupID.y * TILE_M + gl_LocalInvocationID.x;
    col_first = gl_WorkGroupID.x * TILE_N;
    [[unroll]] for (uint i = 0; i < UNIFORM_PLACES; ++i) {
        uint panel = min(col_first / PANEL + i, last_panel);
        uint panel_step = B_LAYOUT == VKF_GEMM_B_KN ? PANEL : p.ldb;
        uniform_at[i] = advance(first_place(), b_first + panel * panel_step + col_first % PANEL);
    }
    [[unroll]] for (uint g = 0; g < GATHERED; ++g) {
        uint row = min(row_of(g), p.m - 1);
        gathered_at[g] = a_first + (TRANSPOSE_A != 0 ? row : row * p.lda);
    }
#endif
}

#if ALONG_N
// Where step k of a's row number uniform_index lies.
PLACE uniform_row(uint uniform_index, uint k)
{
    return advance(uniform_at[uniform_index], TRANSPOSE_A != 0 ? k * p.lda : k);
}

float uniform_load(PLACE place, uint uniform_index, uint step)
{
    return float(WORD_AT(place, TRANSPOSE_A != 0 ? step * p.lda : step));
}
#else
PLACE uniform_row(uint uniform_index, uint k)
{
    return uniform_at[uniform_index / PANEL];
}

float uniform_load(PLACE place, uint uniform_index, uint step)
{
    uint i = step * STEP + uniform_index % PANEL;
#if SAME_TYPE(TYPE_B, f32)
    return WORD_AT(place, i / 4)[i % 4];
#else
    vec2 pair = UNPACK(WORD_AT(place, i / 8)[i / 2 % 4]);
    return i % 2 == 0 ? pair.x : pair.y;
#endif
}
#endif

float gathered_load(uint gathered, uint k)
{
#if !ALONG_N
    return a_load(gathered_at[gathered] + (TRANSPOSE_A != 0 ? k * p.lda : k));
#else
    gathered_words place = gathered_words(gathered_at[gathered / PAIR] + (uint64_t(k * PANEL) << GATHERED_SHIFT));
    LANE_ELEMENT(GATHERED_WORD, word, place.data, 0);
#if SAME_TYPE(TYPE_B, f16)
    return float(word);
#else
    vec2 pair = UNPACK(word);
    return gathered % PAIR == 0 ? pair.x : pair.y;
#endif
#endif
}

float sums[UNIFORM * GATHERED];

// Adds `count` steps of k, from k + first on. The caller gives `count` as a constant.
void add_steps(uint k, uint first, uint count)
{
    float gathered[BLOCK * GATHERED];
    [[unroll]] for (uint s = 0; s < count; ++s)
        [[unroll]] for (uint g = 0; g < GATHERED; ++g)
            gathered[s * GATHERED + g] = gathered_load(g, k + first + s);
    [[unroll]] for (uint u = 0; u < UNIFORM; ++u) {
        PLACE place = uniform_row(u, k);
        float chains[CHAINS * GATHERED];
        [[unroll]] for (uint s = 0; s < count; ++s) {
            float value = uniform_load(place, u, first + s);
            [[unroll]] for (uint g = 0; g < GATHERED; ++g) {
                uint at = s % CHAINS * GATHERED + g;
                if (s == 0)
                    chains[at] = fma(gathered[g], value, sums[u * GATHERED + g]);
                else if (s < CHAINS)
                    chains[at] = gathered[s * GATHERED + g] * value;
                else
                    chains[at] = fma(gathered[s * GATHERED + g], value, chains[at]);
            }
        }
        [[unroll]] for (uint g = 0; g < GATHERED; ++g) {
            float total = chains[g];
            if (CHAINS == 2 && count > 1)
                total += chains[(GATHERED + g) % (CHAINS * GATHERED)];
            sums[u * GATHERED + g] = total;
        }
    }
}

// Moves the uniform places on by so many steps of k: only those along m move, as those along n are the rows'.
void move_uniform(uint steps)
{
#if !ALONG_N
    [[unroll]] for (uint i = 0; i < UNIFORM_PLACES; ++i)
        uniform_at[i] = advance(uniform_at[i], steps * STEP);
#endif
}

void multiply()
{
    [[unroll]] for (uint i = 0; i < UNIFORM * GATHERED; ++i)
        sums[i] = 0.0;
    uint k_end = p.alpha != 0.0 ? p.k : 0; // alpha 0 gives 0, whatever a and b hold
    uint k_whole = k_end - k_end % TILE_K;
    uint k = 0;
    if (k_whole > 0) {
        do {
            [[unroll]] for (uint first = 0; first < TILE_K; first += BLOCK)
                add_steps(k, first, BLOCK);
            move_uniform(TILE_K);
            k += TILE_K;
        } while (k < k_whole);
    }
    if (k < k_end) {
        do {
            add_steps(k, 0, 1);
            move_uniform(1);
            ++k;
        } while (k < k_end);
    }
}

void add_d(uint d_first)
{
    [[unroll]] for (uint i = 0; i < THREAD_M; ++i) {
        uint d_row = d_first + min(row_of(i), p.m - 1) * p.ldd;
        [[unroll]] for (uint j = 0; j < THREAD_N; ++j)
            sums[sum_of(i, j)] += p.beta * d_load(d_row + min(col_of(j), p.n - 1));
    }
}

// Turns the sums into d. Each step is done for all sums, with conditions outside of the loops, where they cost little
// beside the stores.
void finish_sums(uint d_first)
{
    [[unroll]] for (uint i = 0; i < UNIFORM * GATHERED; ++i)
        sums[i] *= p.alpha;
    if (ADD_AFTER == 0 && p.beta != 0.0)
        add_d(d_first);
    [[unroll]] for (uint j = 0; j < THREAD_N; ++j) {
        float bias_value = HAS_BIAS != 0 ? bias_load(min(col_of(j), p.n - 1)) : 0.0;
        [[unroll]] for (uint i = 0; i < THREAD_M; ++i)
            sums[sum_of(i, j)] = activate(ACTIVATION, sums[sum_of(i, j)] + bias_value);
    }
    if (ADD_AFTER != 0 && p.beta != 0.0)
        add_d(d_first);
}

void store_sums(uint d_first)
{
    bool whole = col_of(THREAD_N - 1) < p.n;
    [[unroll]] for (uint i = 0; i < THREAD_M; ++i) {
        uint row = row_of(i);
        uint d_row = d_first + row * p.ldd;
        if (row < p.m) {
            if (whole) {
                [[unroll]] for (uint j = 0; j < THREAD_N; ++j)
                    d_store(d_row + col_of(j), sums[sum_of(i, j)]);
            } else {
                [[unroll]] for (uint j = 0; j < THREAD_N; ++j) {
                    if (col_of(j) < p.n)
                        d_store(d_row + col_of(j), sums[sum_of(i, j)]);
                }
            }
        }
    }
}

void multiply_entry(uint entry)
{
    uint outer = entry / p.batch_inner;
    uint inner = entry % p.batch_inner;
    uint d_first = p.d_first + outer * p.d_outer + inner * p.d_inner;
    find_operands(p.a_first + outer * p.a_outer + inner * p.a_inner, outer * p.b_outer + inner * p.b_inner);
    multiply();
    finish_sums(d_first);
    store_sums(d_first);
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
