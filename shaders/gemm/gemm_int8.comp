// Matrix product of bytes; semantics in shared/gemm_int8.h. A workgroup computes TILE x TILE elements of d from tiles
// in shared memory, whose words hold four bytes of a row or column along k.
//
// Bytes are multiplied as signed ones: those without a sign lose 128, and so does their zero. Zeros are taken off at
// the end, by the sums of each row and column: missing bytes are 0, and so change neither products nor sums.
//
// Invariant (the registry checks it): (TILE / 4)^2 is the local size. Shared memory: 4 * 2 * 8 * (TILE + 1) bytes.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require

#include "shared/gemm_int8.h"
#include "include/grid.glsl"

#ifdef INT8_DOT
#extension GL_EXT_spirv_intrinsics : require
#include "include/integer_dot.glsl"
#define BYTES uint
#define bytes_of(word) (word)
#else
// Without the instruction bytes are unpacked once for all products that they are in.
#define BYTES ivec4
ivec4 bytes_of(uint word)
{
    return ivec4(word << 24, word << 16, word << 8, word) >> 24;
}

int dot_bytes(ivec4 a, ivec4 b)
{
    ivec4 products = a * b;
    return products.x + products.y + products.z + products.w;
}
#endif

layout(constant_id = VKF_GEMM_INT8_SPEC_TILE) const uint TILE = 32;
layout(constant_id = VKF_GEMM_INT8_SPEC_FLOAT) const uint FLOAT = 0;
layout(constant_id = VKF_GEMM_INT8_SPEC_TRANSPOSE_B) const uint TRANSPOSE_B = 0;
layout(constant_id = VKF_GEMM_INT8_SPEC_A_UNSIGNED) const uint A_UNSIGNED = 0;
layout(constant_id = VKF_GEMM_INT8_SPEC_B_UNSIGNED) const uint B_UNSIGNED = 0;
layout(constant_id = VKF_GEMM_INT8_SPEC_A_ZERO) const uint A_ZERO = 0;
layout(constant_id = VKF_GEMM_INT8_SPEC_B_ZERO) const uint B_ZERO = 0;
layout(constant_id = VKF_GEMM_INT8_SPEC_A_SCALE) const uint A_SCALE = 0;
layout(constant_id = VKF_GEMM_INT8_SPEC_B_SCALE) const uint B_SCALE = 0;

layout(set = 0, binding = VKF_BINDING_PARAMS, std140) uniform params_block { vkf_gemm_int8_params p; };
layout(push_constant) uniform offsets_block { uint a_offset, b_offset, d_offset, vectors_offset; };

layout(set = 0, binding = VKF_GEMM_INT8_BINDING_A, std430) readonly buffer a_buffer { uint a_data[]; };
layout(set = 0, binding = VKF_GEMM_INT8_BINDING_B, std430) readonly buffer b_buffer { uint b_data[]; };
layout(set = 0, binding = VKF_GEMM_INT8_BINDING_D, std430) writeonly buffer d_buffer { uint d_data[]; };
layout(set = 0, binding = VKF_GEMM_INT8_BINDING_VECTORS, std430) readonly buffer vectors_buffer {
    uint vectors_data[];
};

const uint EACH = VKF_GEMM_INT8_EACH;
const uint SIDE = TILE / EACH; // invocations along either dimension
const uint WORDS = 8;          // of a row or column in a tile
const uint STRIDE = TILE + 1;  // padded against bank conflicts
const uint ONES = 0x01010101u;
const uint STEPS = TILE * WORDS / (SIDE * SIDE); // of an invocation, to fetch a tile
// Words that are multiplied at once. Loops within that over k are few and short: lavapipe ends each invocation's after
// 65,535 iterations of all of them.
const uint AT_ONCE = 2;

shared uint a_tile[WORDS * STRIDE];
shared uint b_tile[WORDS * STRIDE];

// `count` bytes of a word as signed ones, and zeros behind them.
uint signed_bytes(uint word, uint count, uint is_unsigned)
{
    word ^= is_unsigned != 0 ? 0x80808080u : 0u;
    return count < 4 ? word & ((1u << (8 * count)) - 1) : word;
}

// A function that loads up to four bytes side by side, which may begin within a word. The word behind is read only
// where it has some of them.
#define LOAD_BYTES(name)                                           \
    uint name##_load(uint at, uint count)                          \
    {                                                              \
        uint shift = (at & 3u) << 3, word = name##_data[at >> 2] >> shift; \
        if ((at & 3u) + count > 4)                                 \
            word |= name##_data[(at >> 2) + 1] << (32 - shift);    \
        return word;                                               \
    }
LOAD_BYTES(a)
LOAD_BYTES(b)

void fetch_a(uint first, uint row_first, uint k_first)
{
    [[unroll]] for (uint step = 0; step < STEPS; ++step) {
        uint i = step * SIDE * SIDE + gl_LocalInvocationID.x;
        uint row = i / WORDS, word = i % WORDS, k = k_first + 4 * word;
        uint count = row_first + row < p.m && k < p.k ? min(4u, p.k - k) : 0;
        uint bytes = count > 0 ? a_load(a_offset + first + (row_first + row) * p.k + k, count) : 0;
        a_tile[word * STRIDE + row] = signed_bytes(bytes, count, A_UNSIGNED);
    }
}

