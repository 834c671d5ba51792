// Rows of a that a workgroup normalises and rounds to blocks for itself (shared/quantize_rows.h), so that no dispatch
// does so ahead of the product. Bytes and heads lie in shared memory, in planes: invocations that read neighbouring
// blocks then read neighbouring words.
//
// Included after block_columns.glsl, a_load() and a_load4(), norm_load4(), and the constants KEPT_BLOCKS and NORM.
#ifndef VKF_ROUNDED_ROWS_GLSL
#define VKF_ROUNDED_ROWS_GLSL

#include "block_rounding.glsl"

// (2, TILE_M, KEPT_BLOCKS): the lower four words of each block, then the upper ones.
shared uvec4 kept_words[2 * TILE_M * KEPT_BLOCKS];
shared vec2 kept_heads[TILE_M * KEPT_BLOCKS]; // head_of()

const uint MOMENT_ROWS = TILE_M;
const uint QUADS = VKF_BLOCKS_DEPTH / 4; // of a block

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
    return partial[i / 4][i % 4];
}

void moment_store(uint i, float value)
{
    partial[i / 4][i % 4] = value;
}

#include "row_moments.glsl"

// A chain of choices instead of an index, which would bring the array to memory.
vec3 moments_of(uint row)
{
    vec3 found = moments[0];
    [[unroll]] for (uint i = 1; i < TILE_M; ++i)
        found = row == i ? moments[i] : found;
    return found;
}

// Elements k .. k + 3 of a row on their way into the product.
vec4 take_normed(vec3 of_row, vec4 value, uint k)
{
    if (NORM != 0)
        value = normalised(of_row, value) * norm_load4(p.norm_weight_first + k);
    if (NORM_LAYER)
        value += norm_load4(p.norm_bias_first + k);
    return value;
}

// Rounds the block from element k on of the row that begins at `first`.
void round_block(uint first, uint k, vec3 of_row, uint place)
{
    vec4 values[QUADS];
    uint words[QUADS];
    uint largest = 0;
    int sum = 0;
    [[unroll]] for (uint i = 0; i < QUADS; ++i) {
        values[i] = take_normed(of_row, a_load4(first + k + 4 * i), k + 4 * i);
        largest = max(largest, magnitude_of(values[i]));
    }
    [[unroll]] for (uint i = 0; i < QUADS; ++i) {
        vec4 word = BLOCKS_Q8 ? values[i] : even_odd_word(values[i / 2 * 2], values[i / 2 * 2 + 1], i % 2);
        ivec4 q = rounded(word, largest);
        sum += sum_of(q);
        words[i] = bytes_of(q);
    }
    kept_words[place] = uvec4(words[0], words[1], words[2], words[3]);
    kept_words[TILE_M * KEPT_BLOCKS + place] = uvec4(words[4], words[5], words[6], words[7]);
    kept_heads[place] = head_of(largest, sum);
}

// Rounds `blocks` blocks of each of the workgroup's rows, an invocation each of them by itself: that takes one barrier
// for all. The first row begins at a_first.
void round_rows(uint a_first, uint rows, uint blocks)
{
    uint first[MOMENT_ROWS];
    [[unroll]] for (uint i = 0; i < MOMENT_ROWS; ++i)
        first[i] = a_first + min(i, rows - 1) * p.lda;
    if (NORM != 0)
        find_moments(first, p.k, true, p.norm_eps);
    for (uint i = gl_LocalInvocationID.x; i < rows * blocks; i += gl_WorkGroupSize.x) {
        uint row = i / blocks, block = i - row * blocks;
        round_block(a_first + row * p.lda, block * VKF_BLOCKS_DEPTH, moments_of(row), row * KEPT_BLOCKS + block);
    }
    barrier();
}

#endif