// Neighbouring invocations take neighbouring bytes, whichever way b lies.
void fetch_b(uint first, uint col_first, uint k_first)
{
    [[unroll]] for (uint step = 0; step < STEPS; ++step) {
        uint i = step * SIDE * SIDE + gl_LocalInvocationID.x;
        uint col = TRANSPOSE_B != 0 ? i / WORDS : i % TILE, word = TRANSPOSE_B != 0 ? i % WORDS : i / TILE;
        uint k = k_first + 4 * word, bytes = 0;
        uint count = col_first + col < p.n && k < p.k ? min(4u, p.k - k) : 0;
        if (TRANSPOSE_B != 0 && count > 0)
            bytes = b_load(b_offset + first + (col_first + col) * p.k + k, count);
        [[unroll]] for (uint j = 0; j < 4; ++j)
            if (TRANSPOSE_B == 0 && j < count)
                bytes |= (b_load(b_offset + first + (k + j) * p.n + col_first + col, 1) & 0xffu) << (8 * j);
        b_tile[word * STRIDE + col] = signed_bytes(bytes, count, B_UNSIGNED);
    }
}

int sums[EACH * EACH];
int a_sums[EACH]; // of rows
int b_sums[EACH]; // of columns

uint tile_row(uint i)
{
    return i * SIDE + gl_LocalInvocationID.x / SIDE;
}

uint tile_col(uint j)
{
    return j * SIDE + gl_LocalInvocationID.x % SIDE;
}

void multiply_words(uint word_first)
{
    [[unroll]] for (uint j = 0; j < AT_ONCE; ++j) {
        uint word = word_first + j;
        BYTES a[EACH], b[EACH];
        [[unroll]] for (uint i = 0; i < EACH; ++i) {
            a[i] = bytes_of(a_tile[word * STRIDE + tile_row(i)]);
            b[i] = bytes_of(b_tile[word * STRIDE + tile_col(i)]);
            if (B_ZERO != 0 || B_UNSIGNED != 0)
                a_sums[i] += dot_bytes(a[i], bytes_of(ONES));
            if (A_ZERO != 0 || A_UNSIGNED != 0)
                b_sums[i] += dot_bytes(b[i], bytes_of(ONES));
        }
        [[unroll]] for (uint i = 0; i < EACH * EACH; ++i)
            sums[i] += dot_bytes(a[i / EACH], b[i % EACH]);
    }
}

void store_element(uint at, uint row, uint col, int sum, int a_sum, int b_sum)
{
    int a_zero = A_ZERO != 0 ? int(vectors_data[vectors_offset + p.a_zero_first + row * p.a_zero_step]) : 0;
    int b_zero = B_ZERO != 0 ? int(vectors_data[vectors_offset + p.b_zero_first + col * p.b_zero_step]) : 0;
    a_zero -= A_UNSIGNED != 0 ? 128 : 0;
    b_zero -= B_UNSIGNED != 0 ? 128 : 0;
    sum += int(p.k) * a_zero * b_zero - a_zero * b_sum - b_zero * a_sum;
    float a_scale = 1.0, b_scale = 1.0;
    if (A_SCALE != 0)
        a_scale = uintBitsToFloat(vectors_data[vectors_offset + p.a_scale_first + row * p.a_scale_step]);
    if (B_SCALE != 0)
        b_scale = uintBitsToFloat(vectors_data[vectors_offset + p.b_scale_first + col * p.b_scale_step]);
    d_data[d_offset + at] = FLOAT != 0 ? floatBitsToUint(float(sum) * (a_scale * b_scale)) : uint(sum);
}

void store_sums(uint entry, uint row_first, uint col_first)
{
    [[unroll]] for (uint i = 0; i < EACH * EACH; ++i) {
        uint row = row_first + tile_row(i / EACH), col = col_first + tile_col(i % EACH);
        if (row < p.m && col < p.n)
            store_element((entry * p.m + row) * p.n + col, row, col, sums[i], a_sums[i / EACH], b_sums[i % EACH]);
    }
}

void main()
{
    uint tiles_m = (p.m + TILE - 1) / TILE, tiles_n = (p.n + TILE - 1) / TILE, tile = group_index();
    uint entry = tile / (tiles_m * tiles_n);
    if (entry >= p.batch) // all of a workgroup
        return;
    uint row_first = tile / tiles_n % tiles_m * TILE, col_first = tile % tiles_n * TILE;
    [[unroll]] for (uint i = 0; i < EACH; ++i)
        a_sums[i] = b_sums[i] = 0;
    [[unroll]] for (uint i = 0; i < EACH * EACH; ++i)
        sums[i] = 0;
    for (uint k = 0; k < p.k; k += 4 * WORDS) {
        fetch_a(entry * p.m * p.k, row_first, k);
        fetch_b(entry * p.b_batch, col_first, k);
        barrier();
        [[dont_unroll]] for (uint word = 0; word < WORDS; word += AT_ONCE)
            multiply_words(word);
        barrier();
    }
    store_sums(entry, row_first, col_first);
}
